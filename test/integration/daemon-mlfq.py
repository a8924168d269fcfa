#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The default policy with real programs: a program that a person talks to goes before one that
computes for ever.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

# with slices that never end only a higher level, or rest, ends a turn,
# and the jobs stay short beside the allotment on a busy machine too
SETTINGS = {"scheduler.slice": "1h", "scheduler.allotment": "4s"}


def start(w, name, *words):
    program = w.start([s.CLIENTS / "cl-talk", *words], "opencl", name=name, stdin=subprocess.PIPE)
    s.check(program.stdout.readline() == "ready\n", f"{name} is ready", w.log()[-2000:])
    return program


def job(talker):
    talker.stdin.write("job\n")
    talker.stdin.flush()
    return float(talker.stdout.readline())


def a_short_job_goes_before_an_endless_one():
    with s.World("mlfq", memory=64 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        s.check(w.status()["daemon"]["policy"] == "mlfq", "it is the default")
        talker = start(w, "talker", "--mib", 40, "--buffers", 4, "--launches", 4, "--ms", 2)
        batch = start(w, "batch", "--mib", 48, "--buffers", 8, "--all", "--ms", 5, "--endless", "--queue", 1)
        s.wait_until("the endless one has sunk", lambda: w.program("batch")["level"] > 0)
        for number in range(5):
            s.wait_until("the endless one runs", lambda: w.program("batch")["state"] == "running" and w.program("talker")["state"] == "idle")
            job(talker)
        programs = {p["name"]: p for p in w.status()["programs"]}
        s.check(programs["talker"]["level"] < programs["batch"]["level"], "who is talked to is above", programs)
        ended = [t["reason"] for t in w.history()["turns"] if t["name"] == "batch" and t["end_ms"]]
        s.check(sum("talker waits" in reason for reason in ended) >= 5, "each job ended a turn of the endless one", ended)
        s.note(f"the endless one had {programs['batch']['turns']} turns")
        for program in (batch, talker):
            w.end(program)


def an_endless_one_that_is_new_does_not_stop_an_older_one():
    """Both sink to one level and are equals from there on: each has turns."""
    with s.World("mlfq-equals", memory=64 * s.MIB, settings={"scheduler.slice": "50ms", "scheduler.allotment": "100ms", "scheduler.levels": 2}) as w:
        w.start_daemon()
        words = ("--mib", 48, "--buffers", 8, "--all", "--ms", 5, "--endless", "--queue", 1)
        old = start(w, "old", *words)
        s.wait_until("the old one has sunk", lambda: w.program("old")["level"] > 0)
        new = start(w, "new", *words)
        before = w.program("old")["turns"]
        s.wait_until("both had turns", lambda: w.program("old")["turns"] >= before + 3 and w.program("new")["turns"] >= 3,
                     look=lambda: w.sluice("status").stdout)
        for program in (old, new):
            w.end(program)


def a_priority_says_where_a_program_begins():
    settings = {"scheduler.allotment": "50ms", "scheduler.levels": 3, "program low*.priority": "low", "program first.priority": "high"}
    with s.World("mlfq-priority", memory=64 * s.MIB, settings=settings) as w:
        w.start_daemon()
        # with an hour at each level nobody gets there by itself
        s.check(w.sluice("set", "allotment", "1h").returncode == 0, "the setting is taken")
        low = start(w, "low-one", "--mib", 4)
        s.check(w.program("low-one")["level"] == 2, "it begins at the bottom", w.status())
        s.check(w.sluice("set", "allotment", "50ms").returncode == 0, "the setting is taken")
        first, other = (start(w, name, "--mib", 4, "--ms", 5, "--endless", "--queue", 1) for name in ("first", "other"))
        s.wait_until("who computes for ever sinks", lambda: w.program("other")["level"] == 2)
        s.check(w.program("first")["level"] == 0, "but for one that stays at the top", w.status())
        done = w.sluice("set", "--program", "x", "priority", "urgent")
        s.check(done.returncode == 122 and "priority: expected one of low|normal|high, not 'urgent'" in done.stderr, "what it takes", done)
        for program in (low, first, other):
            w.end(program)


def a_change_of_priority_acts_at_once():
    with s.World("mlfq-steer", memory=64 * s.MIB, settings={"scheduler.policy": "priority"}) as w:
        w.start_daemon()
        program = start(w, "steered", "--mib", 4)
        s.check(w.program("steered")["level"] == 1, "normal is in the middle", w.status())
        done = w.sluice("set", "--program", "steered", "priority", "high")
        s.check(done.returncode == 0 and "from now on" not in done.stdout, "it says nothing of later programs", done)
        s.check(w.program("steered")["level"] == 0, "the program that runs has it", w.status())
        w.end(program)


s.main(a_short_job_goes_before_an_endless_one, an_endless_one_that_is_new_does_not_stop_an_older_one,
       a_priority_says_where_a_program_begins, a_change_of_priority_acts_at_once)
