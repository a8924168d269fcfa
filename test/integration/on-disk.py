#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disk: programs that exceed the device and the budget of host memory go on with bytes in files.
Their contents come back right, the files never have a name, and nothing of them remains when a
program is killed.

A full disk refuses an allocation, but never what was promised before. Bytes that do not come back
as they went end in an error of the program's API, never in wrong bytes.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SHIM = s.BUILD / "src/cuda/libcuda.so.1"
SETTINGS = {"scheduler.slice": "20ms", "scheduler.slice_min_switches": 1, "memory.reserve_percent": 0,
            "memory.backing": 4 * s.MIB}
SCALE = {"scale": 256}

# how the programs of test/clients end
CALL_FAILED, NO_MEMORY = 3, 4


def need_disk():
    kind = subprocess.run(["stat", "-f", "-c", "%T", "/var/tmp"], capture_output=True, text=True).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        raise s.Skip("/var/tmp is not on disk here")


class DiskWorld(s.World):
    """A world whose programs have their files in its own folder, on disk."""

    def __init__(self, name, settings=None, **more):
        need_disk()
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="sluice-disk-", dir="/var/tmp"))
        super().__init__(name, settings=SETTINGS | {"memory.disk_folder": self.disk} | (settings or {}), **more)

    def close(self, failed=False):
        try:
            s.check(not list(self.disk.iterdir()), "no file has a name", list(self.disk.iterdir()))
            super().close(failed)
        finally:
            self.disk.rmdir()

    def start_fill(self, api, name, mib, *words, **more):
        fill = [s.CLIENTS / ("cuda-fill" if api == "cuda" else "cl-fill"), "--mib", mib, "--buffers", 8, "--rounds", 2,
                "--seed", sum(name.encode()), *words]
        return self.start(fill, api, name=name, stdin=subprocess.PIPE, **more)

    def start_ready(self, name, mib, api="cuda", **more):
        """A program that has filled its memory and waits for the end of its input."""
        program = self.start_fill(api, name, mib, "--wait", **more)
        s.check(program.stdout.readline() == "ready\n", f"{name} is ready")
        return program

    def backing(self):
        return self.status()["backing"]

    def files_of(self, program):
        """The descriptors of its files on disk."""
        return [fd for fd in pathlib.Path(f"/proc/{program.pid}/fd").iterdir()
                if os.readlink(fd).startswith(str(self.disk))]

    def evict(self, program):
        """Gets everything of `program` off the device and reported to the daemon: unreported bytes
        are in no sum."""
        def is_out():
            shown = self.program(program.label)
            away = sum(d["ram_bytes"] + d["disk_bytes"] for d in shown["devices"])
            return shown["device_bytes"] == 0 and away >= shown["devices"][0]["need_bytes"] > 0

        s.check(self.sluice("park", str(program.pid)).returncode == 0, "it can be parked")
        s.wait_until("nothing of it is on the device", is_out, look=lambda: self.sluice("status").stdout)


def three_programs(api, world):
    with world as w:
        w.start_daemon()
        programs = [w.start_fill(api, f"p{i}", 6, "--endless", *["--mix"] * (i == 2)) for i in range(3)]
        switches = s.Switches(w)
        seen = {}

        def enough():
            for program in programs:
                if program.poll() is not None:
                    w.finish(program)
                    raise s.Failure(f"{program.label} ended before it was told to")
            for p in w.status()["programs"]:
                if p["disk_bytes"]:
                    seen[p["name"]] = max(seen.get(p["name"], 0), p["disk_bytes"])
            return switches.look() >= 12 and len(seen) >= 2 and "come up from disk" in w.log() and "runs later" in w.log()

        s.wait_until("there were switches, bytes of two programs on disk, and backing changed by who runs when", enough,
                     look=lambda: w.sluice("status").stdout + w.log()[-3000:])
        for program in programs:
            w.end(program)
        s.note(f"{switches.look()} switches, on disk at some time: {seen}")


def three_cuda_programs_that_exceed_device_and_memory_end_right():
    three_programs("cuda", DiskWorld("cuda-disk", memory=10 * s.MIB, softgpu=SCALE))


