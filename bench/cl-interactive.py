#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interactive beside endless: how long short jobs take beside a program that never stops computing.

A talker does a short job 1, 3 or 6 s after the one before has ended; beside it a program launches kernels of 1 to 500 ms for
ever; the device does not hold both. Under each policy the mean and the worst of a job's time, from
the request to the last result, and its 99th percentile where there were a hundred jobs, beside the
bound: the bytes that are missing over the bus, the longest launch that may be in flight, and the
job's own time on a device of its own.

By default the shortest interval, the shortest and the longest kernels, and few jobs; SLUICE_LONG=1
measures every interval, every length of a kernel and every policy, and a hundred jobs where they
are closest, which takes twenty minutes. With names on the command line only these policies.
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
MEMORY, BATCH, TALKER = 64, 48, 40  # MiB
BUS = 400  # MiB/s each way
LAUNCHES, LAUNCH_MS = 8, 10  # of a short job
QUEUE = 1  # launches of the endless program that are queued at a time
USABLE = MEMORY * 0.97  # less the default reserve
MISSING = BATCH + TALKER - USABLE  # MiB of the talker that must come back
PATIENCE = 30.0 if LONG else 8.0  # s; a job that takes longer is called endless
POLICIES = tuple(policy for policy in ("mlfq", "rr", "fifo") if policy in (sys.argv[1:] or policy))
KERNELS_MS = (1, 10, 100, 500) if LONG else (1, 500)
ENDS_MS = (1, 500)  # kernels between these have few jobs
MANY = 100  # a 99th percentile of fewer would be the worst of them
# by policy: jobs at each interval; what is far apart differs little, and takes long
N_JOBS = {"mlfq": {1: MANY, 3: 20, 6: 12}, "rr": {1: 6, 3: 4, 6: 3}, "fifo": {1: 1}} if LONG else {"mlfq": {1: 12}, "rr": {1: 3}, "fifo": {1: 1}}
N_FEW = {"mlfq": {1: 12, 3: 4, 6: 4}, "rr": {1: 3}, "fifo": {1: 1}}


def read_line(program, seconds):
    """The next line of a program that writes whole lines, or None if none comes in time."""
    if not select.select([program.stdout], [], [], seconds)[0]:
        return None
    return program.stdout.readline().strip()


def start(w, name, words):
    """Both pipes without a buffer of ours in between, so that select() tells the truth."""
    program = w.start([s.CLIENTS / "cl-talk", *words], "opencl", name=name, stdin=subprocess.PIPE, bufsize=0, text=False)
    s.check(read_line(program, 60) == b"ready", f"{name} is ready", w.log()[-2000:])
    return program


def job(talker, seconds=PATIENCE):
    """How long one took in ms, or None."""
    talker.stdin.write(b"job\n")
    answer = read_line(talker, seconds)
    return float(answer) if answer else None


def talk(talker, interval, n):
    """n jobs, each of them the interval after the answer to the one before: by then the other one has the device."""
    took = []
    while len(took) < n and None not in took:
        time.sleep(interval)
        took.append(job(talker))
    return took


def percentile(values, share):
    """The least value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def tell(policy, interval, kernel_ms, took, own_ms, longest_ms, is_quiet):
    transfer_ms = MISSING / BUS * 1e3
    bound = transfer_ms + kernel_ms + own_ms
    # a launch that took much longer than it was made for had to share its processor with somebody
    is_valid = is_quiet and longest_ms <= 1.5 * kernel_ms + 5 and own_ms <= 1.5 * LAUNCHES * LAUNCH_MS
    name = f"cl-interactive.{policy}.every_{interval}s.kernel_{kernel_ms}ms"
    beside = {"jobs": len(took), "transfer_ms": round(transfer_ms, 1), "longest_launch_ms": round(longest_ms, 1), "own_ms": round(own_ms, 1)}
    if None in took:
        print(f"{policy}, every {interval} s, kernels of {kernel_ms} ms: no answer in {PATIENCE:.0f} s")
        figure(f"{name}.worst_ms", None, "ms", bound=bound, valid=is_valid, waited_ms=PATIENCE * 1e3, **beside)
        return
    found = {"mean": statistics.mean(took), "worst": max(took)} | ({"p99": percentile(took, 0.99)} if len(took) >= MANY else {})
    print(f"{policy}, every {interval} s, kernels of {kernel_ms} ms: " + ", ".join(f"{what} {ms:.0f} ms" for what, ms in found.items()) +
          f" of {len(took)}, bound {bound:.0f} ms")
    # the goal is one of the 99th percentile; of few jobs it is the worst that is beside it
    judged = "p99" if "p99" in found else "worst"
    for what, ms in found.items():
        goal = float(f"{1.2 * bound:.4g}") if policy == "mlfq" and what == judged else None
        figure(f"{name}.{what}_ms", ms, "ms", bound=bound, goal=goal, valid=is_valid, **beside)


def measure(kernel_ms):
    with s.World("bench-interactive", memory=MEMORY * s.MIB, limiter={"in": f"{BUS}M", "out": f"{BUS}M"}) as w:
        w.start_daemon()
        talker = start(w, "talker", ["--mib", TALKER, "--buffers", LAUNCHES, "--launches", LAUNCHES, "--ms", LAUNCH_MS])
        own_ms = statistics.median(job(talker) for _ in range(7))
        batch = start(w, "batch", ["--mib", BATCH, "--buffers", 8, "--ms", kernel_ms, "--all", "--endless", "--queue", QUEUE])
        # as it is found in life: it has computed for longer than the allotment when somebody comes along
        s.wait_until("the endless one has sunk", lambda: w.program("batch")["level"] > 0)
        for policy in POLICIES:
            s.check(w.sluice("set", "policy", policy).returncode == 0, "the policy can be set")
            for interval, n in (N_JOBS if kernel_ms in ENDS_MS else N_FEW)[policy].items():
                took = talk(talker, interval, n)
                yield policy, interval, took, own_ms
        w.sluice("set", "policy", POLICIES[0])
        if took[-1] is None:
            read_line(talker, PATIENCE)
        batch.stdin.close()
        batch.stdin = None
        words = w.finish(batch).decode().split()
        yield float(words[-2])
        talker.stdin.close()
        talker.stdin = None
        w.finish(talker)


conditions(f"cl-interactive: PoCL limited to {MEMORY} MiB and {BUS} MiB/s each way; talker of {TALKER} MiB, {LAUNCHES} launches of {LAUNCH_MS} ms a job; "
           f"endless program of {BATCH} MiB, all of it named by each launch, {QUEUE} launch queued; {MISSING:.0f} MiB are missing at a switch; default settings; "
           f"p99 only of {MANY} jobs or more; under fifo one job is waited for {PATIENCE:.0f} s")
for kernel_ms in KERNELS_MS:
    # around the whole world: only programs that have ended are counted as ours
    with Disturbance() as quiet:
        *found, longest_ms = measure(kernel_ms)
    for policy, interval, took, own_ms in found:
        tell(policy, interval, kernel_ms, took, own_ms, longest_ms, quiet.is_quiet)
