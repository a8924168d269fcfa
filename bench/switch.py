#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A switch between two programs: how much of the bus it uses, and how many bytes it moves.

Two programs on a device that holds one and a bit. For each switch the jobs of the two copy engines
are looked at, from the CLOSE of the one to the READY of the other. The busier engine decides how
long a switch takes; its busy time over the span from the first byte to the last says how much of
the bus was used. The other direction is beside it.
"""

import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

MEMORY = 64 * s.MIB
EACH = 56 * s.MIB
SHORTFALL = 2 * EACH - MEMORY


def watch(world, programs):
    """The jobs of both copy engines while the programs run; the board remembers only the last ones, so it is read often."""
    seen = {}
    s.wait_until("the device is there", (world.folder / "boards/softgpu0").exists)
    while any(p.poll() is None for p in programs):
        for job in world.jobs("softgpu0"):
            if job["engine"] != "compute" and job["bytes"]:
                seen[job["engine"], job["begin"]] = job
        time.sleep(0.25)
    return sorted(seen.values(), key=lambda job: job["begin"])


def switches(history, origin, jobs):
    """For each turn that was closed for another: the copies from that moment until the other ran."""
    turns = history["turns"]
    for turn in turns:
        if not turn["closing_ms"]:
            continue
        later = [t for t in turns if t["name"] != turn["name"] and t["ready_ms"] >= turn["closing_ms"] and t["begin_ms"] >= turn["closing_ms"]]
        if not later:
            continue
        begin, ready = origin + turn["closing_ms"] / 1e3, origin + later[0]["ready_ms"] / 1e3
        mine = [j for j in jobs if j["end"] > begin and j["begin"] < ready + 0.002]
        if all(sum(j["bytes"] for j in mine if j["engine"] == e) > SHORTFALL / 2 for e in ("in", "out")):
            yield mine


def share(jobs):
    span = max(j["end"] for j in jobs) - min(j["begin"] for j in jobs)
    busy = {e: sum(j["end"] - j["begin"] for j in jobs if j["engine"] == e) for e in ("in", "out")}
    return max(busy.values()) / span, min(busy.values()) / span


def run(buffers):
    with s.World("bench-switch", memory=MEMORY, settings={"scheduler.slice": "300ms"},
                 softgpu={"profile": "rtx5080", "scale": 256, "context_overhead": 0}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", EACH // s.MIB, "--buffers", buffers, "--rounds", 12, "--seed", i],
                            "cuda", name=f"p{i}") for i in range(2)]
        jobs = watch(w, programs)
        for p in programs:
            w.finish(p)
        history = w.history()
        return list(switches(history, w.clock_of(history), jobs))


conditions(f"switch: software GPU, profile rtx5080 at 1/256; device {MEMORY // s.MIB} MiB, two programs of {EACH // s.MIB} MiB; units of 128 KiB "
           "(16 granules of 8 KiB); no context overhead; pinned budget of the machine; in brackets the other direction")
with Disturbance() as quiet:
    found = run(buffers=4)
s.check(found, "there were switches to look at")
busiest, other = zip(*(share(jobs) for jobs in found))
moved_out = statistics.median(sum(j["bytes"] for j in jobs if j["engine"] == "out") for jobs in found)
print(f"{len(found)} switches; busier engine {statistics.median(busiest):.3f} ({statistics.median(other):.3f}) of the span; "
      f"{moved_out / s.MIB:.1f} MiB out a switch, shortfall {SHORTFALL / s.MIB:.1f} MiB")
figure("switch.link_share", statistics.median(busiest), "share", bound=1.0, goal=0.95, valid=quiet.is_quiet, n=len(found),
       unit_bytes=131072, other_direction=round(statistics.median(other), 3))
figure("switch.out_bytes", int(moved_out), "bytes", bound=SHORTFALL, valid=True)
