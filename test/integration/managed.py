#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Managed memory under the CUDA shim: the driver pages it, so it yields to all other memory and no
account is charged.
"""

import contextlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

DEVICE = 16 * s.MIB
SMALL = {"scale": 256}
SETTINGS = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}


def world(name, settings=None):
    return s.World(f"managed-{name}", memory=DEVICE, settings=SETTINGS | (settings or {}), softgpu=SMALL)


def fill(mib, managed=0, buffers=8, rounds=3, *words):
    """The first `managed` of `buffers` allocations are managed memory."""
    return [s.CLIENTS / "cuda-fill", "--mib", mib, "--buffers", buffers, "--managed", managed, "--rounds", rounds, *words]


def nobody_was_denied(w):
    s.check("DENY" not in w.log(), "nobody is told out of memory", w.log()[-3000:])


def capacity_is_true(w):
    for device in w.status()["devices"]:
        s.check(device["estimate_bytes"] <= device["total_bytes"], "no capacity is learned that is not there", device)
        s.check(device["refusals"] == 0, "the driver refused nobody", device)


def waiting(w, words, name, **more):
    """A program that has its memory, and goes on when its input ends."""
    program = w.start([*words, "--wait"], "cuda", name=name, stdin=subprocess.PIPE, **more)
    line = program.stdout.readline()
    s.check(line == "ready\n", "it gets its memory", line)
    return program


def finish_all(w, programs):
    """Waits for their ends; meanwhile the estimate must stay right."""
    while any(p.poll() is None for p in programs):
        capacity_is_true(w)
        with contextlib.suppress(subprocess.TimeoutExpired):
            programs[0].wait(0.05)
    for program in programs:
        w.finish(program)


def alone_with(mib, managed, settings=None):
    with world("alone", settings) as w:
        w.start_daemon()
        one = waiting(w, fill(mib, managed), "one")
        s.wait_until("the daemon knows of it", lambda: w.program("one")["yielding"])
        capacity_is_true(w)
        s.check(w.status()["devices"][0]["outsider_bytes"] == 0, "pages of a program are no outsider's", w.status())
        w.end(one)
        capacity_is_true(w)
        nobody_was_denied(w)


def less_than_the_device_alone():
    alone_with(10, 8)


def more_than_the_device_alone():
    alone_with(40, 8)


def more_than_the_device_beside_memory_of_its_own():
    # 30 MiB managed, 10 MiB not
    alone_with(40, 6)
    alone_with(40, 6, {"memory.allow_mapped": "on", "memory.pinned": "16M"})


def beside(mib, managed, rounds, n_others, other_mib):
    with world("beside") as w:
        w.start_daemon()
        others = [w.start(fill(other_mib, 0, 8, 1, "--endless", "--mix", "--seed", i), "cuda", name=f"other{i}",
                          stdin=subprocess.PIPE) for i in range(n_others)]
        finish_all(w, [w.start(fill(mib, managed, 8, rounds, "--seed", 7 + i), "cuda", name=f"one{i}") for i in range(2)])
        for other in others:
            w.end(other)
        nobody_was_denied(w)


def less_than_the_device_beside_programs_that_fill_it():
    beside(8, 8, 4, 2, 12)


def more_than_the_device_beside_programs_that_fill_it():
    beside(24, 8, 1, 1, 12)


def it_is_shown_with_its_reason_and_is_not_unmovable():
    with world("shown") as w:
        w.start_daemon()
        one = waiting(w, fill(24, 6, 8, 1), "one")
        s.wait_until("it is shown", lambda: w.program("one")["yielding"] == [{"reason": "paged by the driver", "bytes": 18 * s.MIB}],
                     look=lambda: w.sluice("status").stdout)
        found = w.program("one")
        s.check(not found["unmovable"], "it is not called unmovable", found)
        s.check(found["devices"][0]["floor_bytes"] == 0 or found["state"] == "running", "nothing of it must stay", found)
        s.check(found["device_bytes"] <= 7 * s.MIB, "only what is ours to move is held", found)
        words = w.sluice("status").stdout
        s.check("18.0 MiB yield (paged by the driver)" in words, "people see it, too", words)
        w.end(one)


def parked_it_keeps_nobody_out():
    with world("parked") as w:
        w.start_daemon()
        one = waiting(w, fill(24, 8, 8, 1), "one")
        s.check(w.sluice("park", "one").returncode == 0, "it can be parked")
        s.wait_until("it is parked", lambda: w.program("one")["parked"])
        # nearly all of the device
        finish_all(w, [w.start(fill(14, 0), "cuda", name="large")])
        s.check(w.sluice("unpark", "one").returncode == 0, "it can go on")
        w.end(one)
        nobody_was_denied(w)


def in_its_turn_others_leave_for_it():
    with world("leave") as w:
        w.start_daemon()
        other = waiting(w, fill(12, 0, 8, 1), "other")
        one = waiting(w, fill(12, 8, 8, 1), "one")
        s.wait_until("the other has gone out of the way", lambda: w.program("other")["ram_bytes"] >= 8 * s.MIB,
                     look=lambda: w.sluice("status").stdout)
        w.end(one)
        w.end(other)


def it_comes_with_the_turn_and_not_by_faults():
    with world("prefetched") as w:
        w.start_daemon()
        log, size, batch = w.folder / "paging", 12 * s.MIB, 8 * 256
        programs = [w.start(fill(12, 8, 8, 150, "--seed", i), "cuda", name=f"one{i}", env={"SLUICE_SOFTGPU_PAGING_LOG": log})
                    for i in range(2)]
        for program in programs:
            w.finish(program)
        faults = sum(int(line.split()[1]) for line in log.read_text().splitlines())
        turns = sum(1 for turn in w.history()["turns"] if turn["ready_ms"])
        s.note(f"{faults} faults in {turns} turns")
        # each page may fault once, when it is new; a turn that begins without its memory has some 3500 faults
        s.check(turns >= 6, "they take turns", turns)
        s.check(faults <= 2 * size // batch + turns * size // batch // 3, "what was there comes back without faults", faults, turns)
        nobody_was_denied(w)


def programs_of_one_run_share_a_device():
    with world("group") as w:
        w.start_daemon()
        words = " ".join(map(str, fill(12, 8, 8, 6)))
        w.run(["sh", "-c", f"{words} --seed 1 & first=$!; {words} --seed 2 && wait $first"], "cuda", name="run")
        capacity_is_true(w)
        nobody_was_denied(w)


def a_refusal_beside_it_is_asked_again():
    with world("refused") as w:
        w.start_daemon()
        faults, met = w.folder / "faults", w.folder / "met"
        faults.write_text("")
        env = {"SLUICE_SOFTGPU_FAULT_FILE": faults, "SLUICE_SOFTGPU_FAULT_LOG": met}
        ones = [waiting(w, fill(20, managed, 8, 4, "--seed", managed), f"one{managed}", env=env) for managed in (6, 4)]
        # of those that their own memory comes in with, in each of them
        faults.write_text("create:1,create:3,map:2")
        for one in ones:
            w.end(one)
        s.check("create:1\n" in met.read_text(), "the driver refused something", met.read_text())
        nobody_was_denied(w)


def a_managed_allocation_that_the_driver_refuses_is_told():
    with world("told") as w:
        w.start_daemon()
        out = w.finish(w.start(fill(20, 6), "cuda", name="one", env={"SLUICE_SOFTGPU_FAULT": "create:4"}), exits=(4,))
        s.check("cuMemAllocManaged" in out, "the call says it", out)
        w.run(fill(20, 6), "cuda", name="again")
        capacity_is_true(w)


def one_that_is_killed_leaves_nothing():
    with world("killed") as w:
        w.start_daemon()
        one = waiting(w, fill(24, 6, 8, 1), "one")
        one.kill()
        w.finish(one, exits=(-9,))
        w.run(fill(14, 0), "cuda", name="large")
        capacity_is_true(w)


def a_daemon_that_comes_back_hears_of_it():
    with world("restart") as w:
        w.start_daemon()
        one = waiting(w, fill(24, 6, 8, 1), "one")
        w.kill_daemon()
        w.start_daemon()
        s.wait_until("it is shown again", lambda: (w.program("one") or {}).get("yielding"), look=lambda: w.sluice("status").stdout)
        other = w.start(fill(14, 0), "cuda", name="other")
        finish_all(w, [other])
        w.end(one)
        capacity_is_true(w)
        nobody_was_denied(w)


def it_may_leave_the_device_while_it_is_copied():
    """Copies between allocations that do not fit together, while kernels of another stream bring others in."""
    with world("renewed") as w:
        w.start_daemon()
        words = fill(20, 8, 8, 60, "--renew")
        w.run(words, "cuda", name="plain", sluice=False)
        w.run(words, "cuda", name="shared")


s.main(less_than_the_device_alone, it_may_leave_the_device_while_it_is_copied, more_than_the_device_alone, more_than_the_device_beside_memory_of_its_own,
       less_than_the_device_beside_programs_that_fill_it, more_than_the_device_beside_programs_that_fill_it,
       it_is_shown_with_its_reason_and_is_not_unmovable, parked_it_keeps_nobody_out, in_its_turn_others_leave_for_it,
       it_comes_with_the_turn_and_not_by_faults,
       programs_of_one_run_share_a_device, a_refusal_beside_it_is_asked_again, a_managed_allocation_that_the_driver_refuses_is_told,
       one_that_is_killed_leaves_nothing,
       a_daemon_that_comes_back_hears_of_it)
