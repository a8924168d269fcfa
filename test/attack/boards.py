#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user keeps the lock of a stand-in device that several users share: the others join and run as before."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from sluice import MIB, check
from systemworld import SystemWorld, ask_as
from twousers import ALICE, main, need_two_users


def a_board_whose_lock_is_kept_stops_nobody():
    need_two_users()
    with SystemWorld("lock") as w:
        w.start_daemon()
        with w.outsider("b0", 100 * MIB, "lock"):
            for number in range(3):
                client = w.client_of(ALICE, f"a{number}", want=MIB)
                check(client.wait("welcome")["status"] == 0, "alice joins")
                client.wait("ready")
                client.kill()
        check(ask_as(w, ALICE, verb="ping")[0] == 0, "the daemon answers")


if __name__ == "__main__":
    main(a_board_whose_lock_is_kept_stops_nobody)
