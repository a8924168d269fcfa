#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MSched's experiment in virtual time: n equal LLM programs of 8.5 GB on a device of 16 GB, tokens a second of all together.

A token takes 12.7 ms and touches all of its program's memory, of which a tenth changes in a turn (weights do not). Turns of 250 ms, in
round robin. A context takes 0.45 GB of the device. The bus carries 63.5 GB/s in all, measured there; because nearly all of that goes
in, it counts as 57.7 GB/s in each direction here. The bound: the next program comes ahead into what the present one does not need, so
that at a switch only 2 S - M bytes are missing (S a program, M the device without contexts).
Real time beside best effort: a program of 5 GB that answers a request of 20 ms every 100 ms, next to endless ones, under PRIORITY and RR.
"""

import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "lib"))
from figures import conditions, figure
from simulation import simulate

GB, TOKEN_S, TURN_S, RATE, SIZE, CONTEXT = 10**9, 0.0127, 0.25, 57.7e9, 8.5e9, 0.45e9
PUBLISHED = [78, 64, 59, 47, 38, 34, 28, 23]
GOALS = {2: 70, 4: 65, 6: 61, 8: 58}
SPAN_S = 60


def scenario(n):
    memory = int(16 * GB - n * CONTEXT)
    sections = {
        "device": {"memory": memory, "link_in": int(RATE), "link_out": int(RATE), "reserve_percent": 0, "unit": "64M"},
        "scheduler": {"slice": f"{TURN_S * 1e3:.0f}ms", "slice_min_switches": 1},
        "run": {"until": f"{SPAN_S}s"},
    }
    for i in range(n):
        sections[f"program llm{i}"] = {"memory": int(SIZE), "written_percent": 10, "iteration": f"{TOKEN_S * 1e3}ms", "iterations": 0}
    return sections


def bound(n):
    missing = max(0, 2 * SIZE - (16 * GB - n * CONTEXT)) if n > 1 else 0
    turn = math.ceil(TURN_S / TOKEN_S) * TOKEN_S  # it ends with the token under way
    return turn / (turn + missing / RATE) / TOKEN_S


def main():
    conditions(f"n programs of 8.5 GB, turns of {TURN_S * 1e3:.0f} ms, {SPAN_S} s; virtual time")
    shares = []
    for n in range(1, 9):
        run = simulate(scenario(n), ["rr"])["rr"]
        tokens = sum(p["iterations"] for p in run["programs"]) / SPAN_S
        shares.append(tokens / bound(n))
        figure(f"sim-msched.tokens_{n}", tokens, "tokens/s", bound=bound(n), goal=GOALS.get(n), published=PUBLISHED[n - 1],
               moved_gb_a_turn=round((run["in_bytes"] + run["out_bytes"]) / GB / max(run["turns"], 1), 2))
    figure("sim-msched.share_of_bound", min(shares), "share", goal=0.95)
    p99 = {}
    for policy in ("rr", "priority"):
        sections = scenario(2)
        sections["program real-time"] = {"arrives": "2s", "memory": 5 * GB, "written_percent": 10, "iteration": "20ms", "iterations": 1,
                                         "requests": 400, "every": "100ms", "priority": "high"}
        run = simulate(sections, [policy])[policy]
        p99[policy] = run["request_p99_ms"]
        figure(f"sim-msched.real_time_p99_{policy}", p99[policy], "ms", mean=round(run["request_ms"], 1),
               best_effort=round(sum(p["iterations"] for p in run["programs"][:2]) / SPAN_S, 1))
    figure("sim-msched.real_time_gain", p99["rr"] / p99["priority"], "x", published=4.06)


main()
