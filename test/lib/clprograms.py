# SPDX-License-Identifier: Apache-2.0
"""The OpenCL programs that people have, from Debian or PyPI, unmodified: how each is started, what of its output is a result,
and on which device it is alone too large or beside another one.

A driver's builds of kernels take most of the time of most of them. They are kept in one folder of the build for all
runs; programs that keep builds of their own find them there too.
"""

import array
import bz2
import hashlib
import json
import math
import pathlib
import re
import shutil
import struct
import subprocess

import pypi
import sluice as s

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
PYTHON = "/usr/bin/python3"


class Program:
    """One that needs nothing special; the others say what differs.

    memory: of the small device, in bytes; less than it needs, unless
    fits_alone: it would not start, or do something else, on a device that is too small for one of it
    is_brief: its processes end before they have told what moved
    wants_gpu: it computes otherwise on a processor, so that also its plain run is on a device that the limiter calls a GPU
    outsider_mib: so much of it is held by somebody whom the daemon does not know
    settings: of the daemon, beside the usual ones
    modules: of Python, which it needs
    neighbour: what runs beside it on the small device; None: it itself once more
    longer: words of its command, and what stands there instead when its time is measured
    more: words that are added then
    more_memory: of the small device then, if it needs more
    """
    fits_alone = False
    is_brief = False
    wants_gpu = False
    outsider_mib = 0
    settings = {}
    modules = []
    neighbour = None
    longer = {}
    more = []
    more_memory = 0

    def __init__(self, name, words=None):
        self.name = name
        self.words = words or self.words

    def prepare(self, folder, env):
        """Makes the files that a run wants to find in its folder."""

    def commands(self, folder):
        return self.words

    def results(self, out, folder):
        """What is compared; of its output, and of what it wrote into its folder."""
        raise NotImplementedError

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
        """Everything that a run needs in its environment; folder: becomes its user folder."""
        own = {"HOME": folder, "XDG_DATA_HOME": folder / "data", "XDG_CACHE_HOME": s.BUILD / "pocl-cache", "POCL_MEMORY_LIMIT": 4}
        return own | self.environment(is_small)


class Ffmpeg(Program):
    """Two filters on a small film; images in and out, no host access. Results: the checksum of each picture."""
    memory = 320 * 1024
    film = "testsrc2=size=320x240:rate=25:duration="
    words = ["ffmpeg", "-v", "error", "-nostdin", "-init_hw_device", "opencl=gpu:0.0", "-filter_hw_device", "gpu",
             "-f", "lavfi", "-i", film + "1", "-vf",
             "format=yuv420p,hwupload,unsharp_opencl=lx=7:ly=7:la=1.5,avgblur_opencl=sizeX=3,hwdownload,format=yuv420p",
             "-f", "framemd5", "-"]
    longer = {film + "1": film + "10"}

    def results(self, out, folder):
        return re.findall(r"^\d+,.*$", out, re.MULTILINE)


class Opencv(Program):
    """Filters on UMat, with a pool of buffers. Results: every checksum."""
    memory = 24 * s.MIB
    words = [PYTHON, INTEGRATION / "cl-opencv.py"]
    more = ["60"]
    modules = ["cv2"]

    def environment(self, is_small):
        return {"OPENCV_OPENCL_DEVICE": ":GPU:" if is_small else ":CPU:"}

    def results(self, out, folder):
        return re.findall(r"^OpenCL True$|^\w.* [0-9a-f]{16}$", out, re.MULTILINE)


class Pyopencl(Program):
    """Arrays, a sort, a scan. Results: all that it prints."""
    memory = 8 * s.MIB
    words = [PYTHON, INTEGRATION / "cl-pyopencl.py"]
    modules = ["pyopencl"]

    def results(self, out, folder):
        return out.splitlines()


class Openmm(Program):
    """Molecular dynamics: many small kernels in a loop, in small buffers. Results: the energies, positions and velocities of each part."""
    memory = 16 * 1024
    words = [PYTHON, INTEGRATION / "cl-openmm.py"]
    more = ["10000"]
    modules = ["openmm"]
    wants_gpu = True

    def results(self, out, folder):
        return re.findall(r"^part .*$", out, re.MULTILINE)


