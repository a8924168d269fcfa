#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several users: no other user gets into a private daemon, or sees or controls a stranger's
programs on a system one.
"""

import grp
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from daemonworld import DaemonWorld
from rawclient import WELCOME, Raw
from sluice import MIB, Skip, check, wait_until
from systemworld import SystemWorld, ask_as
from twousers import ALICE, BOB, as_user, main, need_two_users


def a_private_daemon_is_for_its_user_alone():
    need_two_users()
    with DaemonWorld("private") as w:
        w.start_daemon()
        os.chmod(w.folder, 0o755)
        check(ask_as(w, ALICE, verb="status") == "PermissionError", "the socket is closed to others")
        # and if somebody opened it, the daemon itself refuses
        os.chmod(w.socket, 0o666)

        def knock():
            with Raw(w.socket) as raw:
                return raw.expect(WELCOME)["detail"], raw.ends()
        check(as_user(ALICE, knock) == ["this daemon serves user 0 alone.", True], "it says why")


def values_of(answer):
    """Every leaf value in it: a number is found as such, and not as digits of another one."""
    if isinstance(answer, (dict, list)):
        parts = answer.values() if isinstance(answer, dict) else answer
        return [value for part in parts for value in values_of(part)]
    return [answer]


def users_see_their_own_programs_only():
    need_two_users()
    with SystemWorld("system") as w:
        w.start_daemon()
        a = w.client_of(ALICE, "alices-secret", want=80 * MIB)
        a.wait("ready")
        b = w.client_of(BOB, "bobs", want=80 * MIB)
        b.wait("welcome")
        wait_until("bob waits", lambda: w.programs_by_name()["bobs"]["reason"])

        status, answer = ask_as(w, BOB, verb="status")
        check([p["name"] for p in answer["programs"]] == ["bobs"], "bob sees his own", answer)
        check("secret" not in json.dumps(answer) and a.pid not in values_of(answer), "and nothing of alice's", answer, a.pid)
        check(answer["devices"][0]["turn"]["name"] == "(another user)", "but that somebody has the device", answer)
        check("secret" not in json.dumps(ask_as(w, BOB, verb="history")), "nor in the history")
        names = [p["name"] for p in w.status()["programs"]]
        check(sorted(names) == ["alices-secret", "bobs"], "root sees all", names)
        a.kill()
        b.kill()


def the_reasons_of_ones_own_turns_do_not_name_strangers():
    need_two_users()
    with SystemWorld("reasons") as w:
        w.start_daemon()
        for setting, value in (("policy", "rr"), ("slice", "20ms"), ("slice_min_switches", "1")):
            w.answer(verb="set", setting=setting, value=value)
        a = w.client_of(ALICE, "alices-secret", want=80 * MIB)
        b = w.client_of(BOB, "bobs", want=80 * MIB)
        b.wait("ready", 3)
        check("alices-secret" in json.dumps([t["reason"] for t in w.answer(verb="history")["turns"]
                                             if t["name"] == "bobs"]), "root is told for whom bob's turns ended")
        for verb in ("status", "history"):
            answer = ask_as(w, BOB, verb=verb)
            check("secret" not in json.dumps(answer), f"bob is not, in {verb}", answer)
        a.kill()
        wait_until("alice's is gone", lambda: "alices-secret" not in w.programs_by_name())
        check("secret" not in json.dumps(ask_as(w, BOB, verb="history")), "nor after its end")
        b.kill()


def users_steer_their_own_programs_only():
    need_two_users()
    with SystemWorld("steer") as w:
        w.start_daemon()
        a = w.client_of(ALICE, "alices", want=MIB)
        a.wait("ready")
        for request in ({"verb": "kick", "program": "alices"}, {"verb": "park", "program": str(a.pid)}):
            status, answer = ask_as(w, BOB, **request)
            check(status and "no program of yours" in answer["error"], "bob may not", answer)
        status, answer = ask_as(w, BOB, verb="park", all=True)
        check(status == 0 and answer["programs"] == [], "all of bob's is nothing", answer)
        check(not w.programs_by_name()["alices"]["parked"], "alice's is untouched")
        status, answer = ask_as(w, BOB, verb="set", setting="policy", value="rr")
        check(status and "may not" in answer["error"], "nor change settings", answer)
        status, answer = ask_as(w, ALICE, verb="park", program="alices")
        check(status == 0, "alice may", answer)
        a.kill()


def nobody_gets_into_a_strangers_group():
    need_two_users()
    with SystemWorld("groups") as w:
        w.start_daemon()
        a = w.client_of(ALICE, "a", want=MIB, group=99)
        b = w.client_of(BOB, "b", want=MIB, group=99)
        a.wait("ready")
        b.wait("ready")
        programs = w.programs_by_name()
        check(programs["a"]["group"] != programs["b"]["group"], "the same number is another group", programs)
        a.kill()
        b.kill()


def a_device_that_is_not_on_the_machine_is_refused():
    need_two_users()
    with SystemWorld("absent") as w:
        w.start_daemon()
        a = w.client_of(ALICE, "a", want=MIB, uuid="77" * 16)
        welcome = a.wait("welcome")
        check(welcome["status"] and "not a device" in welcome["detail"], "an invented device", welcome)
        a.kill()


def members_of_the_group_sluice_see_all():
    need_two_users()
    try:
        gid = grp.getgrnam("sluice").gr_gid
    except KeyError:
        raise Skip("there is no group sluice on this machine")
    with SystemWorld("masters") as w:
        w.start_daemon()
        a = w.client_of(ALICE, "alices", want=MIB)
        a.wait("ready")
        status, answer = ask_as(w, BOB, [gid], verb="status")
        check([p["name"] for p in answer["programs"]] == ["alices"], "a master sees all", answer)
        a.kill()


if __name__ == "__main__":
    main(a_private_daemon_is_for_its_user_alone, users_see_their_own_programs_only,
         the_reasons_of_ones_own_turns_do_not_name_strangers,
         users_steer_their_own_programs_only, nobody_gets_into_a_strangers_group,
         a_device_that_is_not_on_the_machine_is_refused, members_of_the_group_sluice_see_all)
