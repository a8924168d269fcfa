# SPDX-License-Identifier: Apache-2.0
"""The OpenCL programs that people have, from Debian, unmodified: how each is started, what of its output is a result,
and on which device it is alone too large or beside another one.

A driver's builds of kernels take most of the time of most of them. They are kept in one folder of the build for all
runs; programs that keep builds of their own find them there too.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess

import sluice as s

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
PYTHON = "/usr/bin/python3"


class Program:
    """One that needs nothing special; the others say what differs.

    memory: of the small device, in bytes
    outsider_mib: so much of it is held by somebody whom the daemon does not know
    settings: of the daemon, beside the usual ones
    modules: of Python, which it needs
    """
    outsider_mib = 0
    settings = {}
    modules = []

    def __init__(self, name, words=None):
        self.name = name
        self.words = words or self.words

    def prepare(self, folder):
        """Makes the files that it wants to find."""

    def commands(self, folder):
        """What is started; folder: its own, for what it writes."""
        return self.words

    def environment(self, is_small):
        return {}

    def missing(self):
        """What is not installed, or None."""
        if not shutil.which(str(self.words[0])):
            return f"{self.words[0]} is not installed"
        for module in self.modules:
            if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode:
                return f"Python's {module} is not installed"
        return None

    def all_environment(self, folder, is_small):
        """Everything that a run needs in its environment; folder: becomes its home."""
        home = {"HOME": folder, "XDG_CACHE_HOME": s.BUILD / "pocl-cache", "POCL_MEMORY_LIMIT": 4}
        return home | self.environment(is_small)


class Ffmpeg(Program):
    """Two filters on a small film; images in and out, no host access. Results: the checksum of each picture."""
    memory = 640 * 1024
    words = ["ffmpeg", "-v", "error", "-nostdin", "-init_hw_device", "opencl=gpu:0.0", "-filter_hw_device", "gpu",
             "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=1", "-vf",
             "format=yuv420p,hwupload,unsharp_opencl=lx=7:ly=7:la=1.5,avgblur_opencl=sizeX=3,hwdownload,format=yuv420p",
             "-f", "framemd5", "-"]

    def results(self, out):
        return re.findall(r"^\d+,.*$", out, re.MULTILINE)


class Opencv(Program):
    """Filters on UMat, with a pool of buffers. Results: every checksum."""
    memory = 24 * s.MIB
    words = [PYTHON, INTEGRATION / "cl-opencv.py"]
    modules = ["cv2"]

    def environment(self, is_small):
        return {"OPENCV_OPENCL_DEVICE": ":GPU:" if is_small else ":CPU:"}

    def results(self, out):
        return re.findall(r"^OpenCL True$|^\w.* [0-9a-f]{16}$", out, re.MULTILINE)


class Pyopencl(Program):
    """Arrays, a sort, a scan. Results: all that it prints."""
    memory = 24 * s.MIB
    words = [PYTHON, INTEGRATION / "cl-pyopencl.py"]
    modules = ["pyopencl"]

    def results(self, out):
        return out.splitlines()


class Clfft(Program):
    """A transform that checks itself. Results: what it complains of, and how it ends."""
    memory = 20 * s.MIB
    words = ["clFFT-client", "-x", "1024", "-y", "1024", "-p", "10"]

    def results(self, out):
        return ["ran" if "Execution wall time" in out else out] + re.findall(r"(?i).*(?:fail|error).*", out)


class Clblast(Program):
    """A routine in all precisions and layouts, compared with the CPU's. Results: what passed and failed in each."""
    memory = 256 * 1024

    def results(self, out):
        text = re.sub(r"\x1b\[[0-9;]*m", "", out)
        return re.findall(r"\d+ passed / \d+ skipped / \d+ failed|\d+ test\(s\) \w+", text)


class Silx(Program):
    """Its own tests. Results: the outcome of each."""
    memory = 64 * s.MIB
    modules = ["silx", "pytest", "pyopencl"]
    words = [PYTHON, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--pyargs", "silx.opencl"]

    def results(self, out):
        return sorted(set(re.findall(r"^(?:PASSED|FAILED|ERROR) \S+", out, re.MULTILINE)))


class Hashcat(Program):
    """Searches a password by its hash. Results: what it finds.

    It refuses devices that report less than 3 GiB, and needs 70 MiB. So most of the device is held back.
    """
    memory = 3 << 30
    outsider_mib = 210
    settings = {"memory.reserve_percent": 90}

    def __init__(self, name, mode, loops, target, mask):
        super().__init__(name, ["hashcat", "-m", mode, "-a", "3", "-n", "64", "-u", loops, "--potfile-disable", "--session", name,
                                "-D", "1,2", "--force", "--quiet", target, mask])

    def results(self, out):
        return re.findall(r"^[0-9a-zA-Z$./]{32,}:\w+$", out, re.MULTILINE)


PROGRAMS = {p.name: p for p in (
    Ffmpeg("ffmpeg"), Opencv("opencv"), Pyopencl("pyopencl"), Clfft("clfft"), Silx("silx"),
    *(Clblast(name, [f"clblast_test_{name}"]) for name in ("xaxpy", "xdot", "xgemv", "xgemm")),
    Hashcat("hashcat", "0", "26", "5d41402abc4b2a76b9719d911017c592", "?l?l?l?l?l"),
    Hashcat("hashcat-slow", "500", "250", "$1$sluice$off3emE0uFBh3PndqucLA/", "?l?l"),
)}
