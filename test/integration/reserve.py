#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reserve of a device: free for drivers and for processes outside Sluice, and available to a
program that needs it.

Devices of 100 MiB, of which 3 (or 10) are the reserve.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"memory.checksum_moves": "on", "scheduler.slice": "50ms", "scheduler.slice_min_switches": 1, "daemon.outsider_period": "20ms"}
CARD = {"scale": 64, "context_overhead": "512K"}
MEMORY = 100 * s.MIB


def world(name, settings=None, softgpu=None, limiter=None):
    return s.World(name, memory=MEMORY, settings=SETTINGS | (settings or {}), softgpu=CARD | (softgpu or {}), limiter=limiter)


def fill(api, mib, buffers, *words):
    return [s.CLIENTS / {"cuda": "cuda-fill", "opencl": "cl-fill"}[api], "--mib", mib, "--buffers", buffers, *words]


def nearly_all_of_it(api, buffers):
    """99 % of the device: plain, under Sluice, and next to another program."""
    with world(f"reserve-{api}", limiter={"overhead": 500000}) as w:
        w.run(fill(api, 99, buffers, "--rounds", 2), api, sluice=False)
        w.start_daemon()
        w.run(fill(api, 99, buffers, "--rounds", 2), api, name="large")
        large = w.start(fill(api, 99, buffers, "--rounds", 2, "--endless"), api, name="large", stdin=subprocess.PIPE)
        s.wait_until("it works", lambda: (w.program("large") or {}).get("launches", 0) > 2, look=w.log)
        w.run(fill(api, 50, 5, "--rounds", 3), api, name="other")
        before = w.program("large")["launches"]
        s.wait_until("it goes on", lambda: w.program("large")["launches"] > before, look=w.log)
        w.end(large)
        s.check(not w.history()["denials"], "nobody was told out of memory", w.history()["denials"])


def a_cuda_program_takes_99_percent():
    nearly_all_of_it("cuda", 9)


def an_opencl_program_takes_99_percent_in_one_command():
    nearly_all_of_it("opencl", 1)


#: asks for less and less until it gets it, as programs do that want all there is
PROBE = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert cu.cuInit(0) == 0 and cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
size, got = 64 << 20, 0
while size >= 256 << 10:
    if cu.cuMemAlloc_v2(ctypes.byref(memory), size):
        size //= 2
    else:
        got += size