class Piglit(Program):
    """Tests of the API and of what drivers once did wrong, each a process of its own, children of the one that is started. Results: the outcome of each,
    and of its parts.

    Chosen are those that make objects and use them; one of them needs more than 2 MiB.
    """
    memory = 2 * s.MIB
    is_brief = True
    words = ["piglit", "run", "quick_cl", "out", "-t", "^custom", "-t", "^api@clenqueue", "-t", "^api@clcreate(buffer|image)", "-t", "^api@clget(image|memobject)info",
             "-t", "^api@clretain_releasememobject"]

    def results(self, out, folder):
        found = next(p for p in (folder / "out").iterdir() if p.name.startswith("results.json"))
        text = bz2.decompress(found.read_bytes()) if found.suffix == ".bz2" else found.read_bytes()
        tests = json.loads(text)["tests"]
        return sorted((name, part, result) for name, test in tests.items()
                      for part, result in [("", test["result"]), *test.get("subtests", {}).items()])


class Clfft(Program):
    """A transform that checks itself. Results: what it complains of, and how it ends."""
    memory = 12 * s.MIB
    words = ["clFFT-client", "-x", "1024", "-y", "1024", "-p", "10"]
    longer = {"10": "200"}

    def results(self, out, folder):
        return ["ran" if "Execution wall time" in out else out] + re.findall(r"(?i).*(?:fail|error).*", out)


class Clblast(Program):
    """A routine in all precisions and layouts, compared with the CPU's. Results: what passed and failed in each."""
    more = ["-full_test"]

    def __init__(self, name, kib, full_kib=0):
        super().__init__(name, [f"clblast_test_{name}"])
        self.memory, self.more_memory = kib * 1024, full_kib * 1024

    def results(self, out, folder):
        text = re.sub(r"\x1b\[[0-9;]*m", "", out)
        return re.findall(r"\d+ passed / \d+ skipped / \d+ failed|\d+ test\(s\) \w+", text)


class Silx(Program):
    """Its own tests, of images, host pointers, sub-buffers, scans and reductions. Results: the outcome of each.

    Left out are those whose kernels are built for minutes and are of the same kind (sparse), those of arithmetic, and one
    that wants the network. It looks at the size of the device before it allocates 155 MiB, so a part is held back.
    """
    memory = 192 * s.MIB
    fits_alone = True
    settings = {"memory.reserve_percent": 40}
    modules = ["silx", "pytest", "pyopencl"]
    words = [PYTHON, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--pyargs", "silx.opencl.codec.test.test_byte_offset",
             *(f"silx.opencl.test.test_{name}" for name in (
                 "addition", "array_utils", "backprojection", "convolution", "image", "kahan", "linalg", "medfilt", "stats"))]

    def results(self, out, folder):
        return sorted(set(re.findall(r"^(?:PASSED|FAILED|ERROR) \S+", out, re.MULTILINE)))


class Reikna(Program):
    """Its own tests of reductions, scans, transpositions and transformations, on arrays of up to 11 MiB. Results: the outcome of each.

    Left out are those of speed, and those with arrays that are larger than the device.
    """
    memory = 23 * s.MIB
    wants_gpu = True
    packages = ["reikna==0.9.0", "pyopencl==2024.3", "numpy==2.2.6", "pytest==8.4.2"]
    words = [pypi.folder_of("reikna") / "bin/python", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider",
             "-k", "not performance and not summation and not nested_same_shape"]
    tests = ["algorithms/test_reduce.py", "algorithms/test_scan.py", "algorithms/test_transpose.py", "core/test_transformation.py"]

    def missing(self):
        try:
            pypi.interpreter(self.name, self.packages)
            pypi.source(self.name, self.packages[0])
        except s.Skip as reason:
            return str(reason)
        return None

    def commands(self, folder):
        source = pypi.source(self.name, self.packages[0])
        return [*self.words, *(source / ("test/test_" + test) for test in self.tests)]

    def results(self, out, folder):
        return sorted(set(re.findall(r"^(PASSED|FAILED|ERROR) \S*?(test_\w+\.py.*)$", out, re.MULTILINE)))


class Hashcat(Program):
    """Searches a password by its hash. Results: what it finds.

    It refuses devices that report less than 3 GiB, needs 70 MiB, and names most of them in each command. So most of the
    device is held back, and the rest, 97 MiB, is too small for it beside another one.
    """
    memory = 3 << 30
    fits_alone = True
    neighbour = [s.CLIENTS / "cl-fill", "--mib", "80", "--buffers", "20", "--endless"]
    outsider_mib = 210
    settings = {"memory.reserve_percent": 90}

    def __init__(self, name, mode, candidates, loops, target, mask):
        super().__init__(name, ["hashcat", "-m", mode, "-a", "3", "-n", candidates, "-u", loops, "-T", "1", "--potfile-disable",
                                "--session", name, "-D", "1,2", "--force", "--quiet", target, mask])

    def results(self, out, folder):
        return re.findall(r"^[0-9a-zA-Z$./]{32,}:\w+$", out, re.MULTILINE)


