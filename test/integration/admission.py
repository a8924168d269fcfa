#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sluice run` says of a program before it starts it: --expect, --memory and --wait."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

DEVICE = {"memory": 24 * s.MIB, "settings": {"memory.reserve_percent": 0}, "softgpu": {"context_overhead": 0}}
WAITED = 125
OUT_OF_MEMORY = 4  # of cuda-fill


def queued(w, name):
    row = w.program(name)
    return row if row and row["state"] == "queued" else None


def expected_time_reaches_the_scheduler():
    with s.World("expect", **DEVICE) as w:
        w.start_daemon()
        words = [s.CLIENTS / "cuda-fill", "--mib", 4, "--endless"]
        told = w.start(words, "cuda", name="told", options=["--expect", "30m"], stdin=subprocess.PIPE)
        other = w.start(words, "cuda", name="other", stdin=subprocess.PIPE)
        s.wait_until("both have joined", lambda: w.program("told") and w.program("other"))
        s.check(w.program("told")["expect_ms"] == 30 * 60 * 1000, "half an hour is expected", w.program("told"))
        s.check(w.program("other")["expect_ms"] == 0, "nothing is known of the other", w.program("other"))
        w.sluice("set", "expect", "5m")
        s.check(w.program("other")["expect_ms"] == 5 * 60 * 1000, "the setting is for the rest", w.program("other"))
        s.check(w.program("told")["expect_ms"] == 30 * 60 * 1000, "the option goes before it", w.program("told"))
        w.end(told)
        w.end(other)


def a_run_waits_until_its_memory_is_free():
    with s.World("wait", **DEVICE) as w:
        w.start_daemon()
        with w.full_of(16):
            waits = w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="waits", options=["--wait", "10m", "--memory", "12M"])
            s.wait_until("it waits", lambda: queued(w, "waits"))
            small = w.start([s.CLIENTS / "cuda-fill", "--mib", 4], "cuda", name="small", options=["--wait", "10m", "--memory", "4M"])
            s.wait_until("the small one waits too", lambda: queued(w, "small"))
            large, small_row = queued(w, "waits")["reason"], queued(w, "small")["reason"]
            s.check("place 1 of 2" in large and "needs 12.0 MiB" in large, "place and reason of the first", large)
            s.check("place 2 of 2" in small_row and "came first" in small_row, "nobody passes it", small_row)
            text = w.sluice("status").stdout
            s.check("queued" in text and "place" in text, "status shows it to people", text)
        w.finish(waits)
        w.finish(small)
        turns = [t for t in w.history()["turns"] if t["name"] == "endless"]
        s.check(len(turns) == 1, "nobody took a turn from the program that was there", turns)


def a_run_that_waited_too_long_ends_with_a_code_of_its_own():
    with s.World("waited", **DEVICE) as w:
        w.start_daemon()
        with w.full_of(16):
            late = w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="late", options=["--wait", "300ms", "--memory", "12M"])
            out = w.finish(late, exits=(WAITED,))
            s.check("not started within" in out and "needs 12.0 MiB" in out, "it says why", out)
            large = w.start([s.CLIENTS / "cuda-fill", "--mib", 4], "cuda", name="large", options=["--wait", "10m", "--memory", "25M"])
            out = w.finish(large, exits=(122,))
            s.check("no device of this daemon" in out, "what can never fit does not wait", out)
        s.check(not queued(w, "late"), "nothing of it is left", w.status()["programs"])


def memory_of_an_admitted_run_is_kept_for_it():
    """Two runs of 12 MiB on 24 MiB next to nothing: the first is asleep and owns nothing yet."""
    with s.World("kept", **DEVICE) as w:
        w.start_daemon()
        w.run([s.CLIENTS / "cuda-fill", "--mib", 1], "cuda")  # the daemon knows the device
        asleep = w.start(["sh", "-c", "read line"], None, name="asleep", options=["--wait", "10m", "--memory", "14M"], stdin=subprocess.PIPE)
        s.wait_until("it was started", lambda: open(f"/proc/{asleep.pid}/comm").read() == "sh\n")
        late = w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="late", options=["--wait", "200ms", "--memory", "12M"])
        w.finish(late, exits=(WAITED,))
        asleep.kill()
        asleep.wait()
        w.run([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", options=["--wait", "10m", "--memory", "12M"])


def a_run_that_is_killed_leaves_the_queue():
    with s.World("killed", **DEVICE) as w:
        w.start_daemon()
        with w.full_of(16):
            first = w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="first", options=["--wait", "10m", "--memory", "12M"])
            s.wait_until("it waits", lambda: queued(w, "first"))
            first.kill()
            first.wait()
            w.run([s.CLIENTS / "cuda-fill", "--mib", 4], "cuda", options=["--wait", "10m", "--memory", "4M"])


def a_run_that_waits_outlives_its_daemon():
    with s.World("restarted", **DEVICE) as w:
        w.start_daemon()
        with w.full_of(16):
            waits = w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="waits", options=["--wait", "10m", "--memory", "12M"])
            s.wait_until("it waits", lambda: queued(w, "waits"))
            w.kill_daemon()
            w.start_daemon()
        w.finish(waits)


def a_quota_of_memory_fails_the_allocation_beyond_it():
    with s.World("memory-quota", **DEVICE | {"settings": {"memory.reserve_percent": 0, "quota.user_memory": "20M"}}) as w:
        w.start_daemon()
        with w.full_of(12):
            out = w.finish(w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="beyond"), exits=(OUT_OF_MEMORY,))
            denial = w.history()["denials"][-1]
            s.check("quota.user_memory: 20.0 MiB" in denial["reason"], "the reason has the number", denial, out)
            s.check("sluice set" in denial["hint"], "and the way out", denial)
            w.run([s.CLIENTS / "cuda-fill", "--mib", 4], "cuda")
        w.sluice("set", "quota.unix_group_memory", "8M")
        w.finish(w.start([s.CLIENTS / "cuda-fill", "--mib", 12], "cuda", name="group"), exits=(OUT_OF_MEMORY,))
        s.check("quota.unix_group_memory: 8.00 MiB" in w.history()["denials"][-1]["reason"], "so for the Unix group", w.history()["denials"])


def a_quota_of_time_keeps_a_program_waiting():
    with s.World("time-quota", **DEVICE | {"settings": {"quota.user_time": "500ms", "quota.period": "1000h"}}) as w:
        w.start_daemon()
        endless = w.start([s.CLIENTS / "cuda-fill", "--mib", 4, "--endless"], "cuda", name="endless", stdin=subprocess.PIPE)
        s.wait_until("the quota is used up", lambda: "quota.user_time" in (w.program("endless") or {}).get("reason", ""))
        row = w.program("endless")
        s.check(row["state"] == "waiting" and "goes on in" in row["reason"], "it waits, and knows for how long", row)
        w.sluice("set", "quota.user_time", "0s")
        launches = row["launches"]
        s.wait_until("it goes on without a quota", lambda: w.program("endless")["launches"] > launches)
        w.end(endless)


if __name__ == "__main__":
    s.main(expected_time_reaches_the_scheduler, a_run_waits_until_its_memory_is_free,
           a_run_that_waited_too_long_ends_with_a_code_of_its_own, memory_of_an_admitted_run_is_kept_for_it,
           a_run_that_is_killed_leaves_the_queue, a_run_that_waits_outlives_its_daemon, a_quota_of_memory_fails_the_allocation_beyond_it,
           a_quota_of_time_keeps_a_program_waiting)
