#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that the OpenCL layer may have to do, with a fault at every place and death at any
moment.

cl-paths uses buffers, memory of the program's own, images and tables that are only read, in every
way, on two devices in one context, each too small for its objects, next to another program that
does the same. An operation of the device, of the host's memory, of the disk, or the start of a
thread fails, the 1st, 2nd, 3rd …, until a run meets no fault. The program ends right, or with the
error that its own call would have got; the other one ends right, and nothing remains. By default
later numbers are taken with gaps; SLUICE_LONG takes all.
"""

import collections
import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

LONG = bool(s.scaled("SLUICE_LONG", 0))
KILLS = s.scaled("SLUICE_KILLS", 1000 if LONG else 24)
FAIL_AT = s.CLIENTS / "libfail-at.so"
SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0, "memory.hash_clean": "always"}
MEMORY = 512 << 10

#: of each kind: the calls of the program that would meet it without Sluice too
DEVICE = {
    "create": None,
    "write": "clEnqueueWrite|clEnqueueUnmapMemObject|clEnqueueSVMMemcpy|clEnqueueSVMUnmap",
    "read": "clEnqueueRead|clEnqueueMap|clEnqueueSVMMap",
    "enqueue": "clEnqueueNDRangeKernel|clEnqueueNativeKernel|clEnqueueCopy|clEnqueueFill",
}

#: what the API may say where the host has no memory, disk or thread for us: no memory for the object, no resources, no host memory
HOST = r"^cl\w+: OpenCL error -[456]$"


class PathsWorld(s.World):
    def __init__(self, name, settings=None, memory=MEMORY):
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="sluice-paths-", dir="/var/tmp"))
        self.other = None
        super().__init__(name, memory=memory, settings=SETTINGS | {"memory.disk_folder": self.disk} | (settings or {}))

    def close(self, failed=False):
        try:
            s.check(failed or not list(self.disk.iterdir()), "no file has a name", list(self.disk.iterdir()))
            super().close(failed)
        finally:
            self.disk.rmdir()

    def paths(self, name, *words, env=None, **more):
        return self.start([s.CLIENTS / "cl-paths", "--kib", 64, "--objects", 2, *words], "opencl", name=name,
                          env={"POCL_DEVICES": "pthread pthread"} | (env or {}), **more)

    def start_other(self):
        self.start_daemon()
        self.other = self.paths("other", "--rounds", 1, "--endless", stdin=subprocess.PIPE)
        s.wait_until("the other one runs", lambda: (self.program("other") or {}).get("launches"))

    def check_other(self):
        if self.other.poll() is not None:
            raise s.Failure(f"the other one lives; it ended with {self.other.returncode}\n{self.other.stdout.read()}\n{self.log()[-2000:]}")

    def is_alone(self):
        self.check_other()
        status = self.status()
        return [p["name"] for p in status["programs"]] == ["other"] and not any(
            d["outsider_bytes"] for d in status["devices"])

    def end_other(self):
        s.wait_until("the other one is alone", self.is_alone, look=lambda: self.sluice("status").stdout)
        launches = self.program("other")["launches"]
        s.wait_until("it has turns", lambda: self.program("other")["launches"] > launches)
        self.end(self.other)


def one_fault(w, env, log, own_calls):
    """Returns whether the fault occurred."""
    log.unlink(missing_ok=True)
    victim = w.paths("victim", "--rounds", 3, env=env)
    out = w.finish(victim, exits=(0, 3, 4))
    w.programs.remove(victim)
    if victim.returncode:
        s.check(own_calls and re.search(own_calls, out, re.MULTILINE), f"{env} is no error of the program's own call", out)
    w.check_other()
    return log.exists()


def every_number(w, what, env_of, own_calls):
    log = w.folder / "faults"
    n_met, number, step = 0, 1, 1
    while one_fault(w, env_of(number, log), log, own_calls):
        n_met += 1
        if not LONG and number >= 2:
            step = number
        number += step
    s.check(n_met, f"a {what} failed at least once", number)
    s.note(f"{what}: {n_met} faults, the last one before {number}")


def device_test(kind, own_calls):
    def test():
        with PathsWorld(f"paths-{kind}") as w:
            w.start_other()
            every_number(w, kind, lambda n, log: {"SLUICE_LIMITER_FAULT": f"{kind}:{n}", "SLUICE_LIMITER_FAULT_LOG": log},
                         own_calls)
            w.end_other()
    test.__name__ = f"each_{kind}_of_the_device_fails_once"
    return test


def host_test(kind, settings=None, memory=MEMORY):
    def test():
        with PathsWorld(f"paths-{kind}", settings, memory) as w:
            w.start_other()
            every_number(w, kind, lambda n, log: {"LD_PRELOAD": FAIL_AT, "FAIL_AT": f"{kind}:{n}", "FAIL_LOG": log,
                                                  "FAIL_IN": "cl-paths"}, HOST)
            w.end_other()
    test.__name__ = f"each_operation_of_{kind}_fails_once"
    return test


def whose_commands_wait_for_it_ends_wherever_memory_fails():
    """Without memory to note a command, the layer would wait for its end; but these commands wait
    for their own thread."""
    with PathsWorld("paths-blocked", memory=4 * s.MIB) as w:
        w.start_daemon()
        log, number = w.folder / "faults", 1
        while True:
            log.unlink(missing_ok=True)
            victim = w.start([s.CLIENTS / "cl-blocked"], "opencl", name="victim", env={
                "LD_PRELOAD": FAIL_AT, "FAIL_AT": f"memory:{number}", "FAIL_LOG": log, "FAIL_IN": "cl-blocked"})
            out = w.finish(victim, exits=(0, 3, 4))
            s.check(not victim.returncode or re.search(HOST, out, re.MULTILINE), f"memory:{number} is an error of its own call", out)
            if not log.exists():
                break
            number += 1
        s.check(number > 20, "there were many", number)
        s.note(f"memory failed at each of {number - 1} places")


#: so little memory for backing that most of it is on disk
ON_DISK = {"memory.backing": 256 << 10}


#: a folder of a test that runs at the same time, and a named semaphore, which nothing of ours makes
FOREIGN, SEMAPHORE = re.compile(r"sluice-[\w-]+-\w{6,8}"), re.compile(r"sem\..+")


def is_foreign(file):
    return SEMAPHORE.fullmatch(file.name) or (FOREIGN.fullmatch(file.name) and file.is_dir())


def files_of(w):
    """All names in shared memory and in the world's own folder, where its programs have their boards."""
    shared = pathlib.Path("/dev/shm")
    beside = {f for f in (shared.iterdir() if shared.is_dir() else ()) if not is_foreign(f)}
    return {str(f) for f in beside | set(w.folder.rglob("*"))}


