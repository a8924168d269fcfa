#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The output of nvcc for our kernels, in several of its modes, is understood to the last
instruction.

Without nvcc nothing is tested. SLUICE_LONG=1 adds modes and the kernels behind CUB.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ.get("SLUICE_SOURCE", "."), "test", "lib"))
from sluice import Skip, check, main, note  # noqa: E402

SOURCE = os.path.join(os.environ.get("SLUICE_SOURCE", "."), "test", "kernels")
DECODE = os.path.join(os.environ["SLUICE_BUILD"], "test", "integration", "ptx-decode")
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
MODES = {
    "plain": ["-arch=compute_75"],
    "fast": ["-arch=compute_75", "-use_fast_math"],
}
MORE_MODES = {
    "debug": ["-arch=compute_75", "-G"],
    "parts": ["-arch=compute_75", "-rdc=true"],
    "lines": ["-arch=compute_75", "-lineinfo", "--default-stream", "per-thread"],
    "ampere": ["-arch=compute_80"],
    "ampere-fast": ["-arch=compute_80", "-use_fast_math"],
}


def decode(name, modes):
    if not NVCC:
        raise Skip("there is no nvcc")
    if "SLUICE_LONG" in os.environ:
        modes = {**modes, **MORE_MODES}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for mode, options in modes.items():
            path = os.path.join(folder, f"{name}-{mode}.ptx")
            made = subprocess.run([NVCC, "-ptx", *options, "-o", path, os.path.join(SOURCE, name + ".cu")],
                                  capture_output=True, text=True, check=False)
            check(made.returncode == 0, f"nvcc compiles {name} with {options}", made.stderr)
            files.append(path)
        done = subprocess.run([DECODE, *files], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            note(line.replace(folder + "/", ""))
        check(done.returncode == 0, f"every form of {name} is known", done.stdout)


def kernels_with_a_feature_each():
    decode("features", MODES)


def algorithms_of_cub():
    if "SLUICE_LONG" not in os.environ:
        raise Skip("SLUICE_LONG is not set")
    decode("algorithms", {})


main(kernels_with_a_feature_each, algorithms_of_cub)
