#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The budget of pinned memory is changed while programs copy through it: who has none goes on, only slower."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "10ms", "memory.checksum_moves": "on", "memory.reserve_percent": 0,
            "memory.pinned": "64M", "memory.staging": "16M"}
PROGRAMS = {"cuda": "cuda-fill", "opencl": "cl-fill"}
STAGED = 16 * s.MIB


def set_pinned(w, size):
    done = w.sluice("set", "memory.pinned", size)
    s.check(done.returncode == 0, "the budget can be changed", done.stderr)


def shares(w):
    """What each may pin, who came last at the end."""
    return [p["pinned_bytes"] for p in w.status()["programs"]]


def comes_to(w, what, *expected):
    s.wait_until(what, lambda: shares(w) == list(expected), look=lambda: f"{shares(w)}\n{w.log()[-2000:]}")
    before = {p["pid"]: p["turns"] for p in w.status()["programs"]}
    s.wait_until("both go on taking turns", lambda: all(
        p["turns"] > before[p["pid"]] + 3 for p in w.status()["programs"]), look=lambda: w.log()[-2000:])


def lowered_and_raised(api):
    with s.World(f"{api}-pinned", memory=4 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = []
        for i in range(2):
            programs.append(w.start([s.CLIENTS / PROGRAMS[api], "--mib", 3, "--rounds", 2, "--endless", "--verify-each",
                                     "--seed", i], api, name=f"p{i}", stdin=subprocess.PIPE))
            s.wait_until("it has joined", lambda: w.program(f"p{i}"))
        comes_to(w, "each has its staging", STAGED, STAGED)
        set_pinned(w, "20M")
        comes_to(w, "who came last gives up its staging", STAGED, 0)
        set_pinned(w, "4K")
        comes_to(w, "nobody has any", 0, 0)
        set_pinned(w, "64M")
        comes_to(w, "each has its staging again", STAGED, STAGED)
        for program in programs:
            w.end(program)


def a_smaller_budget_takes_the_staging_of_cuda_programs():
    lowered_and_raised("cuda")


def a_smaller_budget_takes_the_staging_of_opencl_programs():
    lowered_and_raised("opencl")


s.main(a_smaller_budget_takes_the_staging_of_cuda_programs, a_smaller_budget_takes_the_staging_of_opencl_programs)
