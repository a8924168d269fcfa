#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Oversubscription: n equal programs shaped like a language model, on a device that holds fewer.

Each step of a program reads all of its weights, appends to a cache and takes 12.7 ms by the device's clock. The figure is
the steps a second of all programs together over those of one alone. The bound follows from the profile: while one program
computes, the next one's bytes can come into memory that the running one does not use, and nothing of the weights must be
written back; so a switch takes the time of the rest on the bus. written_back is what went out over what came in.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

SCALE = 256
MEMORY = int(16e9) // SCALE >> 16 << 16
WEIGHTS_KIB = int(8.0e9) // SCALE // 1024
CACHE_KIB = int(0.5e9) // SCALE // 1024
CONTEXT = int(0.45e9) // SCALE
IN_BYTES_S = 45600e6 / SCALE  # of the profile, one direction alone
TURN_S = 0.25
SECONDS = int(os.environ.get("SLUICE_SECONDS", 12))
SETTINGS = {"scheduler.policy": "rr", "scheduler.slice": f"{TURN_S * 1e3:.0f}ms", "scheduler.slice_min_switches": 1,
            "memory.reserve_percent": 0, "memory.hash_clean": "always"}


def bound(n):
    size = (WEIGHTS_KIB + CACHE_KIB) * 1024
    usable = MEMORY - n * CONTEXT
    missing = max(0, 2 * size - usable) if n * size > usable else 0
    return TURN_S / (TURN_S + missing / IN_BYTES_S)


def totals(world):
    programs = world.status()["programs"]
    return [sum(p[key] for p in programs) for key in ("launches", "moved_in_bytes", "moved_out_bytes")]


def run(n):
    """Launches a second of all, and bytes in and out, while n programs run."""
    with s.World(f"oversubscribe-{n}", memory=MEMORY, settings=SETTINGS,
                 softgpu={"profile": "rtx5080", "scale": SCALE, "context_overhead": CONTEXT}) as w:
        w.start_daemon()
        words = [s.CLIENTS / "cuda-llm", "--weights", WEIGHTS_KIB, "--cache", CACHE_KIB, "--layers", 32, "--endless"]
        programs = [w.start(words, "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(n)]
        s.wait_until("all have run", lambda: len(w.status()["programs"]) == n
                     and all(p["turns"] > 2 or n == 1 and p["launches"] > 300 for p in w.status()["programs"]), seconds=300)
        began, before = time.monotonic(), totals(w)
        time.sleep(SECONDS)
        launches, came, went = (b - a for a, b in zip(before, totals(w)))
        rate = launches / (time.monotonic() - began)
        for program in programs:
            w.end(program)
        return rate, came, went


def main():
    conditions(f"cuda-oversubscribe: software GPU, profile rtx5080 at 1/{SCALE} ({MEMORY >> 20} MiB), contexts of {CONTEXT >> 10} KiB; programs "
               f"of {WEIGHTS_KIB + CACHE_KIB} KiB in 32 layers; rr, turns of {TURN_S * 1e3:.0f} ms, {SECONDS} s each")
    for n, percent in ((3, 150), (4, 200), (6, 300)):
        with Disturbance() as quiet:
            alone, _, _ = run(1)
            together, came, went = run(n)
        share = together / alone
        figure(f"cuda-oversubscribe.share_{percent}", share, "share", bound=round(bound(n), 3), goal=round(0.95 * bound(n), 3),
               valid=quiet.is_quiet, of_bound=round(share / bound(n), 3), written_back=round(went / came, 3) if came else None,
               in_mib=came >> 20, out_mib=went >> 20)


main()
