#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No thrashing: two programs that exceed the device, together, beside one alone.

The same work once alone and twice at the same time. With turns ten times as long as a switch at
least, the two together must reach 90 % of what one alone does in the same time.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

MEMORY = 64 * s.MIB
EACH = 40


def run(api, client, n, rounds, **world):
    with s.World("bench-pair", memory=MEMORY, settings={"scheduler.slice": "2s"}, **world) as w:
        w.start_daemon()
        began = time.monotonic()
        programs = [w.start([s.CLIENTS / client, "--mib", EACH, "--buffers", 8, "--rounds", rounds, "--kernels", 4, "--seed", i + 1],
                            api, name=f"p{i}") for i in range(n)]
        for p in programs:
            w.finish(p, seconds=600)
        took = time.monotonic() - began
        return took, len(w.history()["turns"])


for api, client, rounds, world, words in (
        ("cuda", "cuda-fill", 12, {"softgpu": {"profile": "rtx5080", "scale": 256}}, "software GPU, profile rtx5080 at 1/256"),
        ("opencl", "cl-fill", 150, {"limiter": {"in": "400M", "out": "400M"}}, "PoCL, limited to 400 MiB/s each way")):
    conditions(f"pair ({api}): {words}; device {MEMORY // s.MIB} MiB, programs of {EACH} MiB, {rounds} rounds; slice 2 s, at least 10 switches")
    with Disturbance() as quiet:
        alone, _ = run(api, client, 1, rounds, **world)
        both, turns = run(api, client, 2, rounds, **world)
    print(f"alone {alone:.2f} s, both {both:.2f} s, {turns} turns")
    figure("pair.sum_share" if api == "cuda" else "pair.sum_share.opencl", 2 * alone / both, "share", bound=1.0, goal=0.9,
           valid=quiet.is_quiet, turns=turns)
