#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cl-real.py LAYER PROGRAM: a real program from Debian or PyPI, unmodified: plain, with everything
evicted between two calls, alone on a device that is too small for it, and two of it side by side
there. Its results equal those of the plain driver each time.

Without Sluice the program fails on that device, which shows that it is too small. PROGRAM is one of
the names in test/lib/clprograms.py, which says what is compared.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s
from clprograms import PROGRAMS

LAYER, NAME = os.path.abspath(sys.argv[1]), sys.argv[2]
LARGE = 4 << 30
PATIENCE = 1800 # s; drivers build some of these programs' kernels for minutes


class Runs:
    """One program in one world: each run of it has its own folder."""

    def __init__(self, world, program):
        self.world, self.program, self.n = world, program, 0

    def start(self, api, env=None, **more):
        self.n += 1
        folder = self.world.folder / f"user{self.n}"
        folder.mkdir()
        plain = self.program.all_environment(folder, is_small=api is not None)
        self.program.prepare(folder, self.world.environment(plain))
        started = self.world.start(self.program.commands(folder), api, env=plain | (env or {}), cwd=folder, **more)
        started.folder = folder
        return started

    def finish(self, started):
        """Its results."""
        out = self.world.finish(started, seconds=PATIENCE)
        return self.program.results(out, started.folder), out

    def equals(self, plain, what, started):
        results, out = self.finish(started)
        differ = sorted(set(results) ^ set(plain), key=str)[:20]
        s.check(results == plain, f"{what} its results are the plain driver's", *differ, out[-1000:])


def large_gpu(w):
    """The environment of a device that is large enough for any program, without Sluice."""
    boards = w.folder / "large"
    boards.mkdir(mode=0o700)
    return {"OPENCL_LAYERS": s.LIMITER, "SLUICE_LIMITER_MEMORY": LARGE, "SLUICE_BOARDS": boards}


@contextlib.contextmanager
def timed(what):
    began = time.monotonic()
    yield
    s.note(f"{what}: {time.monotonic() - began:.1f} s")


@contextlib.contextmanager
def outsider(w, mib):
    """A process that the daemon does not know holds a part of the device."""
    if not mib:
        yield
        return
    program = w.start([s.CLIENTS / "cl-fill", "--mib", mib, "--wait"], "opencl", sluice=False, stdin=subprocess.PIPE)
    s.check(program.stdout.readline() == "ready\n", "the outsider has its memory")
    yield
    w.end(program)


@contextlib.contextmanager
def neighbour(w, words):
    """A program that uses the device without end; at its end it checks what it computed."""
    program = w.start(words, "opencl", name="neighbour", stdin=subprocess.PIPE)
    s.wait_until("the neighbour has its memory", lambda: (w.program("neighbour") or {}).get("launches"))
    yield
    w.end(program)


def fails_without_sluice(w, runs, plain):
    """Whether the small device is really too small for the program."""
    started = runs.start("opencl", sluice=False)
    out = w.finish(started, seconds=PATIENCE, exits=range(-64, 256))
    try:
        return started.returncode or runs.program.results(out, started.folder) != plain
    except (s.Failure, LookupError, OSError, StopIteration):  # it has no results
        return True


def two_side_by_side(w, runs, plain):
    if runs.program.neighbour:
        with neighbour(w, runs.program.neighbour):
            runs.equals(plain, "beside another program", runs.start("opencl", name="beside"))
    else:
        for started in [runs.start("opencl", name=f"p{i}") for i in range(2)]:
            runs.equals(plain, "beside another", started)


def the_results_are_the_plain_drivers():
    program = PROGRAMS[NAME]
    if program.missing():
        raise s.Skip(program.missing())
    settings = {"memory.checksum_moves": "on", "scheduler.slice": "50ms"} | program.settings
    with s.World(NAME, memory=program.memory, settings=settings) as w:
        runs = Runs(w, program)
        large = large_gpu(w) if program.wants_gpu else {}
        with timed("plain"):
            plain, out = runs.finish(runs.start(None, sluice=False, env=large))
        s.check(plain, "there is something to compare", out)
        with timed("tortured"), tempfile.NamedTemporaryFile("r") as log:
            layers = f"{s.LIMITER}:{LAYER}" if large else LAYER
            torture = large | {"OPENCL_LAYERS": layers, "SLUICE_TORTURE": "1", "SLUICE_LOG": log.name}
            runs.equals(plain, "tortured", runs.start(None, sluice=False, env=torture))
            s.check("mode launch, opencl" in log.read(), "the layer is attached")
        with outsider(w, program.outsider_mib):
            with timed("without Sluice"):
                s.check(program.fits_alone or fails_without_sluice(w, runs, plain), "the device is too small for it")
            w.start_daemon()
            with timed("alone"):
                runs.equals(plain, "alone", runs.start("opencl", name="alone"))
            with timed("two side by side"):
                two_side_by_side(w, runs, plain)
            moved = sum(m["in_bytes"] + m["out_bytes"] for m in w.history()["moves"])
        s.check(moved or program.is_brief, "something moved")
        s.note(f"{len(plain)} results are equal; {moved / s.MIB:.1f} MiB moved")


del sys.argv[1:]
s.main(the_results_are_the_plain_drivers)
