#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No thrashing: two programs that exceed the device, together, beside one alone.

Endless programs launch as fast as they can, two that exceed the device together. In each round they first take turns, then
the second one is parked and the first one is alone, for as long: launches a second of both, counted over whole turns, over
those of one alone a moment later, so that a machine that becomes faster or slower spoils neither side. The figure is the
median of the rounds; the run is valid if the rounds agree. Where the device is software most of the kernels' time is by its
clock, not by what the machine's processors can do at the moment. With turns ten times as long as a switch the two together
must reach 90 % of one alone, and with longer ones more. What a switch costs at best follows from the bus: nothing of it can be
hidden, because what leaves can only leave when its program rests; so with ten times the bound is 10 ÷ 11. open_share is the part of the time in which one of them had its gate open.
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
EACH = 40 * s.MIB
SHORTFALL = 2 * EACH - MEMORY
ROUNDS = 5
TURNS = 2  # of each program, in a round


def launches(world):
    return sum(p["launches"] for p in world.status()["programs"])


def watch(what, condition, seconds=120):
    """As wait_until, but seldom enough not to disturb what is measured."""
    end = time.monotonic() + seconds
    while not condition():
        s.check(time.monotonic() < end, f"waited {seconds} s in vain until {what}")
        time.sleep(0.2)


def count(world, until):
    """Launches a second from now until the condition holds."""
    began, before = time.monotonic(), launches(world)
    watch("enough was counted", until)
    return (launches(world) - before) / (time.monotonic() - began)


def turns_of(world, name):
    return [t for t in world.history()["turns"] if t["name"] == name and t["ready_ms"]]


def run(api, words, world, turn):
    # turns of one length: mlfq would make them longer and the share better
    settings = {"scheduler.policy": "rr", "scheduler.slice": f"{turn * 1e3:.0f}ms", "scheduler.slice_min_switches": 1, "memory.reserve_percent": 0}
    with s.World("bench-pair", memory=MEMORY, settings=settings, **world) as w:
        w.start_daemon()

        def start(name):
            p = w.start([*words, "--mib", EACH // s.MIB, "--endless", "--rounds", 1], api, name=name, stdin=subprocess.PIPE)
            watch(f"{name} launches", lambda: (w.program(name) or {}).get("launches", 0) > 200)
            return p

        def together():
            """From the beginning of a turn of p0 to the beginning of another one."""
            begin = len(turns_of(w, "p0"))
            watch("a turn begins", lambda: len(turns_of(w, "p0")) > begin)
            return count(w, lambda: len(turns_of(w, "p0")) > begin + TURNS)

        def alone():
            w.sluice("park", "p1")
            watch("p1 is parked and p0 runs", lambda: w.program("p1")["parked"] and w.program("p0")["state"] == "running")
            end = time.monotonic() + 2 * TURNS * turn
            rate = count(w, lambda: w.status() and time.monotonic() > end)
            w.sluice("unpark", "p1")
            return rate

        programs = [start("p0"), start("p1")]
        rounds, turns = [], []
        for _ in range(ROUNDS):
            before = len(w.history()["turns"])
            rate = together()
            turns.append([t for t in w.history()["turns"][before:] if t["ready_ms"] and t["closing_ms"]])
            rounds.append((rate, alone()))
        for program in programs:
            w.end(program)
        return rounds, turns


def lost(turns):
    """What the switches took: from CLOSE to REST, and from REST until the other one ran; medians in ms."""
    drains = [t["end_ms"] - t["closing_ms"] for t in sum(turns, []) if t["end_ms"]]
    fills = []
    for stretch in turns:
        for turn in stretch:
            later = [t["ready_ms"] for t in stretch if t["name"] != turn["name"] and t["ready_ms"] >= turn["end_ms"]]
            fills += [min(later) - turn["end_ms"]] if later and turn["end_ms"] else []
    return statistics.median(drains or [0]), statistics.median(fills or [0])


def open_share(turns):
    """The part of the time, from the first turn's beginning to the last one's end in each round, in which somebody ran."""
    span = sum(max(t["closing_ms"] for t in stretch) - min(t["ready_ms"] for t in stretch) for stretch in turns)
    return sum(t["closing_ms"] - t["ready_ms"] for stretch in turns for t in stretch) / span


CUDA = ("cuda", [s.CLIENTS / "cuda-fill", "--buffers", 64, "--streams", 1, "--pause", 4000],
        {"softgpu": {"profile": "rtx5080", "scale": 256, "context_overhead": 0}}, 28800e6 / 256,
        "software GPU, profile rtx5080 at 1/256, no context overhead; units of 128 KiB, two chunks of 4 MiB pinned a direction; for each of "
        "64 allocations a kernel that changes it and one of 4 ms by the device's clock")
# its contents are read after each round: nothing else bounds what this program queues
OPENCL = ("opencl", [s.CLIENTS / "cl-fill", "--buffers", 16, "--kernels", 8, "--verify-each"], {"limiter": {"in": "400M", "out": "400M"}},
          400 * s.MIB, "PoCL, limited to 400 MiB/s each way; units of 2.5 MiB, nothing pinned; 8 kernels for each of 16 buffers in a round, "
          "then all is read")


def measure(name, times, api, program, world, out, words):
    switch = SHORTFALL / out
    turn = times * switch
    conditions(f"pair ({api}): {words}; device {MEMORY // s.MIB} MiB, programs of {EACH // s.MIB} MiB, no reserve; a switch moves "
               f"{SHORTFALL // s.MIB} MiB out, {switch * 1e3:.0f} ms at best; policy rr, turns of {turn:.2f} s, {times} switches")
    with Disturbance() as quiet:
        rounds, turns = run(api, program, world, turn)
    shares = [both / one for both, one in rounds]
    drain, fill = lost(turns)
    print("rounds, both ÷ one: " + ", ".join(f"{both:.0f} ÷ {one:.0f}" for both, one in rounds) + f" launches a second; a switch: {drain:.0f} ms "
          f"to come to rest, {fill:.0f} ms to move")
    figure(name, statistics.median(shares), "share", bound=times / (times + 1), goal=0.9, valid=quiet.is_quiet and max(shares) < 1.1 * min(shares),
           worst=round(min(shares), 3), drain_ms=drain, move_ms=fill, open_share=round(open_share(turns), 3))


measure("pair.sum_share", 10, *CUDA)
measure("pair.sum_share.longer", 20, *CUDA)
measure("pair.sum_share.opencl", 10, *OPENCL)
