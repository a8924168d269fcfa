#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OpenCL programs that people have: what Sluice costs each when everything fits, and what a small device costs it.

Each program that is installed runs once so that its kernels are built, then in rounds: on a large device without Sluice,
on the same device with it, and on a device too small. Runs of a round lie beside each other, and what is compared are the
medians of the rounds; which of the first two runs goes first changes from round to round. The loss is of processor time,
which others on the machine spoil less than the clock; the seconds stand beside it. It contains the start of the program,
to which Sluice adds its own whatever follows, so a percent is to be seen only where the program works for many seconds.

With names on the command line only these programs; SLUICE_ROUNDS says how many rounds.
"""

import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from clprograms import PROGRAMS
from figures import Disturbance, conditions, figure

LARGE = 4 << 30
ROUNDS = s.scaled("SLUICE_ROUNDS", 5)
# tests that take minutes, or as long as their processes take to start, and say nothing that the others do not
EXCLUDED = ("silx", "reikna", "piglit-small")


class Place:
    """A device with a daemon, on which one program runs again and again."""

    def __init__(self, name, program, memory, settings):
        self.world = s.World(name, memory=memory, settings=settings)
        self.program, self.n = program, 0

    def __enter__(self):
        self.world.start_daemon()
        return self

    def __exit__(self, *error):
        self.world.__exit__(*error)

    def run(self, sluice):
        """Return: the seconds of the clock and of the processors that a run took, and its results."""
        self.n += 1
        folder = self.world.folder / f"user{self.n}"
        folder.mkdir()
        env = self.program.all_environment(folder, is_small=True)
        self.program.prepare(folder, self.world.environment(env))
        words = [self.program.longer.get(word, word) for word in self.program.commands(folder)] + self.program.more
        before, began = os.times(), time.monotonic()
        out = self.world.finish(self.world.start(words, "opencl", name="it", sluice=sluice, env=env, cwd=folder), seconds=1800)
        seconds, after = time.monotonic() - began, os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, used, self.program.results(out, folder)


def measure(program):
    usual = {"scheduler.slice": "50ms"}
    found = {"plain": [], "fits": [], "small": []}
    with Disturbance() as quiet, Place("bench-large", program, LARGE, usual) as large, \
            Place("bench-small", program, program.more_memory or program.memory, usual | program.settings) as small:
        runs = {"plain": lambda: large.run(False), "fits": lambda: large.run(True), "small": lambda: small.run(True)}
        for how in runs:
            runs[how]()
        for number in range(ROUNDS):
            for how in ("plain", "fits", "small") if number % 2 else ("fits", "plain", "small"):
                found[how].append(runs[how]())
    same = all(results == found["plain"][0][2] for rows in found.values() for _, _, results in rows)
    seconds, used = ({how: statistics.median(row[i] for row in rows) for how, rows in found.items()} for i in (0, 1))
    more = {f"{how}_s": round(seconds[how], 3) for how in found} | {f"{how}_cpu_s": round(used[how], 3) for how in found}
    spread = statistics.median(abs(row[1] - used["plain"]) for row in found["plain"]) / used["plain"]
    figure(f"cl-programs.{program.name}_loss_percent", 100 * (used["fits"] / used["plain"] - 1), "%", goal=1,
           valid=quiet.is_quiet and same, same_results=same, spread_percent=round(100 * spread, 2), **more)
    figure(f"cl-programs.{program.name}_small_times", seconds["small"] / seconds["plain"], "times", valid=quiet.is_quiet and same)


def main():
    conditions(f"cl-programs: PoCL behind the limiter, bus as fast as memory; medians of {ROUNDS} rounds with the kernels built; loss_percent: "
               "processor time with Sluice and everything fitting, beside that without; spread_percent: the median deviation of the runs "
               "without; small_times: the time on the small device beside that on the large one without Sluice")
    for name in sys.argv[1:] or [name for name in PROGRAMS if name not in EXCLUDED]:
        program = PROGRAMS[name]
        if program.missing():
            print(f"{name}: not measured: {program.missing()}", flush=True)
        else:
            measure(program)


main()
