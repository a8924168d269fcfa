# SPDX-License-Identifier: Apache-2.0
"""Python programs from PyPI: each in an environment of its own in the build folder, which is kept for the next time."""

import pathlib
import subprocess
import sys
import tarfile

import sluice as s


def run(name, command):
    """A command that needs the network; where it fails the test is skipped."""
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        text = (ran.stderr or ran.stdout).strip().splitlines() or ["no reason given"]
        raise s.Skip(f"{pathlib.Path(command[0]).name} cannot get {name}: {text[-1]}")


def folder_of(name):
    return s.BUILD / "python" / name


def interpreter(name, packages):
    """The interpreter of an environment that has the packages."""
    folder = folder_of(name)
    done = folder / "complete"
    if not done.exists():
        run(name, [sys.executable, "-m", "venv", "--clear", folder])
        run(name, [folder / "bin/pip", "install", "--quiet", "--retries", "1", "--timeout", "30", *packages])
        done.touch()
    return folder / "bin/python"


def source(name, package):
    """The folder with the source of a package, for the tests in it; NAME's environment exists."""
    folder = folder_of(name) / "source"
    found = folder / package.replace("==", "-")
    if not found.exists():
        run(name, [folder_of(name) / "bin/pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder, package])
        with tarfile.open(folder / (found.name + ".tar.gz")) as archive:
            archive.extractall(folder)
    return found
