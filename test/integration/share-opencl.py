#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenCL programs that together do not fit on one device."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s


def two_programs_that_do_not_fit_together_both_end_right():
    with s.World("cl-two", memory=32 * s.MIB, settings={"scheduler.slice": "50ms", "memory.checksum_moves": "on"}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cl-fill", "--mib", 24, "--buffers", 6, "--rounds", 20, "--seed", i],
                            "opencl", name=f"p{i}") for i in range(2)]
        for p in programs:
            w.finish(p)


s.main(two_programs_that_do_not_fit_together_both_end_right)
