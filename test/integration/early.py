#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Early start on CUDA: a launch whose kernel's PTX says what it touches passes when that is on the device, while other
memory of its program still comes in. All results are right, with everything that can move moving and with a fault at
each operation of the device."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s
import writeback

SETTINGS = {"memory.hash_clean": "off"}
SHIM = s.BUILD / "src/cuda/libcuda.so.1"
EARLY = re.compile(r"calls pass early, (\d+) units are absent")
#: the program's own calls that would meet the fault without Sluice too
FAULTS = {"create": "cuDevicePrimaryCtxRetain|cuModuleLoadData", "map": None, "access": None, "unmap": None,
          "copy": "cuMemcpy", "launch": "cuLaunchKernel"}


def absent_at_starts(log):
    """Of each turn that began early: how many units were absent at its first call."""
    return [int(n) for n in EARLY.findall(log.read_text())] if log.exists() else []


def take_turns(name, *words, client="cuda-read", settings=None, enough=10):
    """Two programs that do not fit together, until calls of both have passed early that often; both end right."""
    with s.World(name, memory=3 * s.MIB, settings=writeback.SETTINGS | SETTINGS | (settings or {}), softgpu=writeback.SCALE) as w:
        w.start_daemon()
        logs = [w.folder / f"log{i}" for i in range(2)]
        programs = [w.start([s.CLIENTS / client, "--mib", 2, "--buffers", 8, "--rounds", 1, "--endless", "--seed", i, *words],
                            "cuda", name=f"p{i}", stdin=subprocess.PIPE, env={"SLUICE_LOG": logs[i]}) for i in range(2)]
        if enough:
            s.wait_until(f"calls of both have passed early in {enough} turns",
                         lambda: all(len(absent_at_starts(log)) >= enough for log in logs), seconds=300 + enough)
        else:
            s.wait_until("both have had 40 turns",
                         lambda: all(p["turns"] >= 40 for p in w.status()["programs"]) and len(w.status()["programs"]) == 2, seconds=300)
        for program in programs:
            w.end(program)
        return [absent_at_starts(log) for log in logs]


def launches_pass_before_the_last_buffer_has_come():
    for absent in take_turns("early-read"):
        s.check(all(absent), "units were absent at the first call", absent)
        s.note(f"{len(absent)} turns began early, {sum(absent) / len(absent):.1f} units were absent")


def so_do_launches_that_write_their_buffers():
    """As many switches as the environment asks for: each program has half of them."""
    take_turns("early-change", "--change", 3, enough=s.scaled("SLUICE_SWITCHES", 20) // 2)


def so_do_launches_on_memory_of_a_pool():
    take_turns("early-pool", "--async", "--change", 5)


def so_do_launches_of_programs_that_may_be_mapped():
    take_turns("early-mapped", "--change", 7, settings={"memory.allow_mapped": "auto", "memory.pinned": "64M"})


def the_setting_turns_it_off():
    for absent in take_turns("early-off", settings={"memory.predict": "writes"}, enough=0):
        s.check(not absent, "no call passed early", absent)


def torture(w, words, env=None, exits=(0,)):
    """With everything moved out between two calls, and each turn taken away as soon as a call has passed."""
    log = w.folder / "torture.log"
    log.unlink(missing_ok=True)
    program = w.start([s.CLIENTS / words[0], *words[1:]], "cuda", sluice=False,
                      env={"LD_PRELOAD": SHIM, "SLUICE_TORTURE": "early", "SLUICE_LOG": log} | (env or {}))
    out = w.finish(program, exits=exits)
    w.programs.remove(program)
    return program.returncode, out, absent_at_starts(log)


def results_are_right_while_each_turn_ends_with_its_first_call():
    n = 0
    with s.World("early-torture", memory=6 * s.MIB, softgpu=writeback.SCALE) as w:
        for words in (["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 6], ["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 6, "--change", 3],
                      ["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 6, "--async", "--change", 2],
                      ["cuda-fill", "--mib", 2, "--buffers", 4, "--rounds", 3, "--mix", "--threads", 2]):
            _, out, absent = torture(w, words)
            s.check("right" in out, "the results are right", words, out)
            n += len(absent)
    s.check(n, "calls passed early")
    s.note(f"{n} turns began early")


def each_operation_of_the_device_fails_once():
    with s.World("early-faults", memory=6 * s.MIB, softgpu=writeback.SCALE) as w:
        for kind, own_calls in FAULTS.items():
            n_met, n_early, number, step = 0, 0, 1, 1
            faults = w.folder / "faults"
            while True:
                faults.unlink(missing_ok=True)
                code, out, absent = torture(w, ["cuda-read", "--mib", 1, "--buffers", 3, "--rounds", 2, "--change", 2], exits=(0, 3, 4),
                                            env={"SLUICE_SOFTGPU_FAULT": f"{kind}:{number}", "SLUICE_SOFTGPU_FAULT_LOG": faults})
                if code:
                    s.check(own_calls and re.search(own_calls, out), f"{kind}:{number} is no error of the program's own call", out)
                else:
                    s.check("right" in out, "the results are right", kind, number, out)
                n_early += len(absent)
                if not faults.exists():
                    break
                n_met += 1
                if not s.scaled("SLUICE_LONG", 0) and number >= 8:
                    step = number // 2
                number += step
            s.check(n_met and n_early, f"a {kind} failed, and calls passed early", n_met, n_early)
            s.note(f"{kind}: {n_met} faults, the last one before {number}; {n_early} turns began early")


s.main(launches_pass_before_the_last_buffer_has_come, so_do_launches_that_write_their_buffers, so_do_launches_on_memory_of_a_pool,
       so_do_launches_of_programs_that_may_be_mapped, the_setting_turns_it_off, results_are_right_while_each_turn_ends_with_its_first_call, each_operation_of_the_device_fails_once)
