#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in their own pid namespaces: each has pid 1 inside, and each is one program to all
others.
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

MEMORY = 64
APIS = {"cuda": s.CLIENTS / "cuda-fill", "opencl": s.CLIENTS / "cl-fill"}


def unshare():
    """The command that puts a program into a pid namespace."""
    for more in ((), ("--user", "--map-current-user")):
        words = ("unshare", *more, "--pid", "--fork", "--kill-child")
        if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    raise s.Skip("this user may not make pid namespaces")


def world(name):
    return s.World(name, memory=MEMORY * s.MIB)


def start(w, api, name, mib, *more, **popen):
    return w.start([*unshare(), APIS[api], "--mib", mib, "--verify-each", *more], api, name=name, **popen)


def a_program_alone_is_one_program_and_no_outsider():
    for api in APIS:
        with world(f"alone-{api}") as w:
            w.start_daemon()
            program = start(w, api, "alone", MEMORY * 3 // 4, "--endless", stdin=subprocess.PIPE)
            s.wait_until("it holds its memory",
                         lambda: any(d["used_bytes"] >= MEMORY // 2 * s.MIB for d in w.status()["devices"]), look=w.log)
            # looks at the device come by themselves: what they find must not change from one to the next
            for _ in range(3):
                status = w.status()
                outsiders = [o for d in status["devices"] for o in d["outsiders"]]
                s.check(len(status["programs"]) == 1 and not outsiders, "it is there once", status)
            w.end(program)
            s.check("out of memory" not in w.log(), "nobody was denied anything", w.log())


def two_with_the_same_number_take_turns_and_keep_their_bytes():
    for api in APIS:
        with world(f"two-{api}") as w:
            w.start_daemon()
            programs = [start(w, api, name, MEMORY * 5 // 8, "--rounds", 12, "--seed", seed)
                        for seed, name in enumerate(("one", "two"), 1)]
            for program in programs:
                w.finish(program)
            s.check(len({t["pid"] for t in w.history()["turns"]}) == 2, "two programs had turns")


def one_that_is_killed_leaves_nothing_and_the_other_goes_on():
    for api in APIS:
        with world(f"killed-{api}") as w:
            w.start_daemon()
            programs = [start(w, api, name, MEMORY * 5 // 8, "--endless", "--seed", seed, stdin=subprocess.PIPE)
                        for seed, name in enumerate(("one", "two"), 1)]
            s.wait_until("both have joined", lambda: sum(p["connection"] == "joined" for p in w.status()["programs"]) == 2)
            programs[0].send_signal(signal.SIGKILL)
            w.finish(programs[0], exits=(-signal.SIGKILL,))
            s.wait_until("it is forgotten", lambda: len(w.status()["programs"]) == 1)
            w.end(programs[1])


def jobs_of_one_that_lives_carry_the_number_that_it_has_here():
    for api in APIS:
        with world(f"jobs-{api}") as w:
            w.start_daemon()
            program = start(w, api, "inner", MEMORY // 4, "--endless", stdin=subprocess.PIPE)
            board = s.wait_until("it works", lambda: next((b.name for b in (w.folder / "boards").iterdir()
                                                           # one with a suffix is being made
                                                           if b.is_file() and not b.suffix and w.jobs(b.name)), None), look=w.log)
            number = w.program("inner")["pid"]
            s.check(number > 1 and {j["pid"] for j in w.jobs(board)} == {number}, "each of them", number, w.jobs(board)[:4])
            w.end(program)


if __name__ == "__main__":
    s.main(a_program_alone_is_one_program_and_no_outsider, jobs_of_one_that_lives_carry_the_number_that_it_has_here,
           two_with_the_same_number_take_turns_and_keep_their_bytes,
           one_that_is_killed_leaves_nothing_and_the_other_goes_on)
