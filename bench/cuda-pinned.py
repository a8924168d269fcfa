#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pinned memory is worth: the time of a switch against the pinned budget, from none to the working set.

Two programs on a device that holds one and a bit take turns. A switch takes from the grant of a turn to the program's first
launch in it. Without pinned memory the driver copies from pageable memory, at the profile's rate for it; with two chunks a
direction copies are staged; with more, host copies are pinned and copied in place. The smallest budget whose switch takes at
most 5 % more than the best is the figure. The processor's part of staging does not scale with the device, so it is not seen
here; `./dev bench mover` measures it. Managed memory needs pinned memory for all that leaves the device, here the working set
of both programs.
"""

import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

MEMORY = 64 * s.MIB
EACH = 56 * s.MIB
STAGING = 64 * 1024  # two chunks of 4 MiB a direction on the full card
WORKING_SET = 2 * EACH
TURNS = int(os.environ.get("SLUICE_TURNS", 8))
PERCENTS = tuple(map(int, os.environ.get("SLUICE_PERCENTS", "0,1,10,25,50,75,100").split(",")))
SETTINGS = {"scheduler.policy": "rr", "scheduler.slice": "500ms", "scheduler.slice_min_switches": 1, "memory.reserve_percent": 0,
            "memory.chunk": "16K", "memory.staging": f"{STAGING // 1024}K"}


def switch_ms(percent):
    """The median of the switches, once all of the budget is pinned."""
    budget = max(WORKING_SET * percent // 100 + (2 * STAGING if percent else 0), 4096)
    with s.World(f"cuda-pinned-{percent}", memory=MEMORY, settings=SETTINGS | {"memory.pinned": f"{budget // 1024}K"},
                 softgpu={"profile": "rtx5080", "scale": 256, "context_overhead": 0}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", EACH // s.MIB, "--buffers", 64, "--seed", i, "--endless", "--rounds", 1], "cuda",
                            name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]
        s.wait_until("both take turns", lambda: len(w.status()["programs"]) == 2 and all(p["turns"] > 3 for p in w.status()["programs"]), seconds=300)
        before = len(w.history()["turns"])
        s.wait_until("there are enough turns", lambda: len(w.history()["turns"]) >= before + TURNS, seconds=300)
        turns = [t for t in w.history()["turns"][before:] if t["ready_ms"]]
        held = sum(p["pinned_held_bytes"] for p in w.status()["programs"])
        for program in programs:
            w.end(program)
        return statistics.median(t["ready_ms"] - t["begin_ms"] for t in turns), held


def main():
    conditions(f"cuda-pinned: software GPU, profile rtx5080 at 1/256 ({MEMORY >> 20} MiB), two programs of {EACH >> 20} MiB; rr, turns of 500 ms, "
               f"{TURNS} turns each; the rate of pageable copies is assumed")
    with Disturbance() as quiet:
        rows = [(percent, *switch_ms(percent)) for percent in PERCENTS]
    best = min(ms for _, ms, _ in rows)
    print("BUDGET   PINNED MIB   SWITCH MS   OF THE BEST")
    for percent, ms, held in rows:
        print(f"{percent:5d}%   {held / s.MIB:10.1f}   {ms:9.1f}   {ms / best:11.2f}")
        figure(f"cuda-pinned.switch_ms_{percent}", float(ms), "ms", valid=quiet.is_quiet, pinned_mib=round(held / s.MIB, 1))
    figure("cuda-pinned.enough", min(percent for percent, ms, _ in rows if ms <= 1.05 * best) / 100, "share of the working set", bound=0.0,
           valid=quiet.is_quiet, managed=1.0)
    figure("cuda-pinned.none_over_best", rows[0][1] / best, "ratio", valid=quiet.is_quiet)


main()
