#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users take all the connections that they can: the next user and root still get theirs."""

import contextlib
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from rawclient import Raw
from sluice import MIB, check
from systemworld import SystemWorld, ask_as
from twousers import ALICE, BOB, become, main, need_two_users


@contextlib.contextmanager
def greedy(w, uid, most):
    """A process of that user with as many connections that have asked once, and so never time out, as it can get."""
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


if __name__ == "__main__":
    main(users_who_take_all_they_can_leave_some_for_others)
