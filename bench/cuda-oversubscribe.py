#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Oversubscription: n equal programs shaped like a language model, on a device that holds fewer.

Each step of a program reads all of its weights, appends to a cache and takes 12.7 ms by the device's clock. The figure is the
steps a second of all programs together over those of one alone. The bound follows from the profile: while one program
computes, the next one's bytes can come into memory that the running one does not use, and nothing of the weights must be
written back; so a switch takes the time of the rest on the bus.

Beside it, without Sluice: managed memory as it is, managed memory with advice and a fetch before each step, and programs that
swap themselves, all their memory in and out in turns of the same length.

bytes_over_optimal is what moved over the fewest bytes that can move in this order of turns if as much of each program as fits
is present when its turn begins: with programs larger than half of the device that is the program, once a turn; clean bytes
leave for free. over_demand is the same over what Belady's rule moves if nothing comes ahead, and each switch waits for it.
"""

import os
import statistics
import struct
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
SIZE = (WEIGHTS_KIB + CACHE_KIB) * 1024
CONTEXT = int(0.45e9) // SCALE
IN_BYTES_S = 45600e6 / SCALE  # of the profile, one direction alone
TURN_S = 0.25
SECONDS = int(os.environ.get("SLUICE_SECONDS", 12))
SETTINGS = {"scheduler.policy": "rr", "scheduler.slice": f"{TURN_S * 1e3:.0f}ms", "scheduler.slice_min_switches": 1,
            "memory.reserve_percent": 0, "memory.hash_clean": "always"}
KINDS = {"managed": ["--managed"], "advised": ["--advise"], "swapped": ["--turn", f"{TURN_S * 1e3:.0f}", "--swap"]}


def usable(n):
    return MEMORY - n * CONTEXT


def bound(n):
    missing = max(0, 2 * SIZE - usable(n)) if n * SIZE > usable(n) else 0
    return TURN_S / (TURN_S + missing / IN_BYTES_S)


def totals(world):
    programs = world.status()["programs"]
    return [sum(p[key] for p in programs) for key in ("turns", "moved_in_bytes", "moved_out_bytes")]


def steps(world, n):
    """Of all programs together, as they count them."""
    files = [world.folder / f"steps{i}" for i in range(n)]
    counts = [f.read_bytes() if f.exists() else b"" for f in files]
    return [struct.unpack("=Q", c)[0] if len(c) == 8 else 0 for c in counts]


def run(n, kind=None):
    """Steps a second of n programs together; with Sluice also turns, bytes in and out, and the turns themselves."""
    with s.World(f"oversubscribe-{n}", memory=MEMORY, settings=SETTINGS,
                 softgpu={"profile": "rtx5080", "scale": SCALE, "context_overhead": CONTEXT}) as w:
        words = [s.CLIENTS / "cuda-llm", "--weights", WEIGHTS_KIB, "--cache", CACHE_KIB, "--layers", 32, "--endless", "--steps", 1]
        words += KINDS.get(kind, []) + ([w.folder / "swap"] if kind == "swapped" else [])
        if not kind:
            w.start_daemon()
        programs = [w.start([*words, "--count", w.folder / f"steps{i}"], "cuda", name=f"p{i}", sluice=not kind,
                            stdin=subprocess.PIPE) for i in range(n)]
        s.wait_until("all have run", lambda: min(steps(w, n)) >= (2 if kind else 40), seconds=300)
        began, before, moved = time.monotonic(), sum(steps(w, n)), totals(w) if not kind else []
        time.sleep(SECONDS)
        rate = (sum(steps(w, n)) - before) / (time.monotonic() - began)
        moved = [b - a for a, b in zip(moved, totals(w))] if not kind else []
        turns = w.history()["turns"] if not kind else []
        for program in programs:
            w.end(program)
        return rate, moved, [t for t in turns[-moved[0]:] if t["ready_ms"]] if moved and moved[0] else []


def measure(n, percent):
    with Disturbance() as quiet:
        alone, _, _ = run(1)
        together, (n_turns, came, went), turns = run(n)
        beside = {kind: run(n, kind)[0] / alone for kind in KINDS}
    share = together / alone
    print(f"n = {n}: a turn begins with {statistics.median(t['present_bytes'] for t in turns) / SIZE:.2f} of the program present, of at most "
          f"{min(1, usable(n) / SIZE - 1):.2f}; the rest takes {statistics.median(t['ready_ms'] - t['begin_ms'] for t in turns):.0f} ms, "
          f"{(2 * SIZE - usable(n)) / IN_BYTES_S * 1e3:.0f} ms at best; {n_turns} turns")
    figure(f"cuda-oversubscribe.share_{percent}", share, "share", bound=round(bound(n), 3), goal=round(0.95 * bound(n), 3), valid=quiet.is_quiet,
           of_bound=round(share / bound(n), 3), written_back=round(went / came, 3), in_mib=came >> 20, out_mib=went >> 20,
           **{kind: round(value, 4) for kind, value in beside.items()})
    return (came + went) / (n_turns * SIZE), (came + went) / (n_turns * (n * SIZE - usable(n)) / (n - 1)), quiet.is_quiet


def main():
    conditions(f"cuda-oversubscribe: software GPU, profile rtx5080 at 1/{SCALE} ({MEMORY / 1e6:.1f} MB), contexts of {CONTEXT >> 10} KiB; programs "
               f"of {WEIGHTS_KIB + CACHE_KIB} KiB in 32 layers; rr, turns of {TURN_S * 1e3:.0f} ms, no reserve, hash_clean = always, {SECONDS} s each")
    found = [measure(n, percent) for n, percent in ((3, 150), (4, 200), (6, 300))]
    figure("cuda-oversubscribe.bytes_over_optimal", max(f[0] for f in found), "ratio", bound=1.0, goal=1.05, valid=all(f[2] for f in found),
           over_demand=round(max(f[1] for f in found), 3))


main()