def descriptors(pid):
    """How many there are of each kind; a file that is closed meanwhile does not count."""
    found = collections.Counter()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0]] += 1
    return found


def killed_at_any_moment():
    """Alternates between backing in memory and on disk; nothing may exist afterwards that did not
    before."""
    seed = s.seed(random.randrange(1 << 30))
    for number, settings in enumerate(({}, ON_DISK)):
        with PathsWorld("paths-kill", settings) as w:
            w.start_other()
            dice = random.Random(seed + number)
            before, files = descriptors(w.daemon.pid), files_of(w)
            for _ in range(KILLS // 2):
                victim = w.paths("victim", "--rounds", 100000, "--seed", dice.randrange(1 << 20))
                try:
                    victim.wait(timeout=dice.random() ** 2 * 2)
                except subprocess.TimeoutExpired:
                    victim.kill()
                w.finish(victim, exits=(-signal.SIGKILL,))
                w.programs.remove(victim)
                w.check_other()
                s.wait_until("nothing of it is charged", w.is_alone, look=lambda: w.sluice("status").stdout)
            # fewer are right: the connection of whoever asked last may have been there before
            s.wait_until("the daemon has no descriptor more", lambda: not descriptors(w.daemon.pid) - before,
                         look=lambda: (before, descriptors(w.daemon.pid)))
            s.wait_until("no file is left in shared memory", lambda: files_of(w) <= files, look=lambda: files_of(w) - files)
            w.end_other()
    s.note(f"killed {KILLS // 2 * 2} times")


s.main(*[device_test(*row) for row in DEVICE.items()], host_test("memory", memory=704 << 10), host_test("disk", ON_DISK),
       # without its threads, or memory for them, nothing of it moves, so it must fit
       host_test("thread", memory=4 * s.MIB), whose_commands_wait_for_it_ends_wherever_memory_fails, killed_at_any_moment)
