#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users take all the connections, the time and the log that they can: the next user and root still get theirs."""

import contextlib
import json
import os
import pathlib
import select
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from rawclient import WELCOME, Raw, pack_hello
from sluice import MIB, check
from systemworld import SystemWorld, ask_as
from twousers import ALICE, BOB, as_user, become, main, need_two_users


@contextlib.contextmanager
def as_peer(w, uid):
    """A connection of that user, whose credentials are those of the moment at which it is made."""
    os.setresuid(uid, uid, 0)
    try:
        raw = Raw(w.socket)
    finally:
        os.setresuid(0, 0, 0)
    with raw:
        yield raw


@contextlib.contextmanager
def greedy(w, uid, most):
    """A process of that user with as many connections that have asked once as it can get."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        become(uid)
        kept = []
        with contextlib.suppress(AssertionError, OSError):
            while len(kept) < most:
                raw = Raw(w.socket)
                raw.ask(verb="ping")
                kept.append(raw)
        os.write(tell, len(kept).to_bytes(4, "little"))
        while True:
            signal.pause()
    try:
        yield int.from_bytes(os.read(told, 4), "little")
    finally:
        os.close(told)
        os.close(tell)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def users_who_take_all_they_can_leave_some_for_others():
    need_two_users()
    settings = {"daemon.sessions_max": 64, "daemon.user_sessions_max": 64}
    with SystemWorld("greed", settings=settings) as w, contextlib.ExitStack() as stack:
        w.start_daemon()
        got = [stack.enter_context(greedy(w, uid, 64)) for uid in (BOB, BOB + 1, BOB + 2)]
        check(all(got) and sum(got) < 60, "each gets some, and all of them not all", got)
        check(ask_as(w, ALICE, verb="ping")[0] == 0, "the next user is served", got)
        check(w.ask(verb="ping")[0] == 0, "and so is root")
        alice = w.client_of(ALICE, "alice", want=MIB)
        alice.wait("ready")
        alice.kill()


def a_question_does_not_wait_for_all_questions_of_another_user():
    need_two_users()
    with SystemWorld("asking", settings={"daemon.user_sessions_max": 200, "daemon.handshake_timeout": "1h"}) as w:
        w.start_daemon()
        clients = [w.client_of(BOB, f"bob{number}") for number in range(30)]
        for client in clients:
            client.wait("welcome")

        def ask_many(n):
            become(BOB)
            raws = [Raw(w.socket) for _ in range(n)]
            for raw in raws:
                raw.ask(verb="ping")
            return raws
        answered, tell = os.pipe()
        with as_peer(w, ALICE) as alice:
            alice.ask(verb="ping")
            child = os.fork()
            if not child:
                raws = ask_many(120)
                for part in (raws[:60], raws[60:], []):
                    os.kill(os.getpid(), signal.SIGSTOP)
                    for raw in part:
                        raw.ask_text(json.dumps({"verb": "status"}).encode())
                done = sum(bool(select.select([raw.socket], [], [], 0)[0]) for raw in raws)
                os.write(tell, done.to_bytes(4, "little"))
                os._exit(0)
            os.waitpid(child, os.WUNTRACED)
            # all questions wait when the daemon goes on, and alice's is in the middle: neither the first nor the last
            w.daemon.send_signal(signal.SIGSTOP)
            os.kill(child, signal.SIGCONT)
            os.waitpid(child, os.WUNTRACED)
            alice.ask_text(json.dumps({"verb": "ping"}).encode())
            os.kill(child, signal.SIGCONT)
            os.waitpid(child, os.WUNTRACED)
            w.daemon.send_signal(signal.SIGCONT)
            status, _ = alice.answer()
            w.daemon.send_signal(signal.SIGSTOP)
        os.kill(child, signal.SIGCONT)
        done = int.from_bytes(os.read(answered, 4), "little")
        os.waitpid(child, 0)
        w.daemon.send_signal(signal.SIGCONT)
        check(status == 0 and done < 30, "alice is answered before most questions of bob", done)
        for client in clients:
            client.kill()


def a_connection_that_asks_nothing_more_ends():
    need_two_users()
    with SystemWorld("mute", settings={"daemon.handshake_timeout": "100ms"}) as w:
        w.start_daemon()

        def ask_and_stay():
            with Raw(w.socket) as raw:
                raw.ask(verb="ping")
                return raw.ends()
        check(as_user(BOB, ask_and_stay) is True, "the daemon ends the connection")


def refusals_do_not_fill_log_and_history():
    need_two_users()
    with SystemWorld("loud") as w:
        w.start_daemon()

        def be_refused():
            for _ in range(200):
                with Raw(w.socket) as raw:
                    raw.send(pack_hello([], b"loud"))
                    raw.expect(WELCOME)
        as_user(BOB, be_refused)
        lines = w.log().count("refusing pid=")
        check(1 <= lines < 60, "some of them are in the log, not all", lines)
        events = sum(e.get("name") == "loud" for e in w.answer(verb="history")["refusals"])
        check(events < 60, "and of the history", events)


if __name__ == "__main__":
    main(users_who_take_all_they_can_leave_some_for_others,
         a_question_does_not_wait_for_all_questions_of_another_user,
         a_connection_that_asks_nothing_more_ends,
         refusals_do_not_fill_log_and_history)
