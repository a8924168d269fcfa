#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One OpenCL context over two devices: its objects go where they are used, to the host when others need the room, and
no byte of them is lost on the way."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SWITCHES = s.scaled("SLUICE_SWITCHES", 300)
SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0}
TWO = {"POCL_DEVICES": "pthread pthread"}


def paths(w, name, *words, **more):
    return w.start([s.CLIENTS / "cl-paths", *words], "opencl", name=name, env=TWO | more.pop("env", {}), **more)


def each_device_smaller_than_the_objects():
    with s.World("several-larger", memory=s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        program = paths(w, "one", "--kib", 128, "--objects", 4, "--rounds", 20)
        w.finish(program)


def beside_others_after_hundreds_of_switches():
    with s.World("several-beside", memory=2 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        seed = s.seed(1)
        programs = [paths(w, f"p{i}", "--kib", 128, "--objects", 3, "--rounds", 1, "--endless", "--seed", seed + i,
                          stdin=subprocess.PIPE) for i in range(2)]
        programs.append(w.start([s.CLIENTS / "cl-fill", "--mib", 1, "--mix", "--rounds", 1, "--endless"], "opencl",
                                name="fill", env=TWO, stdin=subprocess.PIPE))
        switches = s.Switches(w)
        s.wait_until(f"{SWITCHES} switches", lambda: switches.look() >= SWITCHES, seconds=240, look=lambda: w.status())
        for program in programs:
            w.end(program)
        s.note(f"{switches.look()} switches")


s.main(each_device_smaller_than_the_objects, beside_others_after_hundreds_of_switches)
