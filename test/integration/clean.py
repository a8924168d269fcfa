#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clean data is not written back on CUDA: an extent whose digest on the device equals that of its host copy is
dropped. Programs that write anything, and every fault on the way, end right."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s
import writeback

SETTINGS = writeback.SETTINGS | {"memory.hash_clean": "always", "memory.predict": "off"}
SCALE = writeback.SCALE


def take_turns(name, *words, settings=None, **more):
    return writeback.take_turns(f"clean-{name}", *words, settings=SETTINGS | (settings or {}), **more)


#: a card whose bus is slower than its memory, as all are: there digests are faster than copies
CARD = {"memory": 6, "softgpu": {"profile": "rtx5080"}}
DEFAULT = {"memory.hash_clean": "auto"}


def is_little(into, out):
    """Without digests as many bytes go out as come in."""
    s.check(out <= 2 * into / 50, "at most 2 % of what is moved without digests is written back", into, out)


def weights_that_kernels_only_read_are_not_written_back():
    is_little(*take_turns("read"))


def the_same_with_memory_of_a_pool():
    is_little(*take_turns("pool", "--async"))


def the_same_over_the_bus_of_a_card():
    is_little(*take_turns("card", **CARD))


def the_same_with_bytes_on_disk():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-clean-", dir="/var/tmp"))
    try:
        is_little(*take_turns("disk", settings={"memory.backing": 1 * s.MIB, "memory.disk_folder": folder}))
    finally:
        folder.rmdir()


def a_program_that_takes_all_of_the_device_has_its_turns():
    """There is no memory for digests then: its bytes are copied, and no request is denied."""
    with s.World("clean-all", memory=4 * s.MIB, settings=SETTINGS | DEFAULT, softgpu=SCALE) as w:
        w.start_daemon()
        fills = [w.start([s.CLIENTS / "cuda-fill", "--all", "--buffers", 1, "--rounds", 20, "--seed", i], "cuda", name=f"p{i}")
                 for i in range(2)]
        for fill in fills:
            w.finish(fill)


def a_program_that_writes_its_weights_now_and_then_ends_right():
    take_turns("change", "--change", 5)


def programs_that_write_everything_end_right():
    with s.World("clean-write", memory=3 * s.MIB, settings=SETTINGS, softgpu=SCALE) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", writeback.MIB, "--buffers", 8, "--rounds", 30, "--mix", "--seed", i], "cuda",
                            name=f"p{i}") for i in range(2)]
        for program in programs:
            w.finish(program)


def the_setting_turns_comparing_off():
    into, out = take_turns("off", settings={"memory.hash_clean": "off"}, turns=10)
    s.check(out >= into / 2, "everything is written back", into, out)


def auto_ends_right():
    take_turns("auto", "--change", 3, settings=DEFAULT)


def auto_ends_right_over_a_slow_bus():
    """Digests are faster than copies here, so both sides of a comparison come from the device."""
    take_turns("slow", "--change", 9, settings=DEFAULT, turns=20, **CARD)


def everything_that_moves_between_two_calls_is_right():
    writeback.is_right_under_torture("clean-torture", 4)


#: the calls of the program that meet each kind without Sluice as well
FAULTS = {
    "create": "cuDevicePrimaryCtxRetain|cuModuleLoadData",
    "copy": "cuMemcpy",
    "launch": "cuLaunchKernel",
    "host": "cuMemAllocHost|cuDevicePrimaryCtxRetain",
}


def one_fault(w, kind, number, own_calls):
    """Returns whether the fault occurred."""
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


s.main(weights_that_kernels_only_read_are_not_written_back, the_same_with_memory_of_a_pool, the_same_over_the_bus_of_a_card,
       the_same_with_bytes_on_disk, a_program_that_takes_all_of_the_device_has_its_turns,
       a_program_that_writes_its_weights_now_and_then_ends_right, programs_that_write_everything_end_right,
       the_setting_turns_comparing_off, auto_ends_right, auto_ends_right_over_a_slow_bus, everything_that_moves_between_two_calls_is_right,
       *[fault_test_of(*row) for row in FAULTS.items()])
