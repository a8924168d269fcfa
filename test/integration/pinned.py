#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pinned memory: its budget changes while programs copy through it and from it, and a program
without any goes on, only slower.

OpenCL has no memory that is only pinned; our copies there go through the driver's own. So OpenCL
programs have no part of the budget.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "10ms", "memory.checksum_moves": "on", "memory.reserve_percent": 0,
            "memory.pinned": "64M", "memory.staging": "16M"}
STAGED = 16 * s.MIB
COPIES = 3 * s.MIB


def set_pinned(w, size):
    done = w.sluice("set", "memory.pinned", size)
    s.check(done.returncode == 0, "the budget can be changed", done.stderr)


def shares(w):
    """What each may pin, in the order of joining."""
    return [p["pinned_bytes"] for p in w.status()["programs"]]


def holds(w):
    return [p["pinned_held_bytes"] for p in w.status()["programs"]]


def comes_to(w, what, *expected, order=list):
    """The shares, in the order of joining or as `order` has them, while both take turns."""
    s.wait_until(what, lambda: order(shares(w)) == list(expected), look=lambda: f"{shares(w)}\n{w.log()[-2000:]}")
    before = {p["pid"]: p["turns"] for p in w.status()["programs"]}
    s.wait_until("both go on taking turns", lambda: all(
        p["turns"] > before[p["pid"]] + 3 for p in w.status()["programs"]), look=lambda: w.log()[-2000:])


def endless(w, api, name):
    program = w.start([s.CLIENTS / ("cuda-fill" if api == "cuda" else "cl-fill"), "--mib", 3, "--rounds", 2, "--endless", "--verify-each"], api,
                      name=name, stdin=subprocess.PIPE)
    s.wait_until("it has joined", lambda: w.program(name))
    return program


def a_smaller_budget_takes_the_staging_of_cuda_programs():
    with s.World("cuda-pinned", memory=4 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = [endless(w, "cuda", f"p{i}") for i in range(2)]
        comes_to(w, "each has its staging and its copies", STAGED + COPIES, STAGED + COPIES)
        s.wait_until("the copies are pinned", lambda: holds(w) == [STAGED + COPIES] * 2, look=lambda: f"{holds(w)}")
        set_pinned(w, "35M")
        # whose bytes leave depends on who has its turn
        s.wait_until("staging stays, and copies of one leave", lambda: sorted(holds(w)) == sorted(shares(w)) == [STAGED, STAGED + COPIES],
                     look=lambda: f"{holds(w)}")
        set_pinned(w, "20M")
        comes_to(w, "one gives up its staging", 0, STAGED, order=sorted)
        set_pinned(w, "4K")
        comes_to(w, "nobody has any", 0, 0)
        set_pinned(w, "64M")
        comes_to(w, "each has both again", STAGED + COPIES, STAGED + COPIES)
        for program in programs:
            w.end(program)


def opencl_programs_have_none_and_leave_it_to_others():
    with s.World("opencl-pinned", memory=4 * s.MIB, settings=SETTINGS | {"memory.pinned": "20M"}, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = [endless(w, "opencl", f"p{i}") for i in range(2)]
        comes_to(w, "neither has any, and both copy", 0, 0)
        s.wait_until("bytes of both move", lambda: all(p["moved_in_bytes"] for p in w.status()["programs"]))
        # one fits, which is the last that comes
        last = endless(w, "cuda", "last")
        s.wait_until("the one that has a use for it has it", lambda: shares(w) == [0, 0, STAGED], look=lambda: f"{shares(w)}\n{w.log()[-2000:]}")
        for program in [*programs, last]:
            w.end(program)


s.main(a_smaller_budget_takes_the_staging_of_cuda_programs, opencl_programs_have_none_and_leave_it_to_others)
