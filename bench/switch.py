#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A switch between two programs: how much of the bus it uses, and how many bytes it moves.

Two programs on a device that holds one and a bit. For each switch the copies are looked at: out of the program whose turn
was closed, into the one that came after it. As many bytes go each way, so the slower direction decides how long a switch takes
at least: link_share is the busy time of its engine over the span from the first byte to the last. both_share is that of both
engines together; where one direction of the profile is faster it has less to do, so its bound is below one. Once with small
units (CUDA: extents of 128 KiB) and once with large ones (OpenCL: whole buffers of a quarter of a program). Turns that changed
while less than half of the shortfall had moved are left out, and counted.
"""

import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

MEMORY = 64 * s.MIB
EACH = 56 * s.MIB
SHORTFALL = 2 * EACH - MEMORY
SETTINGS = {"scheduler.slice": "1s", "memory.reserve_percent": 0}
TURNS = 12


def watch(world, board):
    """The jobs of both copy engines until there were enough turns; the board remembers only the last ones, so it is read often."""
    seen = {}
    s.wait_until("the device is there", (world.folder / "boards" / board).exists)
    end = time.monotonic() + 120
    while sum(bool(t["closing_ms"]) for t in world.history()["turns"]) < TURNS and time.monotonic() < end:
        for job in world.jobs(board):
            if job["engine"] != "compute" and job["bytes"]:
                seen[job["engine"], job["begin"]] = job
        time.sleep(0.25)
    return sorted(seen.values(), key=lambda job: job["begin"])


def switches(history, origin, jobs):
    """For each turn that was closed for another: from its rest on the copies out of it, and into the other one."""
    turns = sorted((t for t in history["turns"] if t["ready_ms"]), key=lambda t: t["begin_ms"])
    for old, new in zip(turns, turns[1:]):
        if not old["closing_ms"] or not new["closing_ms"] or old["pid"] == new["pid"] or new["begin_ms"] < old["closing_ms"]:
            continue
        begin, end = origin + old["end_ms"] / 1e3, origin + new["closing_ms"] / 1e3
        mine = [j for j in jobs if begin < j["end"] and j["begin"] < end and j["pid"] == {"out": old, "in": new}[j["engine"]]["pid"]]
        yield mine


def moved(jobs, engine):
    return sum(j["bytes"] for j in jobs if j["engine"] == engine)


def is_whole(jobs):
    return min(moved(jobs, "in"), moved(jobs, "out")) > SHORTFALL / 2


def shares(jobs):
    """The busy parts of the span, the larger one first."""
    span = max(j["end"] for j in jobs) - min(j["begin"] for j in jobs)
    return sorted((sum(j["end"] - j["begin"] for j in jobs if j["engine"] == e) / span for e in ("in", "out")), reverse=True)


def run(api, board, words, world):
    with s.World("bench-switch", memory=MEMORY, settings=SETTINGS, **world) as w:
        w.start_daemon()
        programs = [w.start([*words, "--mib", EACH // s.MIB, "--seed", i, "--endless", "--rounds", 1], api, name=f"p{i}",
                            stdin=subprocess.PIPE) for i in range(2)]
        jobs = watch(w, board)
        history = w.history()
        for p in programs:
            w.end(p)
        return list(switches(history, w.clock_of(history), jobs))


def measure(name, api, board, words, world, rates, unit_bytes, goal):
    with Disturbance() as quiet:
        every = run(api, board, words, world)
    found = [jobs for jobs in every if is_whole(jobs)]
    s.check(found, "there were switches to look at")
    busiest, other = (statistics.median(values) for values in zip(*map(shares, found)))
    print(f"{len(found)} switches, {len(every) - len(found)} left out; engines {busiest:.3f} and {other:.3f} of the span; at most "
          f"{max(moved(jobs, 'out') for jobs in found) / s.MIB:.1f} MiB out and {max(moved(jobs, 'in') for jobs in found) / s.MIB:.1f} in, shortfall {SHORTFALL / s.MIB:.1f} MiB")
    figure(f"switch.link_share{name}", busiest, "share", bound=1.0, goal=goal, valid=quiet.is_quiet, n=len(found), excluded=len(every) - len(found),
           unit_bytes=unit_bytes, worst=round(min(shares(jobs)[0] for jobs in found), 3))
    figure(f"switch.both_share{name}", (busiest + other) / 2, "share", bound=(1 + min(rates) / max(rates)) / 2, valid=quiet.is_quiet)
    for engine in ("out", "in"):
        # a count, which nobody beside it changes
        figure(f"switch.{engine}_bytes{name}", max(moved(jobs, engine) for jobs in found), "bytes", bound=SHORTFALL + unit_bytes, goal=SHORTFALL + unit_bytes)


conditions(f"switch: software GPU, profile rtx5080 at 1/256; device {MEMORY // s.MIB} MiB, two programs of {EACH // s.MIB} MiB; units of 128 KiB "
           "(16 granules of 8 KiB); kernels of 896 KiB each; no context overhead, no reserve; pinned: two chunks of 4 MiB a direction")
measure("", "cuda", "softgpu0", [s.CLIENTS / "cuda-fill", "--buffers", 64],
        {"softgpu": {"profile": "rtx5080", "scale": 256, "context_overhead": 0}}, (34700, 28800), 128 * 1024, 0.95)
conditions(f"switch, large units: PoCL, limited to 400 MiB/s each way; device and programs as above, in buffers of {EACH // s.MIB // 4} MiB; "
           "mode LAUNCH: a command waits for its own buffer only, the rest follows behind the commands that name it")
measure(".large", "opencl", "opencl0", [s.CLIENTS / "cl-fill", "--buffers", 4, "--kernels", 8, "--verify-each"],
        {"limiter": {"in": "400M", "out": "400M"}}, (400, 400), EACH // 4, None)
