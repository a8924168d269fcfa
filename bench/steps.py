#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a program that launches many small kernels, alone and under Sluice, on the software GPU.

The words given are cuda-steps' own. The two are run in turn, and the medians are told: what a loaded machine adds
is in both.
"""

import os
import resource
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "test", "lib"))
import sluice as s

RUNS = 5


def cost_s(world, sluice):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    world.run([s.CLIENTS / "cuda-steps", *sys.argv[1:]], "cuda", name="steps", sluice=sluice)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


with s.World("steps") as w:
    w.start_daemon()
    rows = [(cost_s(w, False), cost_s(w, True)) for _ in range(RUNS + 1)][1:]
    alone, shared = (statistics.median(column) for column in zip(*rows))
    print(f"{alone:.3f} s alone, {shared:.3f} s under Sluice: {100 * (shared / alone - 1):+.1f} %")
