#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark that is no Python program, and says of its figures whether the machine was its own meanwhile.

Words are printed as they come, figures at the end: a figure that was valid stays so only on a quiet machine, unless it is a
count, which nobody beside it can change.
"""

import json
import subprocess
import sys

from figures import Disturbance

COUNTS = ("instructions", "calls", "bytes")

figures = []
with Disturbance() as quiet:
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True) as program:
        for line in program.stdout:
            if line.startswith("{"):
                figures.append(json.loads(line))
            else:
                print(line, end="", flush=True)
for figure in figures:
    figure["valid"] = figure["valid"] and (quiet.is_quiet or figure["unit"] in COUNTS)
    print(json.dumps(figure), flush=True)
sys.exit(program.returncode)
