#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the simulator true? Small scenarios both in `sluice sim` and live on the software GPU, and how far their times differ.

The programs are cuda-llm. They load their weights one after the other, then all get work at the same time: steps of the device's
clock, or of a loop where programs run side by side (two programs can wait for a clock in the same time, but not count), with a
rest on the host where the scenario says so. The bus is that of the profile, at a small scale. What a step takes is measured with
each kind of program alone, the shortest of three runs. The error of a scenario is that of the mean time from the work to its end.
"""

import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
os.environ.setdefault("SLUICE_BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
import sluice as s
from figures import Disturbance, conditions, figure
from simulation import simulate

MEMORY = 64  # MiB
SCALE = 256
LINK = {"link_in": 45_600_000_000 // SCALE, "link_out": 34_700_000_000 // SCALE}
STEP = 0.02
LOAD = 20.0  # seconds of virtual time for loading; live it takes as long as it takes
WEIGHTS, CACHE = 0.9, 0.1  # of a program's memory; the cache changes in each turn


class Kind:
    """A program of a scenario. loops: thousands of turns of a loop a step, instead of a time."""

    def __init__(self, name, mib, steps, at=0.0, idle=0.0, loops=0, expect=False):
        self.name, self.mib, self.steps, self.at, self.idle, self.loops, self.expect = name, mib, steps, at, idle, loops, expect

    @property
    def key(self):
        return self.mib, self.idle, self.loops

    def words(self):
        words = [s.CLIENTS / "cuda-llm", "--weights", int(self.mib * WEIGHTS * 1024), "--cache", int(self.mib * CACHE * 1024), "--layers", 8,
                 "--answers", "--us", int(STEP * 1e6)]
        return words + (["--idle", int(self.idle * 1e6)] if self.idle else []) + (["--loops", self.loops] if self.loops else [])

    def options(self):
        return ["--expect", f"{(self.steps + 1) * STEP:.2f}s"] if self.expect else []


def beside(n, mib, steps, **more):
    return [Kind(f"p{i}", mib, steps, **more) for i in range(n)]


SCENARIOS = {
    "alone": ("mlfq", "1s", beside(1, 20, 100)),
    "beside": ("mlfq", "1s", beside(2, 16, 60, loops=400)),
    "turns": ("rr", "1s", beside(2, 40, 150)),
    "fifo": ("fifo", "1s", [Kind("a", 40, 60), Kind("b", 40, 60, at=0.3), Kind("c", 40, 60, at=0.6)]),
    "srtf": ("srtf", "1s", [Kind("long", 40, 150, expect=True), Kind("short", 40, 30, at=0.5, expect=True), Kind("middle", 40, 60, at=1.0, expect=True)]),
    "pack": ("pack", "1s", beside(3, 14, 60, idle=0.02, loops=400)),
    "fair": ("fair", "1s", beside(3, 40, 100)),
}


def world(policy, slice_time):
    return s.World("truth", memory=MEMORY * s.MIB, softgpu={"profile": "rtx5080", "scale": SCALE, "context_overhead": 0},
                   settings={"scheduler.policy": policy, "scheduler.slice": slice_time, "scheduler.slice_min_switches": 1,
                             "memory.reserve_percent": 0})


def ask(program, steps):
    program.stdin.write(f"{steps}\n")
    program.stdin.flush()


def answered(program):
    s.check(program.stdout.readline() == "answered\n", "the program answers", program.label)


def work(program, kind, began, ends):
    """In a thread: gives the program its work when it is time, and notes when it is done."""
    time.sleep(max(began + kind.at - time.monotonic(), 0))
    ask(program, kind.steps)
    answered(program)
    ends[kind.name] = time.monotonic() - began - kind.at


def live(policy, slice_time, kinds):
    """Seconds from each program's work to its end, and the bytes that it owns."""
    with world(policy, slice_time) as w:
        w.start_daemon()
        programs = [w.start(k.words(), "cuda", name=k.name, options=k.options(), stdin=subprocess.PIPE) for k in kinds]
        for program in programs:
            ask(program, 1)
            answered(program)
        owned = {row["name"]: sum(d["need_bytes"] for d in row["devices"]) for row in w.status()["programs"]}
        began, ends = time.monotonic(), {}
        threads = [threading.Thread(target=work, args=(p, k, began, ends)) for p, k in zip(programs, kinds)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for program in programs:
            w.end(program)
        return [ends[k.name] for k in kinds], [owned[k.name] for k in kinds]


def simulated(policy, slice_time, kinds, owned, step_of):
    sections = {"device": {"memory": f"{MEMORY}M", "reserve_percent": 0, "unit": "1M"} | LINK,
                "scheduler": {"slice": slice_time, "slice_min_switches": 1}}
    for i, kind in enumerate(kinds):
        launch = step_of[kind.key] - kind.idle
        sections[f"program {kind.name}"] = {
            "arrives": f"{i}s", "memory": owned[i], "written_percent": round(CACHE * 100), "iteration": f"{launch * 1e3:.3f}ms",
            "pause": f"{kind.idle * 1e3:.1f}ms", "burst": f"0s {launch * 1e3:.3f}ms",
            "burst ": f"{(LOAD - i + kind.at - launch) * 1e3:.3f}ms {(launch * (kind.steps + 0.5)) * 1e3:.3f}ms"} | (
                {"expect": f"{(kind.steps + 1) * STEP:.2f}s"} if kind.expect else {})
    run = simulate(sections, [policy])[policy]
    return [p["ended_ms"] / 1e3 - LOAD - k.at for p, k in zip(run["programs"], kinds)]


def main():
    conditions(f"software GPU, rtx5080 at 1/{SCALE}, {MEMORY} MiB; {len(SCENARIOS)} scenarios, steps of about {STEP * 1e3:.0f} ms")
    chosen = sys.argv[1:] or list(SCENARIOS)
    step_of, errors = {}, {}
    with Disturbance() as quiet:
        for name in chosen:
            for kind in SCENARIOS[name][2]:
                if kind.key not in step_of:
                    alone = Kind("alone", kind.mib, 60, idle=kind.idle, loops=kind.loops)
                    step_of[kind.key] = min(live("mlfq", "1s", [alone])[0][0] for _ in range(3)) / alone.steps
        for name in chosen:
            policy, slice_time, kinds = SCENARIOS[name]
            real, owned = live(policy, slice_time, kinds)
            model = simulated(policy, slice_time, kinds, owned, step_of)
            errors[name] = abs(statistics.mean(model) / statistics.mean(real) - 1)
            print(f"{name}: live {' '.join(f'{x:.2f}' for x in real)} s, simulated {' '.join(f'{x:.2f}' for x in model)} s; "
                  f"a step {step_of[kinds[0].key] * 1e3:.1f} ms", flush=True)
    for name, error in errors.items():
        figure(f"sim-truth.{name}", error, "share", valid=quiet.is_quiet)
    figure("sim-truth.worst_error", max(errors.values()), "share", goal=0.1, valid=quiet.is_quiet)


main()
