#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA programs larger than the device: by default, memory that does not fit is reached over the
bus. A program still sees only the device's free memory, a program that fits is not mapped, and
beyond the pinned budget the allocation fails and the user is told what to do. Memory that the driver
takes by itself comes out of the program's own, which is mapped for it.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

DEVICE = 16
NO_MEMORY = 4  # how the programs of test/clients end
SMALL = {"scale": 256, "context_overhead": "512K"}


def world(name, **settings):
    fixed = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
    return s.World(f"larger-{name}", memory=DEVICE * s.MIB, settings=fixed | settings, softgpu=SMALL)


def fill(mib, *words):
    return [s.CLIENTS / "cuda-fill", "--mib", mib, "--buffers", 10, "--seed", s.seed(mib), *words]


def modes(w):
    return {p["name"]: p["mode"] for p in w.status()["programs"]}


def alone():
    for mib in (20, 24):
        with world(f"alone-{mib}") as w:
            w.start_daemon()
            program = w.start(fill(mib, "--rounds", 1, "--endless"), "cuda", name="large", stdin=subprocess.PIPE)
            s.wait_until("the rest is mapped", lambda: (w.program("large") or {}).get("mapped_bytes", 0) >= (mib - DEVICE) * s.MIB,
                         look=lambda: w.log()[-2000:])
            large = w.program("large")
            s.check(large["mode"] == "mapped" and "over the bus" in large["reason"], "status says so", large)
            s.check(large["device_bytes"] > DEVICE * s.MIB * 3 // 4, "what fits is on the device", large)
            w.end(program)
            s.check(not w.history()["denials"], "nobody was denied")


def next_to_others():
    with world("next") as w:
        w.start_daemon()
        other = w.start(fill(10, "--rounds", 1, "--endless"), "cuda", name="small", stdin=subprocess.PIPE)
        s.wait_until("it runs", lambda: (w.program("small") or {}).get("launches"))
        large = [w.start(fill(mib, "--rounds", 3), "cuda", name=f"large{mib}") for mib in (20, 24)]
        for program in large:
            w.finish(program)
        s.check(modes(w) == {"small": "all"}, "who fits is not mapped", modes(w))
        s.check(w.program("small")["mapped_bytes"] == 0, "not a byte of it", w.program("small"))
        w.end(other)
        s.check(not w.history()["denials"], "nobody was denied")


def two_that_fit_are_not_mapped():
    with world("fit") as w:
        w.start_daemon()
        programs = [w.start(fill(12, "--rounds", 1, "--endless"), "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]
        s.wait_until("both took turns", lambda: len(modes(w)) == 2 and all(p["turns"] > 5 for p in w.status()["programs"]))
        for program in programs:
            w.end(program)
        logs = [path.read_text() for path in w.folder.glob("p?.log")]
        s.check(not any("bytes mapped" in log for log in logs), "nothing of either was mapped")


def beyond_the_budget_is_out_of_memory_with_its_numbers():
    with world("beyond", **{"memory.pinned": "8M", "memory.staging": "1M"}) as w:
        w.start_daemon()
        # at one allocation, which may not be, and at the last of many, for which the budget does not suffice
        for buffers, words in ((1, "may own 22.5 MiB"), (10, "of memory.pinned")):
            w.finish(w.start([s.CLIENTS / "cuda-fill", "--mib", 32, "--buffers", buffers, "--rounds", 1], "cuda", name="greedy"), exits=(NO_MEMORY,))
            denial = w.history()["denials"][-1]
            s.check(words in denial["reason"] and "memory.pinned" in denial["reason"], "the numbers are named", denial)
            s.check("sluice set memory.pinned" in denial["hint"], "and the way out", denial)


def what_the_driver_refuses_is_mapped():
    with world("refused", **{"memory.allow_mapped": "on"}) as w:
        w.start_daemon()
        out = w.run(fill(10, "--rounds", 5), "cuda", name="refused", env={"SLUICE_SOFTGPU_FAULT": "memory:8M",
                                                                          "SLUICE_LOG": w.folder / "refused.log"})
        s.note(out.splitlines()[0])
        s.check("bytes mapped" in (w.folder / "refused.log").read_text(), "the rest was mapped", w.log()[-2000:])


def off_is_as_without_sluice():
    with world("off", **{"memory.allow_mapped": "off"}) as w:
        w.start_daemon()
        w.finish(w.start(fill(20, "--rounds", 1), "cuda", name="greedy"), exits=(NO_MEMORY,))
        denial = w.history()["denials"][-1]
        s.check("allow_mapped auto" in denial["hint"], "the way out is named", denial)


#: Owns memory, then launches a kernel for whose local memory the driver takes device memory, and looks at its own again.
DEEP = """
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
n_buffers, stack = int(sys.argv[1]), int(sys.argv[2])
MIB = 1 << 20
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ptx = b".version 6.3\\n.target sm_75\\n.address_size 64\\n.visible .entry deep()\\n{\\n.local .align 16 .b8 stack[%d];\\nret;\\n}\\n" % stack
assert cu.cuInit(0) == 0 and cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cu.cuModuleLoadData(ctypes.byref(module), ptx) == 0 and cu.cuModuleGetFunction(ctypes.byref(function), module, b"deep") == 0
buffers = [ctypes.c_uint64() for _ in range(n_buffers)]
for i, buffer in enumerate(buffers):
    assert cu.cuMemAlloc_v2(ctypes.byref(buffer), MIB) == 0 and cu.cuMemsetD8_v2(buffer, i + 1, MIB) == 0
host = ctypes.create_string_buffer(MIB)
for _ in range(2):
    print(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))
    for i, buffer in enumerate(buffers):
        assert cu.cuMemcpyDtoH_v2(host, buffer, MIB) == 0 and host.raw == bytes([i + 1]) * MIB
"""


#: Local memory for all threads of that many multiprocessors: 64 times what a thread has.
MULTIPROCESSORS = {"SLUICE_SOFTGPU_MULTIPROCESSORS": "16"}


def deep(w, mib, local_mib):
    return w.run([sys.executable, "-c", DEEP, mib, local_mib * s.MIB // 64], "cuda", name="deep", env=MULTIPROCESSORS | {"SLUICE_LOG": w.folder / "deep.log"})


def what_the_driver_takes_comes_from_memory_that_is_mapped_for_it():
    # one that is larger, one that fills the device, and one that fits until the launch
    for mib in (20, 15, 12):
        with world(f"deep-{mib}") as w:
            w.start_daemon()
            out = deep(w, mib, 6)
            s.check(out.split()[:2] == ["0", "0"], "it is launched", out, w.log()[-2000:])
            s.check("bytes mapped" in (w.folder / "deep.log").read_text(), "its own memory was mapped for it")
            s.check(not w.history()["denials"], "nobody was denied")


def what_fits_nowhere_is_refused_though_the_rest_could_be_mapped():
    for mib in (20, 12, 1):
        with world(f"nowhere-{mib}", **{"memory.capacity_patience": "100ms"}) as w:
            w.start_daemon()
            out = deep(w, mib, 18)
            s.check(out.split()[:2] == ["2", "2"], "the launch is told out of memory, and its memory is what it was", out)
            denials = w.history()["denials"]
            s.check(denials and all(d["name"] == "deep" and "needs" in d["reason"] for d in denials), "history says why", denials, w.log()[-2000:])


s.main(alone, what_the_driver_takes_comes_from_memory_that_is_mapped_for_it, what_fits_nowhere_is_refused_though_the_rest_could_be_mapped, next_to_others, two_that_fit_are_not_mapped, beyond_the_budget_is_out_of_memory_with_its_numbers, what_the_driver_refuses_is_mapped,
       off_is_as_without_sluice)
