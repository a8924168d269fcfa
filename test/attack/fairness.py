#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user runs many programs, and calls them what another one is called: the other user keeps half of the device."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from rawclient import WELCOME, Raw, pack_device, pack_hello
from sluice import MIB, check, wait_until
from systemworld import SystemWorld
from twousers import ALICE, BOB, as_user, main, need_two_users

HASTE = {"scheduler.slice": "10ms", "scheduler.slice_min_switches": "1", "scheduler.age": "1h"}
MANY, TURNS = 8, 40


def turns_by_user(w):
    turns = {ALICE: 0, BOB: 0}
    for program in w.status()["programs"]:
        turns[program["uid"]] += program["turns"]
    return turns


def many_programs_of_one_user_leave_another_user_half_of_the_turns():
    need_two_users()
    # of high priority, so that nothing but the rule between users is in favour of the other one
    for policy in ("rr", "fifo", "priority", "mlfq"):
        with SystemWorld("many", policy, settings=HASTE | {"program python3*.priority": "high"}) as w:
            w.start_daemon()
            alice = w.client_of(ALICE, "alice", want=80 * MIB)
            alice.wait("ready")
            bobs = [w.client_of(BOB, f"bob{number}", want=80 * MIB) for number in range(MANY)]
            for bob in bobs:
                bob.wait("welcome")
            before = turns_by_user(w)
            wait_until("they have had their turns", lambda: turns_by_user(w)[BOB] - before[BOB] >= TURNS,
                       look=lambda: str(w.status()["programs"]))
            after = turns_by_user(w)
            check(after[ALICE] - before[ALICE] >= TURNS / 2, f"{policy}: alice had as many turns as all of bob's, or nearly",
                  before, after)


def idle_programs_of_one_user_leave_another_user_all_that_it_needs():
    need_two_users()
    with SystemWorld("idle", "rr", settings=HASTE) as w:
        w.start_daemon()
        bobs = [w.client_of(BOB, f"bob{number}", want=11 * MIB) for number in range(MANY)]
        for bob in bobs:
            bob.wait("ready")
            bob.order(want=11 * MIB, runnable=0)
        alice = w.client_of(ALICE, "alice", want=80 * MIB)
        alice.wait("ready")
        check(not alice.count("deny"), "alice gets her bytes from those that are idle", alice.events)


def a_name_that_a_program_gives_itself_brings_no_settings():
    need_two_users()
    own = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    settings = {"program coder.visible_memory": "77M", "program python3*.chunk": "8M"}
    settings |= {f"program cgroup:{path}.loss_grace": "77s" for path in own}
    with SystemWorld("names", settings=settings) as w:
        w.start_daemon()

        def join():
            with Raw(w.socket) as raw:
                raw.send(pack_hello([pack_device(bytes.fromhex(w.uuid), 100 * MIB)], b"coder"))
                return raw.expect(WELCOME)
        got = as_user(BOB, join)
        check(got["status"] == 0, "it joins under the name", got)
        check(got["visible_bytes"] == 0, "the name does not count", got)
        check(got["chunk_bytes"] == 8 * MIB, "the executable does", got)
        check(not own or got["loss_grace_ns"] == 77 * 10**9, "and so does the control group", got)


if __name__ == "__main__":
    main(many_programs_of_one_user_leave_another_user_half_of_the_turns,
         idle_programs_of_one_user_leave_another_user_all_that_it_needs,
         a_name_that_a_program_gives_itself_brings_no_settings)
