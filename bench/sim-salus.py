#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Salus's workloads in virtual time: 100 training jobs on one device of 16 GB, policy by policy.

A job is one of the published workloads (data/salus-training.csv: memory at its peak, time of an iteration). Durations follow the
published quantiles, log-linear between them, with a longest job of 200,000 s, which is not published; they are scaled to a mean of
3.0 minutes. Jobs arrive a second apart, much faster than they are served. Ten seeds.

The published order is not known. In the first part the jobs of each seed are put in an order in which FIFO takes as long on average
as published (170.6 min; the sum of all jobs is 300 min); in the second part the order is random. The bound of a seed is the mean
completion of preemptive shortest-remaining-time-first on a device that switches in no time. The jobs keep the device busy by
themselves, so that running side by side gains nothing here.
"""

import csv
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test" / "lib"))
from figures import conditions, figure

SLUICE = pathlib.Path(os.environ["SLUICE_BUILD"]) / "src/cli/sluice"
SEEDS = range(1, 11)
JOBS = 100
MEAN = 180.0  # seconds
QUANTILES = [(0, 121), (0.25, 860), (0.5, 2226), (0.75, 8215), (0.9, 76079), (1, 200000)]
PUBLISHED = {"fifo": 170.6, "srtf": 53.4, "pack": 145.5, "fair": 96.6}  # minutes, mean completion
POLICIES = ["fifo", "fair"]
SCENARIO = "[device]\nmemory = 16276M\nlink_in = 11G\nlink_out = 11G\nunit = 1G\n"


def workloads():
    with open(HERE / "data/salus-training.csv") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(r["workload"], float(r["peak_mib"]), float(r["iteration_ms"] or 100)) for r in rows]


def duration(share):
    for (a, x), (b, y) in zip(QUANTILES, QUANTILES[1:]):
        if share <= b:
            return math.exp(math.log(x) + (math.log(y) - math.log(x)) * (share - a) / (b - a))
    raise ValueError(share)


def draw(seed):
    """Jobs as (workload, MiB, seconds of an iteration, iterations), their service time at the mean."""
    rand, table = random.Random(seed), workloads()
    lengths = [duration(rand.random()) for _ in range(JOBS)]
    scale = MEAN * JOBS / sum(lengths)
    jobs = []
    for length in lengths:
        name, mib, ms = rand.choice(table)
        jobs.append((name, mib, ms / 1e3, max(1, round(length * scale / (ms / 1e3)))))
    return jobs


def service(job):
    return job[2] * job[3]


def fifo_mean(jobs):
    total = done = 0
    for job in jobs:
        done += service(job)
        total += done
    return total / len(jobs) / 60


def published_order(jobs, seed):
    """Swaps pairs until FIFO takes as long as published, less what the arrivals' spread takes off."""
    rand, jobs, goal = random.Random(seed), list(jobs), PUBLISHED["fifo"] + JOBS / 2 / 60
    for _ in range(200000):
        mean = fifo_mean(jobs)
        if abs(mean - goal) < 0.2:
            return jobs
        i, j = sorted(rand.sample(range(len(jobs)), 2))
        if (service(jobs[i]) < service(jobs[j])) == (mean < goal):
            jobs[i], jobs[j] = jobs[j], jobs[i]
    raise RuntimeError("no order with the published mean")


def bound(jobs):
    """Mean completion of preemptive shortest remaining time first without switches, in minutes."""
    left, now, total, arrivals = [], 0.0, 0.0, list(enumerate(jobs))
    while left or arrivals:
        if not left:
            now = max(now, arrivals[0][0])
        while arrivals and arrivals[0][0] <= now:
            at, job = arrivals.pop(0)
            left.append([service(job), at])
        left.sort()
        span = left[0][0] if not arrivals else min(left[0][0], arrivals[0][0] - now)
        now += span
        left[0][0] -= span
        if left[0][0] <= 1e-9:
            total += now - left.pop(0)[1]
    return total / len(jobs) / 60


def simulate(jobs, policies):
    with tempfile.TemporaryDirectory() as folder:
        table, scenario = pathlib.Path(folder) / "jobs.csv", pathlib.Path(folder) / "device.scenario"
        scenario.write_text(SCENARIO)
        lines = [f"{n},{at}s,{mib:.1f}M,{s * 1e3:.3f}ms,{k}" for at, (n, mib, s, k) in enumerate(jobs)]
        table.write_text("name,arrives,memory,iteration,iterations\n" + "\n".join(lines) + "\n")
        out = subprocess.run([SLUICE, "sim", "--json", "--policy", ",".join(policies), "--jobs", table, scenario], check=True, capture_output=True)
        return {run["policy"]: run for run in json.loads(out.stdout)}


def minutes(run, key):
    return run[key] / 60e3


def median(values):
    return statistics.median(values)


def main():
    conditions(f"{JOBS} jobs, mean service {MEAN / 60:.1f} min, seeds {SEEDS[0]} to {SEEDS[-1]}; virtual time")
    ordered, shuffled, seconds = [], [], []
    for seed in SEEDS:
        jobs = draw(seed)
        random.Random(seed + 1000).shuffle(jobs)
        began = time.monotonic()
        shuffled.append((simulate(jobs, POLICIES), bound(jobs)))
        seconds.append((time.monotonic() - began) / len(POLICIES))
        jobs = published_order(jobs, seed)
        ordered.append((simulate(jobs, POLICIES), bound(jobs)))
    for policy in POLICIES:
        runs = [r[policy] for r, _ in ordered]
        for key in ("completion", "completion_p95", "queueing", "makespan"):
            published = {"published": PUBLISHED[policy]} if key == "completion" else {}
            figure(f"sim-salus.{policy}_{key}", median([minutes(r, key + "_ms") for r in runs]), "min", **published)
    for policy in POLICIES[1:]:
        ratios = [minutes(r["fifo"], "completion_ms") / minutes(r[policy], "completion_ms") for r, _ in shuffled]
        figure(f"sim-salus.{policy}_over_fifo", median(ratios), "x", published=PUBLISHED["fifo"] / PUBLISHED[policy])
    figure("sim-salus.seconds", median(seconds), "s", goal=1.0)


main()
