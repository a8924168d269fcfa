#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One OpenCL context over two devices: its objects go to the device that uses them, to the host
when others need the memory, and no byte is lost on the way.
"""

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


def tormented():
    """Between two calls everything leaves the device of the first; both devices are small enough to
    notice bytes that stay."""
    with s.World("several-torture", memory=512 << 10) as w:
        layers = f"{s.LIMITER}:{s.BUILD / 'src/opencl/libsluice-opencl.so'}"
        for how in ("1", "disk"):
            w.finish(paths(w, how, "--kib", 64, "--objects", 3, "--rounds", 8, sluice=False,
                           env={"OPENCL_LAYERS": layers, "SLUICE_TORTURE": how}))


def right_without_a_daemon():
    with s.World("several-loose", memory=4 * s.MIB) as w:
        log = w.folder / "log"
        layers = f"{s.LIMITER}:{s.BUILD / 'src/opencl/libsluice-opencl.so'}"
        w.finish(paths(w, "loose", "--rounds", 5, sluice=False, env={"OPENCL_LAYERS": layers, "SLUICE_LOG": log}))
        s.check("without a daemon" in log.read_text(), "the layer is attached", log.read_text())


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
            if program.poll() is not None:
                w.finish(program, exits=())  # none of them ends by itself: what it said is shown
        for name in ("p0", "p1"):
            found = s.wait_until(f"bytes of {name} have been on both devices", lambda: (p := w.program(name)) and all(
                d["device_bytes"] + d["ram_bytes"] for d in p["devices"]) and p)
            s.check(len(found["devices"]) == 2 and found["moved_in_bytes"] and found["moved_out_bytes"], "it moved", found)
            s.check({u["reason"] for u in found["unmovable"]} <= {"mapped by the program", "shared virtual memory"},
                    "only what it uses so at this moment is unmovable", found["unmovable"])
        for program in programs:
            w.end(program)
        s.note(f"{switches.look()} switches")


s.main(each_device_smaller_than_the_objects, tormented, right_without_a_daemon,
       beside_others_after_hundreds_of_switches)
