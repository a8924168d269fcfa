#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disk: programs that exceed the device and the budget of host memory go on with bytes in files.

Their contents come back right, the files have no name at any time, and nothing is left of them when
a program is killed. A disk without room refuses an allocation, and never what was promised before.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "20ms", "scheduler.slice_min_switches": 1, "memory.reserve_percent": 0,
            "memory.home": 4 * s.MIB}


class DiskWorld(s.World):
    """A world whose programs have their files in a folder of its own, on disk."""

    def __init__(self, name, settings=None, **more):
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="sluice-disk-", dir="/var/tmp"))
        super().__init__(name, settings=SETTINGS | {"memory.disk_folder": self.disk} | (settings or {}), **more)

    def close(self, failed=False):
        try:
            s.check(not list(self.disk.iterdir()), "no file has a name", list(self.disk.iterdir()))
            super().close(failed)
        finally:
            self.disk.rmdir()

    def start_fill(self, api, name, mib, **more):
        words = [s.CLIENTS / ("cuda-fill" if api == "cuda" else "cl-fill"), "--mib", mib, "--buffers", 8, "--rounds", 2,
                 "--endless", "--verify-each", "--seed", sum(name.encode())]
        return self.start(words, api, name=name, stdin=subprocess.PIPE, **more)

    def on_disk(self):
        return {p["name"]: p["disk_bytes"] for p in self.status()["programs"] if p["disk_bytes"]}


def three_programs(api, world):
    with world as w:
        w.start_daemon()
        programs = [w.start_fill(api, f"p{i}", 6) for i in range(3)]
        switches = s.Switches(w)
        seen = {}

        def enough():
            for program in programs:
                if program.poll() is not None:
                    w.finish(program)
                    raise s.Failure(f"{program.label} ended before it was told to")
            seen.update(w.on_disk())
            return switches.look() >= 30 and len(seen) >= 2

        s.wait_until("there were 30 switches, and bytes of two programs on disk", enough, look=lambda: w.sluice("status").stdout + w.log()[-3000:])
        for program in programs:
            w.end(program)
        s.note(f"{switches.look()} switches, on disk at some time: {seen}")


def three_cuda_programs_that_exceed_device_and_memory_end_right():
    three_programs("cuda", DiskWorld("cuda-disk", memory=8 * s.MIB, softgpu={"scale": 256}))


def three_opencl_programs_that_exceed_device_and_memory_end_right():
    three_programs("opencl", DiskWorld("cl-disk", memory=8 * s.MIB))


s.main(three_cuda_programs_that_exceed_device_and_memory_end_right,
       three_opencl_programs_that_exceed_device_and_memory_end_right)
