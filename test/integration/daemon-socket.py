#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon's socket is removed while it serves, perhaps by a cleaner of temporary files."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

ENDLESS = (s.CLIENTS / "cl-talk", "--mib", 4, "--endless")


def world(name):
    w = s.World(name)
    folder = w.folder / "run"
    folder.mkdir(mode=0o700)
    w.socket = folder / "sluice.sock"
    return w


def lock_of(w):
    return w.socket.with_name(w.socket.name + ".lock")


def serves_again(w):
    s.wait_until("it serves again", w.daemon_answers, look=w.log)
    s.check(w.status()["daemon"]["pid"] == w.daemon.pid, "it is the same daemon", w.status())


def what_was_removed_is_made_again():
    with world("socket") as w:
        w.start_daemon()
        programs = [w.start(ENDLESS, "opencl", name="before", stdin=subprocess.PIPE)]
        s.wait_until("it has joined", lambda: w.program("before"))
        for remove in (lambda: w.socket.unlink(), lambda: lock_of(w).unlink(), lambda: w.socket.parent.rename(w.folder / "old"),
                       lambda: w.socket.rename(w.socket.with_name("elsewhere"))):
            remove()
            serves_again(w)
            s.wait_until("the lock is there", lock_of(w).exists)
        programs.append(w.start(ENDLESS, "opencl", name="after", stdin=subprocess.PIPE))
        s.wait_until("both are there", lambda: {p["name"] for p in w.status()["programs"]} == {"before", "after"})
        for program in programs:
            w.end(program)


def whoever_lost_its_place_to_another_one_says_so_and_leaves_when_unused():
    with world("lost") as w:
        w.start_daemon()
        first = w.daemon
        first.send_signal(signal.SIGSTOP)
        w.socket.unlink()
        lock_of(w).unlink()
        second = subprocess.Popen([s.SLUICED, "--user", "--foreground", "--socket", w.socket, "--state", w.folder],
                                  stdin=subprocess.DEVNULL, env=w.environment())
        try:
            s.wait_until("the second one serves", lambda: lock_of(w).exists() and w.socket.exists())
            first.send_signal(signal.SIGCONT)
            s.check(first.wait(timeout=60) == 0, "the first one leaves", w.log())
            s.check(f"pid {second.pid}" in w.log() and "cannot be made again" in w.log(), "it says why", w.log())
            s.check(w.socket.exists() and lock_of(w).exists(), "and leaves what is not its own")
            s.check(w.status()["daemon"]["pid"] == second.pid, "the second one serves")
        finally:
            second.terminate()
            second.wait()


def what_a_killed_daemon_left_is_removed_by_the_next():
    with world("left") as w:
        w.settings = {"memory.vmm_serial": "on"}
        w.start_daemon()
        program = w.start(ENDLESS, "opencl", stdin=subprocess.PIPE)
        s.wait_until("it has joined", lambda: w.status()["programs"])
        files = lambda: sorted(f.name for f in w.socket.parent.glob("vmm-*.lock"))
        s.check(len(files()) == 1, "the device has its file", files())
        w.kill_daemon()
        program.kill()
        program.wait()
        own = w.socket.with_name("vmm-of-somebody.lock")
        own.touch()
        s.check(len(files()) == 2, "it stayed", files())
        w.start_daemon()
        s.check(files() == [own.name], "the next one's start removes it, and nothing else", files())


s.main(what_was_removed_is_made_again, whoever_lost_its_place_to_another_one_says_so_and_leaves_when_unused,
       what_a_killed_daemon_left_is_removed_by_the_next)
