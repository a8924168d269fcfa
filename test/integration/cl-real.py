#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cl-real.py LAYER PROGRAM: a real program from Debian, unmodified: plain, with everything evicted between two calls,
alone on a small device, and two of it side by side on a device smaller than what they need together. Its results are
those of the plain driver each time.

PROGRAM is one of the names in PROGRAMS below; each says what is compared.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

HERE = pathlib.Path(__file__).resolve().parent
LAYER, NAME = os.path.abspath(sys.argv[1]), sys.argv[2]
PYTHON = "/usr/bin/python3"
PATIENCE = 1800 # s; drivers build some of these programs' kernels for minutes


def need(words, *modules):
    if not shutil.which(str(words[0])):
        raise s.Skip(f"{words[0]} is not installed")
    for module in modules:
        if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode:
            raise s.Skip(f"Python's {module} is not installed")


class Ffmpeg:
    """Two filters on a small film; images in and out, no host access. Compared: the film's checksum."""
    memory = 640 * 1024
    words = ["ffmpeg", "-v", "error", "-nostdin", "-init_hw_device", "opencl=gpu:0.0", "-filter_hw_device", "gpu",
             "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=1", "-vf",
             "format=yuv420p,hwupload,unsharp_opencl=lx=7:ly=7:la=1.5,avgblur_opencl=sizeX=3,hwdownload,format=yuv420p",
             "-f", "framemd5", "-"]

    def results(self, out):
        return re.findall(r"^\d+,.*$", out, re.MULTILINE)


class Opencv:
    """Filters on UMat, with a pool of buffers. Compared: every checksum."""
    memory = 24 * s.MIB
    words = [PYTHON, HERE / "cl-opencv.py"]
    modules = ["cv2"]

    def environment(self, is_small):
        return {"OPENCV_OPENCL_DEVICE": ":GPU:" if is_small else ":CPU:"}

    def results(self, out):
        return re.findall(r"^OpenCL True$|^\w.* [0-9a-f]{16}$", out, re.MULTILINE)


class Clfft:
    """A transform that checks itself. Compared: what it complains of, and how it ends."""
    memory = 20 * s.MIB
    words = ["clFFT-client", "-x", "1024", "-y", "1024", "-p", "10"]

    def results(self, out):
        return ["ran" if "Execution wall time" in out else out] + re.findall(r"(?i).*(?:fail|error).*", out)


class Silx:
    """Its own tests. Compared: the outcome of each."""
    memory = 192 * s.MIB
    words = [PYTHON, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--pyargs", "silx.opencl"]
    modules = ["silx", "pytest", "pyopencl"]

    def results(self, out):
        return sorted(set(re.findall(r"^(?:PASSED|FAILED|ERROR) \S+", out, re.MULTILINE)))


class Hashcat:
    """Searches a password by its MD5 sum. Compared: what it finds."""
    memory = 3 << 30 # it refuses devices that report less
    words = ["hashcat", "-m", "0", "-a", "3", "--potfile-disable", "--session", "sluice", "-D", "1,2", "--force",
             "--quiet", "5d41402abc4b2a76b9719d911017c592", "?l?l?l?l?l"]

    def results(self, out):
        return re.findall(r"^[0-9a-f]{32}:\w+$", out, re.MULTILINE)


PROGRAMS = {c.__name__.lower(): c() for c in (Ffmpeg, Opencv, Clfft, Silx, Hashcat)}


def environment(program, is_small):
    more = getattr(program, "environment", lambda is_small: {})(is_small)
    return {"POCL_MEMORY_LIMIT": 4} | more


def run(w, program, api, **more):
    return w.finish(w.start(program.words, api, **more), seconds=PATIENCE)


def equal(program, what, out, plain):
    results = program.results(out)
    differ = sorted(set(results) ^ set(plain), key=str)[:20]
    s.check(results == plain, f"{what} its results are the plain driver's", *differ, out[-1000:])


def the_results_are_the_plain_drivers():
    program = PROGRAMS[NAME]
    need(program.words, *getattr(program, "modules", []))
    with s.World(NAME, memory=program.memory,
                 settings={"memory.checksum_moves": "on", "scheduler.slice": "50ms"}) as w:
        home = {"HOME": str(w.folder), "XDG_CACHE_HOME": str(s.BUILD / "pocl-cache")}
        env = environment(program, False) | home
        small = environment(program, True) | home
        plain = program.results(run(w, program, None, sluice=False, env=env))
        s.check(plain, "there is something to compare", plain)
        with tempfile.NamedTemporaryFile("r") as log:
            torture = {"OPENCL_LAYERS": LAYER, "SLUICE_TORTURE": "1", "SLUICE_LOG": log.name}
            equal(program, "tortured", run(w, program, None, sluice=False, env=env | torture), plain)
            s.check("mode launch, opencl" in log.read(), "the layer is attached")
        w.start_daemon()
        equal(program, "alone", run(w, program, "opencl", name="alone", env=small), plain)
        programs = [w.start(program.words, "opencl", name=f"p{i}", env=small) for i in range(2)]
        for p in programs:
            equal(program, "beside another", w.finish(p, seconds=PATIENCE), plain)
        moved = sum(m["in_bytes"] + m["out_bytes"] for m in w.history()["moves"])
        s.note(f"{len(plain)} results are equal; {moved / s.MIB:.1f} MiB moved")


del sys.argv[1:]
s.main(the_results_are_the_plain_drivers)
