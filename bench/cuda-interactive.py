#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interactive beside endless: how long a completion takes beside a program that never stops computing, on the software GPU.

Both are shaped like a language model of 8.5 GB on a card of 16 GB, at 1/256. The talker does 8 steps 1, 3 or 6 s after its
answer before, from a line on its standard input to the line of its answer; the other one does steps for ever. Default settings
but for hash_clean. The bound of an answer is the bytes that were not present when its turn began over the bus, the longest launch
that may be in flight, and the time of an answer without the other program.

By default few answers at each interval, and the worst of them stands for the 99th percentile; SLUICE_LONG=1 takes a hundred.
"""

import math
import os
import select
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

LONG = os.environ.get("SLUICE_LONG") == "1"
N_ANSWERS = {1: 100, 3: 100, 6: 100} if LONG else {1: 8, 3: 4, 6: 3}
SCALE = 256
MEMORY = int(16e9) // SCALE >> 16 << 16
WEIGHTS_KIB = int(8.0e9) // SCALE // 1024
CACHE_KIB = int(0.5e9) // SCALE // 1024
SIZE = (WEIGHTS_KIB + CACHE_KIB) * 1024
CONTEXT = int(0.45e9) // SCALE
IN_BYTES_S = 45600e6 / SCALE  # of the profile, one direction alone
STEP_MS = 12.7
STEPS = 8  # of an answer
SETTINGS = {"memory.hash_clean": "always"}


def read_line(program, seconds=60):
    s.check(select.select([program.stdout], [], [], seconds)[0], f"{program.label} answers")
    return program.stdout.readline().strip()


def start(w, name, *more):
    words = [s.CLIENTS / "cuda-llm", "--weights", WEIGHTS_KIB, "--cache", CACHE_KIB, "--layers", 32, "--us", int(STEP_MS * 1e3), *more]
    return w.start(words, "cuda", name=name, stdin=subprocess.PIPE, bufsize=0, text=False)


def answer(talker):
    """How long one took, in ms."""
    began = time.monotonic()
    talker.stdin.write(b"\n")
    s.check(read_line(talker) == b"answered", "the talker answers")
    return (time.monotonic() - began) * 1e3


def missing_bytes(w):
    """What the talker lacked when its last turn began."""
    turn = [t for t in w.history()["turns"] if t["name"] == "talker"][-1]
    return max(0, SIZE - turn["present_bytes"])


def measure(w, talker, interval, own_ms):
    """The times of the answers, and each over its bound."""
    took, ratios = [], []
    for _ in range(N_ANSWERS[interval]):
        time.sleep(interval)
        took.append(answer(talker))
        ratios.append(took[-1] / (missing_bytes(w) / IN_BYTES_S * 1e3 + STEP_MS + own_ms))
    return took, ratios


def main():
    conditions(f"cuda-interactive: software GPU, profile rtx5080 at 1/{SCALE} ({MEMORY / 1e6:.1f} MB), contexts of {CONTEXT >> 10} KiB; two programs of "
               f"{SIZE >> 10} KiB; answers of {STEPS} steps of {STEP_MS} ms, {N_ANSWERS} of them by interval; mlfq, default reserve, hash_clean = always")
    with Disturbance() as quiet, s.World("bench-interactive", memory=MEMORY, settings=SETTINGS,
                                         softgpu={"profile": "rtx5080", "scale": SCALE, "context_overhead": CONTEXT}) as w:
        w.start_daemon()
        talker = start(w, "talker", "--answers", "--steps", STEPS)
        own_ms = statistics.median(answer(talker) for _ in range(7))
        batch = start(w, "batch", "--endless")
        # as it is found in life: it has computed for longer than the allotment when somebody comes along
        s.wait_until("the endless one has sunk", lambda: (w.program("batch") or {"level": 0})["level"] > 0, seconds=120)
        found = {interval: measure(w, talker, interval, own_ms) for interval in N_ANSWERS}
        for program in (talker, batch):
            program.stdin.close()
            program.stdin = None
            w.finish(program)
    worst = 0
    for interval, (took, ratios) in found.items():
        p99 = sorted(ratios)[math.ceil(0.99 * len(ratios)) - 1]
        worst = max(worst, p99)
        print(f"every {interval} s: median {statistics.median(took):.0f} ms, worst {max(took):.0f} ms of {len(took)}; over its bound {p99:.2f}; "
              f"alone {own_ms:.0f} ms")
    figure("cuda-interactive.p99_over_bound", worst, "ratio", bound=1.0, goal=1.2, valid=quiet.is_quiet, own_ms=round(own_ms, 1),
           answers=sum(N_ANSWERS.values()), **{f"every_{i}s_ms": round(max(took), 1) for i, (took, _) in found.items()})


main()
