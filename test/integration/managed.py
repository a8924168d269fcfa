#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Managed memory under the CUDA shim: the driver pages it, so it yields to everybody and is charged to nobody."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

DEVICE = 16 * s.MIB
SMALL = {"scale": 256}
SETTINGS = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}


def world(name, **more):
    return s.World(f"managed-{name}", memory=DEVICE, settings=SETTINGS, softgpu=SMALL | more)


def fill(mib, managed=0, buffers=8, rounds=3, *words):
    """Of `buffers` allocations the first `managed` are managed memory."""
    return [s.CLIENTS / "cuda-fill", "--mib", mib, "--buffers", buffers, "--managed", managed, "--rounds", rounds, *words]


def nobody_was_denied(w):
    s.check("DENY" not in w.log(), "nobody is told out of memory", w.log()[-3000:])


def capacity_is_true(w):
    device = w.status()["devices"][0]
    s.check(device["estimate_bytes"] <= device["total_bytes"], "no capacity is learned that is not there", device)
    s.check(device["outsider_bytes"] == 0, "pages of a client are no outsider's", device)
    s.check(device["refusals"] == 0, "the driver refused nobody", device)


def alone_with(mib, managed, **more):
    with world("alone", **more) as w:
        w.start_daemon()
        w.run(fill(mib, managed), "cuda", name="one")
        capacity_is_true(w)
        nobody_was_denied(w)


def less_than_the_device_alone():
    alone_with(10, 8)


def more_than_the_device_alone():
    alone_with(40, 8)


def more_than_the_device_beside_memory_of_its_own():
    # 30 MiB managed, 10 MiB not
    alone_with(40, 6)


def beside(mib, managed, n_others, other_mib):
    with world("beside") as w:
        w.start_daemon()
        others = [w.start(fill(other_mib, 0, 8, 1, "--endless", "--mix", "--seed", i), "cuda", name=f"other{i}",
                          stdin=subprocess.PIPE) for i in range(n_others)]
        ones = [w.start(fill(mib, managed, 8, 4, "--seed", 7 + i), "cuda", name=f"one{i}") for i in range(2)]
        for one in ones:
            w.finish(one)
        for other in others:
            w.end(other)
        capacity_is_true(w)
        nobody_was_denied(w)


def less_than_the_device_beside_programs_that_fill_it():
    beside(8, 8, 2, 12)


def more_than_the_device_beside_programs_that_fill_it():
    beside(24, 8, 1, 12)


def it_is_shown_with_its_reason_and_is_not_unmovable():
    with world("shown") as w:
        w.start_daemon()
        one = w.start(fill(24, 6, 8, 1, "--wait"), "cuda", name="one", stdin=subprocess.PIPE)
        s.check(one.stdout.readline() == "ready\n", "it has its memory")
        shown = s.wait_until("it is shown", lambda: w.program("one")["yielding"], look=lambda: w.sluice("status").stdout)
        s.check(shown == [{"reason": "paged by the driver", "bytes": 18 * s.MIB}], "bytes and reason are right", shown)
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
        one = w.start(fill(24, 8, 8, 1, "--wait"), "cuda", name="one", stdin=subprocess.PIPE)
        s.check(one.stdout.readline() == "ready\n", "it has its memory")
        s.check(w.sluice("park", "one").returncode == 0, "it can be parked")
        s.wait_until("it is parked", lambda: w.program("one")["parked"])
        # all of the device but the reserve
        w.run(fill(14, 0), "cuda", name="large")
        capacity_is_true(w)
        s.check(w.sluice("unpark", "one").returncode == 0, "it can go on")
        w.end(one)
        nobody_was_denied(w)


def in_its_turn_others_make_room_for_it():
    with world("room") as w:
        w.start_daemon()
        other = w.start(fill(12, 0, 8, 1, "--wait"), "cuda", name="other", stdin=subprocess.PIPE)
        s.check(other.stdout.readline() == "ready\n", "it has its memory")
        one = w.start(fill(12, 8, 8, 1, "--wait"), "cuda", name="one", stdin=subprocess.PIPE)
        s.check(one.stdout.readline() == "ready\n", "it has its memory")
        s.wait_until("the other has gone out of the way", lambda: w.program("other")["ram_bytes"] >= 8 * s.MIB,
                     look=lambda: w.sluice("status").stdout)
        w.end(one)
        w.end(other)


s.main(less_than_the_device_alone, more_than_the_device_alone, more_than_the_device_beside_memory_of_its_own,
       less_than_the_device_beside_programs_that_fill_it, more_than_the_device_beside_programs_that_fill_it,
       it_is_shown_with_its_reason_and_is_not_unmovable, parked_it_keeps_nobody_out, in_its_turn_others_make_room_for_it)