class Darktable(Program):
    """Develops a picture with modules that have kernels. Results: which module ran where, and the picture.

    It passes over processors that play a device, and over PoCL, unless its own settings say otherwise; so it is started
    once to write them. PoCL does not understand the quotes in its include path, and is told the path.
    """
    memory = 600 * s.MIB
    fits_alone = True
    neighbour = [s.CLIENTS / "cl-fill", "--mib", "560", "--buffers", "20", "--endless"]
    words = ["darktable-cli"]
    size = 640, 480
    # name, version and parameters of each module, as darktable stores them
    steps = [("exposure", 6, struct.pack("<iffffi", 0, 0.0, 0.5, 50.0, -4.0, 0)), ("sharpen", 1, struct.pack("<fff", 2.0, 0.8, 0.5)),
             ("velvia", 2, struct.pack("<ff", 40, 1)), ("bilat", 3, struct.pack("<iffff", 0, 0.2, 20, 0.5, 0.5)),
             ("vibrance", 2, struct.pack("<f", 50)), ("highpass", 1, struct.pack("<ff", 30, 30))]
    settings_text = None

    def picture(self):
        width, height = self.size
        values = array.array("f")
        for y in range(height):
            for x in range(width):
                away = math.hypot(x - width / 3, y - height / 2) / height
                values.extend((0.5 + 0.4 * math.sin(40 * away), x / width, ((x ^ y) & 63) / 63))
        return b"PF\n%d %d\n-1.0\n" % self.size + values.tobytes()

    def development(self):
        steps = "".join(f'<rdf:li darktable:num="{i}" darktable:operation="{name}" darktable:enabled="1" darktable:modversion="{version}" '
                        f'darktable:params="{values.hex()}" darktable:multi_name="" darktable:multi_priority="0"/>'
                        for i, (name, version, values) in enumerate(self.steps))
        return ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
                '<rdf:Description rdf:about="" xmlns:darktable="http://darktable.sf.net/" darktable:xmp_version="5" '
                'darktable:raw_params="0" darktable:auto_presets_applied="1" darktable:iop_order_version="2" '
                f'darktable:history_end="{len(self.steps)}"><darktable:history><rdf:Seq>{steps}</rdf:Seq></darktable:history>'
                "</rdf:Description></rdf:RDF></x:xmpmeta>")

    def prepare(self, folder, env):
        (folder / "in.pfm").write_bytes(self.picture())
        (folder / "in.xmp").write_text(self.development())
        (folder / "config").mkdir()
        settings = folder / "config/darktablerc"
        if not self.settings_text:
            subprocess.run(self.commands(folder), env=env, cwd=folder, check=True, capture_output=True)
            (folder / "out.ppm").unlink()
            text = settings.read_text()
            # the eighth number of a device says that it is not to be used
            self.settings_text = re.sub(r"^(cldevice_v4_\w+=(?:\S+ ){7})1", r"\g<1>0", text, flags=re.MULTILINE)
            s.check(self.settings_text != text, "darktable found a device", text)
        settings.write_text(self.settings_text)

    def commands(self, folder):
        return ["darktable-cli", "in.pfm", "in.xmp", "out.ppm", "--apply-custom-presets", "0", "--core", "--configdir", "config",
                "--cachedir", str(s.BUILD / "pocl-cache" / "darktable"), "--library", ":memory:", "--conf", "opencl=TRUE",
                "-d", "opencl", "-d", "perf"]

    def environment(self, is_small):
        return {"POCL_EXTRA_BUILD_FLAGS": "-I/usr/share/darktable/kernels"}

    def results(self, out, folder):
        where = re.findall(r"processed `(.*?)' on (\w+)", out)
        s.check([w for _, w in where].count("GPU") > len(self.steps), "its modules run on the device", *where, out[-4000:])
        return where + [hashlib.sha256((folder / "out.ppm").read_bytes()).hexdigest()]


PROGRAMS = {p.name: p for p in (
    Ffmpeg("ffmpeg"), Opencv("opencv"), Pyopencl("pyopencl"), Clfft("clfft"), Openmm("openmm"), Piglit("piglit-small"), Silx("silx"), Reikna("reikna"),
    Clblast("xaxpy", 1024), Clblast("xdot", 512), Clblast("xgemv", 2048, 4608),
    Hashcat("hashcat", "0", "256", "26", "5d41402abc4b2a76b9719d911017c592", "?l?l?l?l?l"),
    Hashcat("hashcat-slow", "400", "32", "256", "$P$984478476IagS59wHZvyQMArzfx58u.", "hashca?l"),
    Darktable("darktable"),
)}
