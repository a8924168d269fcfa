#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon killed and started again under running programs: how long until all of them have joined again."""

import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

N, TIMES = 4, 5

conditions(f"restart: {N} programs of 24 MiB on a software GPU of 64 MiB (profile none); sluiced killed with SIGKILL {TIMES} times")
with Disturbance() as quiet, s.World("bench-restart", memory=64 * s.MIB, settings={"scheduler.slice": "100ms"}) as w:
    w.start_daemon()
    programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", 24, "--buffers", 4, "--rounds", 60, "--seed", i], "cuda", name=f"p{i}")
                for i in range(N)]
    s.wait_until("all have joined", lambda: len(w.status()["programs"]) == N)
    pauses = []
    for _ in range(TIMES):
        alive = sum(p.poll() is None for p in programs)
        w.kill_daemon()
        w.start_daemon()
        began = time.monotonic()
        s.wait_until("they are back", lambda: sum(p["connection"] == "joined" for p in w.status()["programs"]) >=
                     min(alive, sum(p.poll() is None for p in programs)))
        pauses.append((time.monotonic() - began) * 1e3)
    for p in programs:
        w.finish(p)
print("all programs ended right; pauses in ms: " + ", ".join(f"{p:.0f}" for p in pauses))
figure("restart.rejoin_ms", statistics.median(pauses), "ms", valid=quiet.is_quiet, worst=round(max(pauses), 1))
