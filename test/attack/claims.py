#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user claims what is not so: bytes, turns, refusals. What nobody confirms takes nothing from another user."""

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from rawclient import BACKING, DEVICE, LIMIT, READY, SUMS, TURN, WANT, WELCOME, Raw, pack, pack_device, pack_hello
from sluice import MIB, check, wait_until
from systemworld import SystemWorld
from twousers import ALICE, BOB, become, main, need_two_users

HASTE = {"scheduler.slice": "10ms", "scheduler.slice_min_switches": "1", "scheduler.close_deadline": "20ms",
         "scheduler.limit_deadline": "20ms", "scheduler.fill_deadline": "100ms"}
MUCH = 1 << 49


class Liar:
    """A process of BOB's that says what `work` says, and then lives on in silence."""

    def __init__(self, w, work):
        told, tell = os.pipe()
        self.child = os.fork()
        if not self.child:
            os.close(told)
            answer = b"failed"
            try:
                become(BOB)
                kept = work(w)  # noqa: F841  held open by being named
                answer = b"said"
            finally:
                os.write(tell, answer)
            while True:
                signal.pause()
        os.close(tell)
        with os.fdopen(told, "rb", buffering=0) as file:
            check(file.read(6) == b"said", "the liar has said what it wanted")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)


def join(w, packet):
    raw = Raw(w.socket)
    raw.send(packet)
    check(raw.expect(WELCOME)["status"] == 0, "the liar joins")
    return raw


def device(w, **claims):
    return pack_device(bytes.fromhex(w.uuid), 100 * MIB, **claims)


def honest_runs(w, want=80 * MIB):
    """Alice's program gets all that it wants."""
    alice = w.client_of(ALICE, "alice", want=want)
    wait_until("alice runs", lambda: alice.count("ready") >= 1 or alice.count("deny"),
               look=lambda: str(w.status()) + w.log()[-3000:])
    check(not alice.count("deny"), "alice gets no out-of-memory", alice.events, w.log()[-2000:])
    alice.kill()
    wait_until("alice is gone", lambda: "alice" not in w.programs_by_name())


def claims_of_host_memory_and_disk_take_nothing_from_others():
    need_two_users()

    def claim(w):
        return join(w, pack_hello([device(w)], b"liar", backing=MUCH))

    def report(w):
        raw = join(w, pack_hello([device(w)], b"liar"))
        raw.send(pack(SUMS, BACKING, 0, 0, 0, MUCH, MUCH, 0, 0))
        return raw
    for lie in (claim, report):
        with SystemWorld("host", settings=HASTE) as w:
            w.start_daemon()
            with Liar(w, lie):
                honest_runs(w)
                check(w.status()["backing"]["backing_bytes"] < MUCH, "nobody believes it", w.status()["backing"])


def claims_of_device_memory_take_nothing_from_others():
    need_two_users()

    def claim(w):
        return join(w, pack_hello([device(w, held=63 * MIB, floor=63 * MIB)], b"liar"))

    def claim_and_go(w):
        join(w, pack_hello([device(w, held=63 * MIB, floor=63 * MIB)], b"liar")).close()

    def report(w):
        raw = join(w, pack_hello([device(w)], b"liar"))
        raw.send(pack(SUMS, DEVICE, 0, 1, 0, 63 * MIB, 63 * MIB, 63 * MIB, 0))
        return raw
    for lie in (claim, claim_and_go, report):
        with SystemWorld("held", settings=HASTE) as w:
            w.start_daemon()
            with Liar(w, lie):
                honest_runs(w)


def a_turn_that_was_never_given_is_none():
    need_two_users()

    def claim(w):
        return [join(w, pack_hello([device(w, epoch=(generation, 77), is_open=1, runnable=1, everything=80 * MIB,
                                           least=80 * MIB)], b"liar"))
                for generation in (0, 1, 1 << 60)]
    with SystemWorld("epoch", settings=HASTE) as w:
        w.start_daemon()
        with Liar(w, claim):
            turns = [t for t in w.answer(verb="history")["turns"] if t["name"] == "liar" and t["ready_ms"]]
            check(not turns, "the liar has no turn", turns)
            honest_runs(w)


def bytes_that_were_given_and_are_not_used_do_not_stay_taken():
    """A turn and its limit are fair; whoever answers nothing from then on keeps what the device says that it has."""
    need_two_users()

    def take_a_turn(w):
        raw = join(w, pack_hello([device(w)], b"liar"))
        raw.send(pack(WANT, BACKING, 0, 0, 0, 80 * MIB, 0))
        raw.send(pack(WANT, DEVICE, 0, 1, 80 * MIB, 80 * MIB, 80 * MIB))
        epoch = None
        limits = {}
        while not (epoch and limits.get(DEVICE, 0) >= 80 * MIB):
            kind, m = raw.receive()
            if kind == TURN:
                epoch = (m["generation"], m["counter"])
            elif kind == LIMIT:
                limits[m["tier"]] = m["limit_bytes"]
                raw.send(pack(SUMS, m["tier"], 0, 0, m["seq"], m["limit_bytes"], m["limit_bytes"], 0, 0))
        raw.send(pack(READY, 0, *epoch))
        return raw

    def take_a_turn_and_go(w):
        take_a_turn(w).close()
    for lie in (take_a_turn, take_a_turn_and_go):
        with SystemWorld("silent", "rr", settings=HASTE) as w:
            w.start_daemon()
            with Liar(w, lie):
                honest_runs(w)


def false_refusals_do_not_shrink_the_device():
    need_two_users()

    def refuse(w):
        raw = join(w, pack_hello([device(w)], b"liar"))
        for _ in range(1000):
            raw.send(pack(SUMS, DEVICE, 0, 0, 0, 0, 0, 0, MIB))
        return raw
    with SystemWorld("refused", settings=HASTE) as w:
        w.start_daemon()
        with Liar(w, refuse):
            wait_until("it was heard", lambda: "liar" in w.programs_by_name())
            refusals = w.status()["devices"][0]["refusals"]
            check(refusals == 0, "no limit was raised, so the driver cannot have refused", refusals)
            honest_runs(w)


if __name__ == "__main__":
    main(claims_of_host_memory_and_disk_take_nothing_from_others, claims_of_device_memory_take_nothing_from_others,
         a_turn_that_was_never_given_is_none, bytes_that_were_given_and_are_not_used_do_not_stay_taken,
         false_refusals_do_not_shrink_the_device)