def three_opencl_programs_that_exceed_device_and_memory_end_right():
    three_programs("opencl", DiskWorld("cl-disk", memory=10 * s.MIB))


def a_program_is_right_while_everything_goes_to_disk_between_two_calls():
    need_disk()
    with s.World("disk-torture", memory=16 * s.MIB, softgpu=SCALE) as w:
        for words in (["--streams", 0], ["--mix", "--threads", 2, "--uneven"]):
            w.run([s.CLIENTS / "cuda-fill", "--mib", 3, "--buffers", 6, "--rounds", 2, *words], "cuda", sluice=False,
                  env={"LD_PRELOAD": SHIM, "SLUICE_TORTURE": "disk"})


def a_killed_program_leaves_nothing_behind():
    with DiskWorld("disk-kill", memory=16 * s.MIB, softgpu=SCALE) as w:
        w.start_daemon()
        program = w.start_ready("victim", 12)
        w.evict(program)
        files = w.files_of(program)
        s.check(len(files) == 1 and os.readlink(files[0]).endswith("(deleted)"), "its file has no name", files)
        there = os.stat(files[0])
        s.check(there.st_uid == os.geteuid() and there.st_mode & 0o777 == 0o600, "it is its user's alone", there)
        s.check(there.st_blocks * 512 >= w.program("victim")["disk_bytes"] > 0, "its extent is allocated", there,
                w.program("victim"))
        s.check(w.backing()["disk_bytes"] > 0, "the daemon knows", w.backing())
        program.kill()
        w.finish(program, exits=(-9,))
        s.wait_until("no byte is charged any more", lambda: w.backing()["disk_bytes"] == w.backing()["backing_bytes"] == 0)


def a_program_that_comes_back_to_a_new_daemon_keeps_its_extents():
    with DiskWorld("disk-restart", memory=16 * s.MIB, softgpu=SCALE) as w:
        w.start_daemon()
        program = w.start_ready("stayer", 12)
        w.evict(program)
        before = w.program("stayer")["disk_bytes"]
        s.check(before > 0, "some of it is on disk", before)
        w.kill_daemon()
        w.start_daemon()
        s.wait_until("it is back", lambda: (w.program("stayer") or {}).get("connection") == "joined")
        s.check(w.backing()["disk_bytes"] >= before, "its bytes on disk are charged again", w.backing(), before)
        s.check(w.sluice("unpark", "stayer").returncode == 0, "it is still parked and can be let go on")
        w.end(program)


def full_disk(api, words):
    with DiskWorld("disk-full", memory=16 * s.MIB, settings={"memory.disk_max": 4 * s.MIB}, softgpu=SCALE) as w:
        w.start_daemon()
        first = w.start_ready("first", 6, api)
        w.evict(first)
        out = w.finish(w.start_fill(api, "second", 6), exits=(NO_MEMORY,))
        s.check(words in out, "the call says out of memory", out)
        s.check("the budgets for host memory (memory.backing) and disk (memory.disk_max) are used up" in w.log(), "the daemon says why")
        denials = w.history()["denials"]
        s.check(denials and all(d["name"] == "second" and "are used up" in d["reason"] for d in denials),
                "history knows it when the program is gone", denials)
        table = w.sluice("history", "--table").stdout
        s.check("OUT OF MEMORY" in table and "are used up" in table, "and tells people", table)
        s.check(w.sluice("unpark", str(first.pid)).returncode == 0, "it can go on")
        w.end(first)


def a_full_disk_refuses_an_allocation_and_nothing_else():
    full_disk("cuda", "OUT_OF_MEMORY")


def a_full_disk_refuses_an_opencl_program_too():
    full_disk("opencl", "clCreateBuffer: OpenCL error -4")


