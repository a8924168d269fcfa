#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nixie's case studies in virtual time: completions next to an endless generation, and three batch jobs.

A device of 32 GB whose bus carries 20.7 GB/s in each direction, as measured there. Completions: a model of 25 GB answers a request of
30 tokens of 10 ms every 1, 3 or 6 s, next to an endless generation of 29 GB at 30 ms a token; a tenth of each model's memory changes
in a turn (the rest is weights). The sizes follow from the published models; the lengths of answer and token are not published. Three
batch jobs of 25, 27 and 20 GB compute for 300 s: the part of the time in which the device computes, beside the published share of
ideal throughput. Under fifo the generation never gives up its turn, and nobody is answered.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "lib"))
from figures import conditions, figure
from simulation import simulate

DEVICE = {"memory": "31.3G", "link_in": 20_700_000_000, "link_out": 20_700_000_000, "reserve_percent": 0}
REQUESTS = 100
PUBLISHED = {1: 1.8, 3: 1.4, 6: 1.4}
POLICIES = {"mlfq": ("mlfq", "4s"), "desktop": ("desktop", "4s"), "rr_4s": ("rr", "4s"), "rr_30s": ("rr", "30s"), "fifo": ("fifo", "4s")}


def completions(policy, slice_time, interval):
    sections = {
        "device": DEVICE,
        "scheduler": {"slice": slice_time, "slice_min_switches": 1},
        "run": {"until": f"{60 + 40 * interval * REQUESTS}s"},
        "program generation": {"memory": "27G", "written_percent": 10, "iteration": "30ms", "iterations": 0},
        "program completion": {"arrives": "60s", "memory": "23.3G", "written_percent": 10, "iteration": "10ms", "iterations": 30,
                               "requests": REQUESTS, "every": f"{interval}s"},
    }
    return simulate(sections, [policy])[policy]


def main():
    conditions(f"{REQUESTS} completions every 1, 3 and 6 s next to an endless generation; virtual time")
    for name, (policy, slice_time) in POLICIES.items():
        for interval in (1, 3, 6):
            run = completions(policy, slice_time, interval)
            generation = run["programs"][0]
            more = {"published": PUBLISHED[interval]} if name == "mlfq" else {"published": 4.5} if name == "rr_4s" else {}
            answered = run["n_requests"] == REQUESTS
            figure(f"sim-nixie.{name}_every_{interval}s", run["request_ms"] / 1e3 if answered else None, "s", valid=answered,
                   p99=round(run["request_p99_ms"] / 1e3, 2), background=round(generation["device_ms"] / run["end_ms"], 3), **more)
    sections = {"device": DEVICE, "scheduler": {"slice": "4s"}, "run": {"until": "300s"}}
    for name, size in (("chat", "23.3G"), ("vision", "25G"), ("image", "18.6G")):
        sections[f"program {name}"] = {"memory": size, "written_percent": 10, "iteration": "50ms", "iterations": 0}
    for policy in ("mlfq", "rr", "fair"):
        run = simulate(sections, [policy])[policy]
        busy = sum(p["device_ms"] for p in run["programs"]) / 300e3
        figure(f"sim-nixie.batch_share_{policy}", busy, "share", published=0.85)


main()
