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

conditions(f"restart: {N} programs of 24 MiB on a software GPU of 64 MiB (profile none: no scale, no context overhead), units of 2 MiB, two chunks "
           f"of 4 MiB pinned a direction, kernels of milliseconds; sluiced killed with SIGKILL {TIMES} times and started again at once. Who had "
           "its turn runs on; the others wait from the loss until they have joined again")
with Disturbance() as quiet, s.World("bench-restart", memory=64 * s.MIB, settings={"scheduler.slice": "100ms"}) as w:
    w.start_daemon()
    programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", 24, "--buffers", 4, "--rounds", 60, "--seed", i], "cuda", name=f"p{i}")
                for i in range(N)]
    s.wait_until("all have joined", lambda: len(w.status()["programs"]) == N)
    starts, pauses = [], []
    for _ in range(TIMES):
        alive = sum(p.poll() is None for p in programs)
        w.kill_daemon()
        began = time.monotonic()
        w.start_daemon()
        starts.append((time.monotonic() - began) * 1e3)
        s.wait_until("they are back", lambda: sum(p["connection"] == "joined" for p in w.status()["programs"]) >=
                     min(alive, sum(p.poll() is None for p in programs)))
        pauses.append((time.monotonic() - began) * 1e3)
    for p in programs:
        w.finish(p)
print("all programs ended right; ms from the loss until all have joined: " + ", ".join(f"{p:.0f}" for p in pauses) +
      "; until the new daemon answers: " + ", ".join(f"{p:.0f}" for p in starts))
# nobody can join before there is a daemon: that is the bound
figure("restart.rejoin_ms", statistics.median(pauses), "ms", bound=statistics.median(starts), valid=quiet.is_quiet, worst=round(max(pauses), 1))
