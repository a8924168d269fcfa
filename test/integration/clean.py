#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clean data is not written back on CUDA: an extent whose digest on the device equals that of its host copy is
dropped. Programs that write anything, and every fault on the way, end right."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0, "memory.hash_clean": "always"}
SCALE = {"scale": 256}
TURNS = 40
MIB = 2


def take_turns(name, *words, settings=None, turns=TURNS, memory=3, softgpu=SCALE):
    """Two programs on a device that holds one. Returns the bytes that came in and went out."""
    with s.World(f"clean-{name}", memory=memory * s.MIB, settings=SETTINGS | (settings or {}), softgpu=softgpu) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-read", "--mib", MIB, "--buffers", 8, "--rounds", 1, "--endless", "--seed", i, *words],
                            "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]

        def have_taken_turns():
            found = w.status()["programs"]
            return len(found) == 2 and all(p["turns"] >= turns for p in found) and found

        found = s.wait_until(f"each has had {turns} turns", have_taken_turns, seconds=300)
        for program in programs:
            w.end(program)
        into = sum(p["moved_in_bytes"] for p in found)
        out = sum(p["moved_out_bytes"] for p in found)
        s.note(f"{name}: {into >> 10} KiB in, {out >> 10} KiB out")
        return into, out


def weights_that_kernels_only_read_are_not_written_back():
    into, out = take_turns("read")
    s.check(out <= into / 10, "at most a tenth of what comes in is written back", into, out)


def the_same_with_memory_of_a_pool():
    into, out = take_turns("pool", "--async")
    s.check(out <= into / 10, "at most a tenth of what comes in is written back", into, out)


def a_program_that_writes_its_weights_now_and_then_ends_right():
    take_turns("change", "--change", 5)


def programs_that_write_everything_end_right():
    with s.World("clean-write", memory=3 * s.MIB, settings=SETTINGS, softgpu=SCALE) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", MIB, "--buffers", 8, "--rounds", 30, "--mix", "--seed", i], "cuda",
                            name=f"p{i}") for i in range(2)]
        for program in programs:
            w.finish(program)


def the_setting_turns_comparing_off():
    into, out = take_turns("off", settings={"memory.hash_clean": "off"}, turns=10)
    s.check(out >= into / 2, "everything is written back", into, out)


def auto_ends_right():
    take_turns("auto", "--change", 3, settings={"memory.hash_clean": "auto"})


def auto_ends_right_over_a_slow_bus():
    """Where digests are faster than copies, so that both sides of a comparison come from the device."""
    take_turns("slow", "--change", 9, settings={"memory.hash_clean": "auto"}, turns=20, memory=6, softgpu={"profile": "rtx5080"})


def everything_that_moves_between_two_calls_is_right():
    with s.World("clean-torture", memory=4 * s.MIB, softgpu=SCALE) as w:
        for words in [], ["--change", 3], ["--async", "--change", 2]:
            out = w.run([s.CLIENTS / "cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 4, *words], "cuda", sluice=False,
                        env={"LD_PRELOAD": s.BUILD / "src/cuda/libcuda.so.1", "SLUICE_TORTURE": 1})
            s.check("right" in out, "the results are right", out)


#: the calls of the program that meet each kind without Sluice as well
FAULTS = {
    "create": "cuDevicePrimaryCtxRetain|cuModuleLoadData",
    "copy": "cuMemcpy",
    "launch": "cuLaunchKernel",
    "host": "cuMemAllocHost|cuDevicePrimaryCtxRetain",
}


def one_fault(w, kind, number, own_calls):
    """Returns whether the fault was met."""
    log = w.folder / "faults"
    log.unlink(missing_ok=True)
    victim = w.start([s.CLIENTS / "cuda-read", "--mib", 1, "--buffers", 3, "--rounds", 1, "--endless", "--change", 4], "cuda",
                     name="victim", stdin=subprocess.PIPE, env={"SLUICE_SOFTGPU_FAULT": f"{kind}:{number}", "SLUICE_SOFTGPU_FAULT_LOG": log})
    s.wait_until("it has been moved or has ended", lambda: victim.poll() is not None or (
        w.program("victim") or {}).get("turns", 0) >= 6)
    out = w.end(victim, exits=(0, 3, 4))
    w.programs.remove(victim)
    if victim.returncode:
        s.check(re.search(own_calls, out), f"{kind}:{number} is no error of the program's own call", out)
    return log.exists()


def fault_test_of(kind, own_calls):
    def test():
        with s.World(f"clean-{kind}", memory=1536 << 10, settings=SETTINGS | {"scheduler.policy": "rr"}, softgpu=SCALE) as w:
            w.start_daemon()
            other = w.start([s.CLIENTS / "cuda-read", "--mib", 1, "--buffers", 3, "--rounds", 1, "--endless"], "cuda", name="other",
                            stdin=subprocess.PIPE)
            s.wait_until("the other one runs", lambda: (w.program("other") or {}).get("launches"))
            number = step = 1
            while one_fault(w, kind, number, own_calls):
                step = number if number >= 4 else 1
                number += step
            s.note(f"{kind}: the last one before {number}")
            s.check(kind != "copy" or number > 8, "the program was moved", number)
            w.end(other)
    test.__name__ = f"each_{kind}_of_a_program_that_is_compared_fails_once"
    return test


s.main(weights_that_kernels_only_read_are_not_written_back, the_same_with_memory_of_a_pool,
       a_program_that_writes_its_weights_now_and_then_ends_right, programs_that_write_everything_end_right,
       the_setting_turns_comparing_off, auto_ends_right, auto_ends_right_over_a_slow_bus, everything_that_moves_between_two_calls_is_right,
       *[fault_test_of(*row) for row in FAULTS.items()])
