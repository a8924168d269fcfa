#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far predictions from PTX are from the truth, and what they cost, for the test kernels that clang makes."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
from figures import Disturbance, conditions, figure

BUILD = os.environ["SLUICE_BUILD"]
KERNELS = os.path.join(BUILD, "devices", "softgpu", "interp", "kernels.ptx")

conditions("predict: seven launches of kernels of test/kernels/kernels.cl, compared byte by byte with the software GPU's interpreter; "
           "whole_share: extra bytes if whole allocations were predicted; launch_ns: every argument and size differs from the launch before; "
           "times are the best of five rounds, the worst of the kernels")
with Disturbance() as quiet:
    out = subprocess.run([os.path.join(BUILD, "bench", "bench-predict"), KERNELS], check=True, stdout=subprocess.PIPE, text=True).stdout
values = dict(line.split() for line in out.splitlines() if not line.startswith("#"))
figure("predict.missed_bytes", int(values["missed_bytes"]), "bytes", bound=0, goal=0)
figure("predict.extra_share", float(values["extra_share"]), "share", bound=0, goal=0.001, whole_allocations=float(values["whole_share"]))
figure("predict.proven_share", float(values["proven_share"]), "share", bound=1, goal=0.95)
figure("predict.launch_ns", float(values["launch_ns"]), "ns", goal=500, valid=quiet.is_quiet, other_pointers=float(values["pointers_ns"]),
       same_launch=float(values["repeat_ns"]))
figure("predict.load_ms", float(values["load_ms"]), "ms per MB", valid=quiet.is_quiet)