print(got)
"""


def a_program_alone_that_asks_for_all_is_refused_without_delay():
    """It gets as much as without Sluice, and each refusal is the driver's: no patience has to run
    out."""
    with world("reserve-probe", settings={"memory.capacity_patience": "1h", "memory.allow_mapped": "off"}) as w:
        plain = int(w.run([sys.executable, "-c", PROBE], "cuda", sluice=False))
        w.start_daemon()
        got = int(w.run([sys.executable, "-c", PROBE], "cuda", name="probe").split()[0])
        s.check(MEMORY * 98 // 100 < got <= plain, "it gets nearly all", got, plain)
        s.note(f"{got / s.MIB:.2f} MiB, plain {plain / s.MIB:.2f}")


def a_process_outside_finds_the_reserve_free():
    """Two programs take turns and fill the device. A process outside gets memory of the reserve;
    once the daemon has seen it, bytes at rest leave for it, and another process gets as much."""
    with world("reserve-outside", settings={"memory.reserve_percent": 10, "scheduler.slice": "300ms"}, softgpu={"context_overhead": "2M"}) as w:
        w.start_daemon()
        programs = [w.start(fill("cuda", 60, 12, "--endless", "--rounds", 1, "--pause", 2000, "--seed", i), "cuda", name=f"p{i}", stdin=subprocess.PIPE)
                    for i in range(2)]

        def free():
            look = w.look("softgpu0")
            return look and look["capacity_bytes"] - look["true_used_bytes"]

        def both_had_turns():
            found = [w.program(f"p{i}") for i in range(2)]
            return all(p and p["turns"] > 2 for p in found)

        def visit(i):
            """A process outside that has its memory, or None: at a switch the next program may use
            the reserve for a moment."""
            s.wait_until("the reserve is free", lambda: (free() or 0) >= MEMORY // 10, look=lambda: (free(), w.log()[-3000:]))
            outsider = w.start([s.CLIENTS / "cuda-visit", "--mib", 7, "--ms", 1000000], "cuda", sluice=False, stdin=subprocess.PIPE, name=f"outsider{i}")
            if outsider.stdout.readline() == "in\n":
                return outsider
            outsider.kill()
            outsider.wait()
            return None

        s.wait_until("both have had turns", both_had_turns, look=w.log)
        for i in range(2):
            s.check(any(visit(i) for _ in range(10)), "the process outside gets its memory", free(), w.sluice("status").stdout)
            s.wait_until("it is seen", lambda: len(w.status()["devices"][0]["outsiders"]) == i + 1)
        device = w.status()["devices"][0]
        s.check(device["overhead_bytes"] == 4 * 2 * s.MIB + device["overhead_bytes"] % s.MIB, "what contexts take is told", device)
        s.check("contexts and drivers" in w.sluice("status").stdout, "and to people", w.sluice("status").stdout)
        for program in programs:
            w.end(program)
        s.check(not w.history()["denials"], "nobody was told out of memory", w.history()["denials"])


#: 150 MiB in pieces of 2, then a module with variables of 6 MiB and a kernel; all of it is read again
MAPPED = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
head = b".version 6.3\\n.target sm_75\\n.address_size 64\\n"
ptx = head + b".visible .global .align 16 .b8 table[%d];\\n.visible .entry none()\\n{\\nret;\\n}\\n"
def launch(data):
    assert cu.cuModuleLoadData(ctypes.byref(module), data) == 0, "load"
    assert cu.cuModuleGetFunction(ctypes.byref(function), module, b"none") == 0
    r = cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    assert r == 0, f"launch {r}"
    assert cu.cuCtxSynchronize() == 0
assert cu.cuInit(0) == 0 and cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
pieces = []
for i in range(75):
    memory = ctypes.c_uint64()
    assert cu.cuMemAlloc_v2(ctypes.byref(memory), 2 << 20) == 0, f"allocation {i}"
    assert cu.cuMemsetD8_v2(memory, i, 2 << 20) == 0
    pieces.append(memory)
assert cu.cuCtxSynchronize() == 0
launch(ptx % 16)
launch(ptx % (6 << 20))
host = ctypes.create_string_buffer(2 << 20)
for i, memory in enumerate(pieces):
    assert cu.cuMemcpyDtoH_v2(host, memory, 2 << 20) == 0 and host.raw == bytes([i]) * (2 << 20), f"contents {i}"
print("right")
"""


def a_program_in_mode_mapped_loads_a_module_late():
    settings = {"memory.allow_mapped": "on", "memory.pinned": "200M", "memory.visible_memory": "150M", "daemon.outsider_period": "1h"}
    with world("reserve-mapped", settings=settings, softgpu={"context_overhead": "5M"}) as w:
        w.start_daemon()
        out = w.run([sys.executable, "-c", MAPPED], "cuda", name="mapped", env={"SLUICE_LOG": "1"} if os.environ.get("SLUICE_LOG") else None)
        s.check("right" in out.split(), "the module is loaded and all contents are right", out, w.log()[-3000:])
        s.check(not w.history()["denials"], "nobody was told out of memory", w.history()["denials"])


s.main(a_cuda_program_takes_99_percent, an_opencl_program_takes_99_percent_in_one_command, a_program_alone_that_asks_for_all_is_refused_without_delay,
       a_process_outside_finds_the_reserve_free, a_program_in_mode_mapped_loads_a_module_late)
