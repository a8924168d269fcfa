#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A switch between two programs: how much of the bus it uses, and how many bytes it moves.

Two programs on a device that holds one and a bit. For each turn the jobs of the two copy engines
between the grant of the turn and its READY are looked at. The busier engine decides how long a
switch takes; its busy time over the span from the first byte to the last says how much of the bus
was used. The other direction is beside it.
"""

import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

MEMORY = 64 * s.MIB
EACH = 56 * s.MIB
CONTEXT = 0


def switches(world):
    """The switches of a run: for each turn but the first of each program, the copies that led to it."""
    history = world.history()
    origin = world.clock_of(history)
    jobs = [j for j in world.jobs("softgpu0") if j["engine"] in ("in", "out") and j["bytes"]]
    for turn in history["turns"][2:]:
        if not turn["ready_ms"]:
            continue
        begin, ready = (origin + turn[k] / 1e3 for k in ("begin_ms", "ready_ms"))
        mine = [j for j in jobs if j["end"] > begin - 0.002 and j["begin"] < ready + 0.002]
        if len(mine) > 8:
            yield mine


def share(jobs):
    span = max(j["end"] for j in jobs) - min(j["begin"] for j in jobs)
    busy = {e: sum(j["end"] - j["begin"] for j in jobs if j["engine"] == e) for e in ("in", "out")}
    return max(busy.values()) / span, min(busy.values()) / span


def run(buffers):
    with s.World("bench-switch", memory=MEMORY, settings={"scheduler.slice": "300ms"},
                 softgpu={"profile": "rtx5080", "scale": 256, "context_overhead": CONTEXT}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", EACH // s.MIB, "--buffers", buffers, "--rounds", 12, "--seed", i],
                            "cuda", name=f"p{i}") for i in range(2)]
        for p in programs:
            w.finish(p)
        return list(switches(w))


conditions(f"switch: software GPU, profile rtx5080 at 1/256; device {MEMORY // s.MIB} MiB, two programs of {EACH // s.MIB} MiB; units of 128 KiB "
           "(16 granules of 8 KiB); no context overhead; pinned budget of the machine; in brackets the other direction")
with Disturbance() as quiet:
    found = run(buffers=4)
s.check(found, "there were switches to look at")
busiest, other = zip(*(share(jobs) for jobs in found))
shortfall = 2 * EACH - MEMORY
moved_out = statistics.median(sum(j["bytes"] for j in jobs if j["engine"] == "out") for jobs in found)
print(f"{len(found)} switches; busier engine {statistics.median(busiest):.3f} ({statistics.median(other):.3f}) of the span; "
      f"{moved_out / s.MIB:.1f} MiB out a switch, shortfall at least {shortfall / s.MIB:.1f} MiB")
figure("switch.link_share", statistics.median(busiest), "share", bound=1.0, goal=0.95, valid=quiet.is_quiet, n=len(found),
       unit_bytes=131072, other_direction=round(statistics.median(other), 3))
figure("switch.out_bytes", int(moved_out), "bytes", bound=shortfall, valid=True)
