#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small jobs that leave the device idle for a part of their time, under FIFO one at a time and under PACK side by side.

As Salus's multi-jobs (300 equal ones, published 2.38 times), at small scale and live: real programs (cuda-llm) on the software GPU,
each with its own process. A step is a loop on the device and a rest on the host, so that no two programs compute in the same time.
All programs load first and get their work at one moment. The idle part is that of the rest in a step; it is varied. The host's own
work in a step is idle time of the device too, so the gain may be more than one over the busy part.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

JOBS = s.scaled("SLUICE_JOBS", 24)
STEPS = 40
LOOPS = 200  # thousands; about 7 ms on a quiet machine
MIB = 4
IDLES = (0.3, 0.58, 0.7)
GOAL_IDLE, GOAL = 0.7, 2.4


def words(idle_us):
    return [s.CLIENTS / "cuda-llm", "--weights", (MIB - 1) * 1024, "--cache", 512, "--layers", 2, "--answers", "--loops", LOOPS,
            *(["--idle", idle_us] if idle_us else [])]


def world(settings):
    return s.World("pack", memory=64 * s.MIB, softgpu={"context_overhead": 0}, settings={"memory.reserve_percent": 0} | settings)


def ask(program, steps):
    program.stdin.write(f"{steps}\n")
    program.stdin.flush()


def answered(program):
    s.check(program.stdout.readline() == "answered\n", "the program answers", program.label)


def makespan(settings, n, idle_us):
    """Seconds from the moment at which all get their work to the end of the last one."""
    with world(settings) as w:
        w.start_daemon()
        programs = []
        for i in range(n):
            programs.append(w.start(words(idle_us), "cuda", name=f"job{i}", stdin=subprocess.PIPE))
            ask(programs[-1], 1)
            answered(programs[-1])
        began = time.monotonic()
        for program in programs:
            ask(program, STEPS)
            program.stdin.close()
        for program in programs:
            answered(program)
        span = time.monotonic() - began
        for program in programs:
            program.stdin = None
            w.finish(program)
        return span


def main():
    conditions(f"software GPU of 64 MiB, {JOBS} programs of {MIB} MiB, {STEPS} steps each; FIFO one at a time, PACK side by side")
    gains = {}
    with Disturbance() as quiet:
        step = min(makespan({}, 1, 0) for _ in range(3)) / STEPS
        for idle in IDLES:
            idle_us = int(step * idle / (1 - idle) * 1e6)
            fifo = makespan({"scheduler.policy": "fifo", "scheduler.share_percent": 1}, JOBS, idle_us)
            pack = makespan({"scheduler.policy": "pack"}, JOBS, idle_us)
            gains[idle] = fifo / pack
            print(f"idle {idle:.0%}: a step {step * 1e3:.1f} ms and {idle_us / 1e3:.1f} ms of rest; fifo {fifo:.1f} s, pack {pack:.1f} s", flush=True)
    for idle, gain in gains.items():
        figure(f"pack-live.idle_{idle:.0%}".replace("%", ""), gain, "x", valid=quiet.is_quiet)
    figure("pack-live.speedup", gains[GOAL_IDLE], "x", goal=GOAL, valid=quiet.is_quiet, idle=GOAL_IDLE, published=2.38)


main()
