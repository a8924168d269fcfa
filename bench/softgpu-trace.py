#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to know which pages each launch touched: processor time with a trace, as a multiple of that without one."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
from figures import Disturbance, conditions, figure

PROGRAM = os.path.join(os.environ["SLUICE_BUILD"], "bench", "bench-softgpu-trace")
ROUNDS = 3


def run(trace=None):
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "SLUICE_SOCKET") and not k.startswith("SLUICE_SOFTGPU")}
    if trace:
        environment["SLUICE_SOFTGPU_TRACE"] = trace
    out = subprocess.run([PROGRAM], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: float(seconds) for name, seconds in (line.split() for line in out.splitlines())}


conditions("softgpu-trace: software GPU without a profile, 32 MiB; a kernel that writes all of it in order, and one that comes to another page with "
           f"every access; with and without SLUICE_SOFTGPU_TRACE in turns, {ROUNDS} times, the best of 7 launches each")
with Disturbance() as quiet, tempfile.TemporaryDirectory() as folder:
    plain, traced = [], []
    for i in range(ROUNDS):
        plain.append(run())
        traced.append(run(os.path.join(folder, f"trace-{i}")))
for name in plain[0]:
    without, with_trace = (min(r[name] for r in runs) for runs in (plain, traced))
    figure(f"softgpu-trace.{name}_ratio", with_trace / without, "ratio", bound=1, goal=2, valid=quiet.is_quiet,
           ms=round(with_trace * 1e3, 2), plain_ms=round(without * 1e3, 2))