def a_program_that_may_not_have_so_large_a_file_gets_out_of_memory():
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (s.MIB, s.MIB))

    with DiskWorld("disk-rlimit", memory=16 * s.MIB, softgpu=SCALE) as w:
        w.start_daemon()
        holder = w.start_ready("holder", 1)  # so that the device, a file as well, is there already
        out = w.finish(w.start_fill("cuda", "limited", 8, preexec_fn=small_files), exits=(NO_MEMORY,))
        s.check("OUT_OF_MEMORY" in out, "the call says out of memory", out)
        s.check("the disk is full" in w.log(), "the daemon knows", w.log()[-1000:])
        denials = w.history()["denials"]
        s.check(denials and all("(memory.disk_folder) is full" in d["reason"] for d in denials),
                "and tells it from a budget that is used up", denials)
        w.end(holder)


def spoil(how, words, api="cuda", error=""):
    """A program whose file is changed behind its back gets an error of its API."""
    with DiskWorld("disk-spoilt", memory=16 * s.MIB, softgpu=SCALE) as w:
        w.start_daemon()
        log = w.folder / "log"
        program = w.start_ready("spoilt", 12, api, env={"SLUICE_LOG": log})
        w.evict(program)
        with open(w.files_of(program)[0], "r+b") as f:
            how(f)
        s.check(w.sluice("unpark", str(program.pid)).returncode == 0, "it can go on")
        program.stdin.close()
        program.stdin = None
        out = w.finish(program, exits=(CALL_FAILED,))
        s.check(error in out, "the error is one of its API", out)
        s.check(words in log.read_text(), "the reason is logged", log.read_text()[-2000:])


def flip(f):
    """Changes a byte of each page."""
    size = os.fstat(f.fileno()).st_size
    for at in range(0, size, 4096):
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))


def what_was_changed_on_disk_never_reaches_a_program():
    spoil(flip, "is corrupt")


def nor_an_opencl_program():
    spoil(flip, "is corrupt", "opencl", "OpenCL error -5")


def what_cannot_be_read_back_is_an_error():
    spoil(lambda f: f.truncate(0), "cannot be read from disk")


def so_it_is_for_an_opencl_program():
    spoil(lambda f: f.truncate(0), "cannot be read from disk", "opencl", "OpenCL error -5")


def a_folder_that_is_no_disk_is_refused_with_words():
    with DiskWorld("disk-refused") as w:
        w.start_daemon()
        doctor = w.sluice("doctor").stdout
        s.check(f"go to {w.disk}" in doctor, "doctor takes the one that is set", doctor)
        file = w.folder / "file"
        file.touch()
        for folder, why in (("/dev/shm", "its files are memory"), ("/proc", "its filesystem cannot keep files"),
                            ("/sys", "its filesystem cannot keep files"), ("/none", "the folder does not exist"), (file, "it is not a folder")):
            if why != "the folder does not exist" and not os.path.exists(folder):
                continue
            done = w.sluice("set", "disk_folder", str(folder))
            s.check(done.returncode == 122 and "expected a folder on disk" in done.stderr and f"{folder}: {why}" in done.stderr,
                    "the value, what was expected, and why", done)
        s.check(w.status()["backing"]["disk_folder"] == str(w.disk), "what was in force still is")
    with s.World("disk-settings", settings={"memory.disk_folder": "/proc"}) as w:
        w.start_daemon(answers=False)
        s.check(w.daemon.wait(timeout=60) != 0 and "/proc: its filesystem cannot keep files" in w.log(), "nor is it taken from a file", w.log())


s.main(three_cuda_programs_that_exceed_device_and_memory_end_right,
       three_opencl_programs_that_exceed_device_and_memory_end_right,
       a_program_is_right_while_everything_goes_to_disk_between_two_calls, a_killed_program_leaves_nothing_behind,
       a_program_that_comes_back_to_a_new_daemon_keeps_its_extents, a_full_disk_refuses_an_allocation_and_nothing_else,
       a_full_disk_refuses_an_opencl_program_too, a_program_that_may_not_have_so_large_a_file_gets_out_of_memory, what_was_changed_on_disk_never_reaches_a_program,
       nor_an_opencl_program, what_cannot_be_read_back_is_an_error, so_it_is_for_an_opencl_program, a_folder_that_is_no_disk_is_refused_with_words)
