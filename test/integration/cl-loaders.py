#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenCL loaders: which ones load the layer, with and without files that name layers (*.lay), and
what doctor reports about them.

Debian 12 has one loader, ocl-icd 2.3.1, which reads no such files. Others are tried if
SLUICE_TEST_LOADERS names folders, separated by colons, with a libOpenCL.so.1 and the libraries it
needs. Khronos' own comes with two wheels of PyPI, intel-opencl-rt and intel-cmplr-lib-rt (240 MB),
an ocl-icd with pyopencl's.
"""

import ctypes
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

LAYER = s.BUILD / "src/opencl/libsluice-opencl.so"
STUB = s.CLIENTS / "libstub-icd.so"
FILL = [s.CLIENTS / "cl-fill", "--mib", 6, "--buffers", 6, "--rounds", 10]
INVALID_VALUE, INVALID_PROPERTY = -30, -64


def folder_of(w, name, **files):
    """A folder with a file of each name, whose only line is the text."""
    folder = w.folder / name
    folder.mkdir()
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(f"{text}\n")
    return folder


def doctor(w, **env):
    done = subprocess.run([s.SLUICE, "doctor", "--socket", w.socket], env=w.environment(env), capture_output=True, text=True)
    return done.stdout


def doctor_names_every_platform_and_every_file_that_names_none():
    with s.World("cl-doctor") as w:
        pocl = next(pathlib.Path("/etc/OpenCL/vendors").glob("pocl*.icd"), None)
        if not pocl:
            raise s.Skip("PoCL is not installed")
        drivers = folder_of(w, "vendors", pocl_icd=pocl.read_text().strip(), stub_icd=STUB, broken_icd="libnone.so.7", other_txt="libnone.so.8")
        layers = folder_of(w, "layers", broken_lay="/none/layer.so")
        said = doctor(w, OCL_ICD_VENDORS=drivers, OPENCL_LAYER_PATH=layers)
        for words in ("Stub Platform: stub device, 1.00 GiB", "Portable Computing Language: ", f"{drivers}/broken.icd: libnone.so.7: cannot open",
                      f"{layers}/broken.lay: /none/layer.so: cannot open", "the loader takes our layer in"):
            s.check(words in said, f"doctor says: {words}", said)
        s.check("libnone.so.8" not in said, "what is no driver's file is nobody's business", said)
        (drivers / "broken.icd").unlink()
        said = doctor(w, OCL_ICD_VENDORS=drivers)
        s.check("cannot open" not in said, "a folder without fault is not complained of", said)
        said = doctor(w, OCL_ICD_VENDORS=folder_of(w, "stub", stub_icd=STUB))
        s.check("Stub Platform" in said and "Portable" not in said, "and only what is there is named", said)


def every_loader_finds_the_entry_points_that_it_looks_for():
    """The old entry point, and the one with properties, of which we know none; both expect the old
    version."""
    for library in (LAYER, s.LIMITER):
        layer = ctypes.CDLL(str(library))
        version, n = ctypes.c_uint(), ctypes.c_uint()
        s.check(layer.clGetLayerInfo(0x4240, ctypes.c_size_t(4), ctypes.byref(version), None) == 0 and version.value == 100, "the version is 100", version)
        unknown = (ctypes.c_uint64 * 3)(0x1234, 1, 0)
        for properties, error in ((unknown, INVALID_PROPERTY), (None, INVALID_VALUE), ((ctypes.c_uint64 * 1)(0), INVALID_VALUE)):
            got = layer.clInitLayerWithProperties(0, None, ctypes.byref(n), None, properties)
            s.check(got == error, f"without a table it is refused with {error}", library, got)


def two_programs(w, env):
    """They do not fit together, each has the layer: bytes move, and they end right."""
    programs = [w.start([*FILL, "--endless", "--seed", i], "opencl", name=f"p{i}", env=env, stdin=subprocess.PIPE) for i in range(2)]
    s.wait_until("both run, and bytes of both move", lambda: sum(p["moved_in_bytes"] > 0 for p in w.status()["programs"]) == 2,
                 look=lambda: w.sluice("status").stdout)
    for program in programs:
        s.check("right" in w.end(program), "it ends right")
    joins = w.history()["joins"]
    s.check(sorted(j["name"] for j in joins) == ["p0", "p1"], "each has joined once", joins)


def with_loader(folder):
    env = {"LD_LIBRARY_PATH": folder, "PYOPENCL_HOME": "/nowhere"} if folder else {}
    with s.World("cl-loader", memory=8 * s.MIB, settings={"scheduler.slice": "20ms", "memory.checksum_moves": "on"}) as w:
        w.start_daemon()
        files = {"OPENCL_LAYER_PATH": folder_of(w, "layers", sluice_lay=LAYER)}
        said = doctor(w, **env)
        loader = next((line for line in said.splitlines() if "loader: " in line), "")
        s.check("libOpenCL.so.1: " in loader and "the loader takes our layer in" in said, "doctor knows the loader", said)
        s.check(not folder or str(folder) in loader, "and it is this one", said)
        two_programs(w, env)
        # who was not started with `sluice run` has no daemon's address, and is let alone, also where the layer is in it
        log = w.folder / "log"
        w.run(FILL, None, sluice=False, env=env | files | {"SLUICE_LOG": log})
        reads = "it reads OPENCL_LAYERS and the files in" in said
        told = log.read_text() if log.exists() else ""
        s.check(("without a daemon" in told) == reads, "doctor knows whether the loader reads files that name layers", said, told)
        s.check(not w.status()["programs"], "who was not started with sluice run does not join")
        # named twice, in the file and in the variable, it is taken once
        s.check("right" in w.run(FILL, None, name="both", env=env | files), "it ends right with both")
        joins = [j["name"] for j in w.history()["joins"]]
        s.check(joins.count("both") == 1, "it has joined once", joins)
        s.note(f"{loader[16:].strip()}; files that name layers: {'read' if reads else 'not read'}")


def debians_loader_takes_the_layer_in():
    with_loader(None)


def so_do_the_loaders_that_are_named():
    folders = [f for f in os.environ.get("SLUICE_TEST_LOADERS", "").split(":") if f]
    if not folders:
        raise s.Skip("SLUICE_TEST_LOADERS names none")
    for folder in folders:
        with_loader(pathlib.Path(folder).resolve())


s.main(doctor_names_every_platform_and_every_file_that_names_none, every_loader_finds_the_entry_points_that_it_looks_for,
       debians_loader_takes_the_layer_in, so_do_the_loaders_that_are_named)
