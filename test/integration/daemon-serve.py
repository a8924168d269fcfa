#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real sluiced and honest raw clients: joining, turns, status, control, death."""

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from daemonworld import DaemonWorld, forked
from rawclient import WELCOME, Raw, pack_device, pack_hello
from sluice import MIB, check, main, wait_until

# a device for one of them at a time, and slices short enough for a test
TIGHT = {"total": 100 * MIB}
FAST = {"scheduler.slice": "20ms", "scheduler.slice_min_switches": 1, "scheduler.need_window": "50ms"}


def world(name, **settings):
    w = DaemonWorld(name, settings=FAST | settings)
    w.start_daemon()
    return w


def joined(w, name):
    raw = Raw(w.socket)
    raw.send(pack_hello([pack_device(total=100 * MIB)], name))
    raw.expect(WELCOME)
    return raw


def two_that_do_not_fit_alternate():
    with world("alternate") as w:
        a = w.client("a", want=80 * MIB, **TIGHT)
        b = w.client("b", want=80 * MIB, **TIGHT)
        a.wait("ready", 5)
        b.wait("ready", 5)
        programs = w.programs_by_name()
        check(programs["a"]["turns"] >= 5 and programs["b"]["turns"] >= 5, "both had turns", programs)
        device = w.answer(verb="status")["devices"][0]
        check(device["charged_bytes"] <= device["usable_bytes"], "not more is handed out than there is", device)
        turns = w.answer(verb="history")["turns"]
        check({t["name"] for t in turns} == {"a", "b"}, "history has both", turns)
        ended = [t for t in turns if t["end_ms"]]
        check(all(t["begin_ms"] <= t["ready_ms"] <= t["end_ms"] and t["reason"] for t in ended if t["ready_ms"]),
              "turns begin, open and end in this order, with a reason", ended)
        check(any(m["in_bytes"] for m in w.answer(verb="history")["moves"]), "history has what moved")


def two_that_fit_run_side_by_side():
    with world("beside") as w:
        a = w.client("a", want=30 * MIB, **TIGHT)
        b = w.client("b", want=30 * MIB, **TIGHT)
        a.wait("ready")
        b.wait("ready")
        states = {n: p["state"] for n, p in w.programs_by_name().items()}
        check(states == {"a": "running", "b": "running"}, "both run", states)
        check(a.count("close") == 0 and b.count("close") == 0, "nobody was closed")


def status_has_the_documented_keys():
    with world("keys") as w:
        w.client("a", want=80 * MIB, **TIGHT).wait("ready")
        status = w.answer(verb="status")
        source = pathlib.Path(os.environ.get("SLUICE_SOURCE", "."))
        text, manual = ((source / name).read_text() for name in ("docs/control.md", "man/sluice.1.scd"))
        for part in (status["daemon"], status["devices"][0], status["devices"][0]["turn"], status["programs"][0],
                     status["programs"][0]["devices"][0]):
            for key in part:
                check(f"`{key}`" in text, f"docs/control.md has the key {key}")
                check(f"_{key}_" in manual, f"sluice(1) has the key {key}")
        check(status["devices"][0]["turn"]["name"] == "a", "the device says whose turn it is", status)
        check(status["programs"][0]["device_bytes"] == 80 * MIB, "bytes are where they are", status)


def programs_have_no_more_than_the_device_together():
    """The last report of a program that gave way is old, and the device has no board that knows
    better."""
    with world("together") as w:
        a = w.client("a", want=80 * MIB, facts=1, **TIGHT)
        a.wait("ready")
        device = w.answer(verb="status")["devices"][0]
        check(device["used_bytes"] == 80 * MIB < device["charged_bytes"], "what may be held is not in use", device)
        w.client("b", want=80 * MIB, **TIGHT).wait("ready")
        status = w.answer(verb="status")
        held = {p["name"]: p["device_bytes"] for p in status["programs"]}
        check(held["b"] == 80 * MIB and sum(held.values()) <= 100 * MIB, "both are on the device with what it has", held)
        check(status["devices"][0]["used_bytes"] == sum(held.values()), "the device shows what the programs show", status)


def the_present_wait_counts():
    with world("present", **{"scheduler.slice": "1h"}) as w:
        w.client("a", want=80 * MIB, **TIGHT).wait("ready")
        w.client("b", want=80 * MIB, **TIGHT)
        b = wait_until("b has waited", lambda: (found := w.programs_by_name().get("b")) and found["wait_p99_ms"] > 0 and found)
        check(b["turns"] == 0 and b["state"] == "waiting", "in its first wait", b)


def members_of_one_group_have_one_turn():
    with world("group") as w:
        a = w.client("a", want=40 * MIB, group=77, **TIGHT)
        epoch = a.wait("ready")["epoch"]
        b = w.client("b", want=40 * MIB, group=77, **TIGHT)
        b.wait("ready")
        check(b.wait("turn")["epoch"] == epoch, "a late member gets the open turn's epoch",
              a.events, b.events)
        groups = {p["group"] for p in w.answer(verb="status")["programs"]}
        check(groups == {f"{77:016x}"}, "it is one group", groups)


def a_killed_holder_gives_its_turn_to_the_next():
    with world("killed", **{"scheduler.policy": "fifo"}) as w:
        a = w.client("a", want=80 * MIB, **TIGHT)
        a.wait("ready")
        b = w.client("b", want=80 * MIB, **TIGHT)
        b.wait("welcome")
        wait_until("b waits", lambda: w.programs_by_name()["b"]["state"] == "waiting")
        check(w.programs_by_name()["b"]["reason"], "it is told why b waits")
        a.kill()
        b.wait("ready")
        check(set(w.programs_by_name()) == {"b"}, "the dead one is not listed")


def death_comes_from_the_process_not_from_the_socket():
    def join_and_fork():
        raw = joined(w, b"parent")
        os.fork()
        return raw

    with world("fork") as w:
        with forked(join_and_fork) as parent:
            wait_until("the parent has joined", lambda: "parent" in w.programs_by_name())
            children = pathlib.Path(f"/proc/{parent}/task/{parent}/children")
            child = int(wait_until("the child is there", lambda: children.read_text().split())[0])
        try:
            # the child keeps the dead parent's socket open
            wait_until("the parent is gone", lambda: not w.programs_by_name())
        finally:
            os.kill(child, signal.SIGKILL)


def a_lost_connection_keeps_its_charges_until_the_program_is_back():
    with world("lost") as w:
        a = w.client("a", want=80 * MIB, **TIGHT)
        a.wait("ready")
        a.order(reconnect=1)
        a.wait("welcome", 2)
        wait_until("it is joined again", lambda: w.programs_by_name()["a"]["connection"] == "joined")
        program = w.programs_by_name()["a"]
        check(program["device_bytes"] == 80 * MIB and program["state"] == "running", "it kept bytes and turn", program)


def parked_programs_give_way_and_come_back():
    with world("park") as w:
        a = w.client("a", want=80 * MIB, **TIGHT)
        a.wait("ready")
        answer = w.answer(verb="park", program="a")
        check(answer["message"] == f"Parked a (pid {a.pid}).", "it is said who was parked", answer)
        wait_until("it is off the device", lambda: w.programs_by_name()["a"]["device_bytes"] == 0)
        check(w.programs_by_name()["a"]["parked"], "status says parked")
        n = a.count("ready")
        w.answer(verb="unpark", program=str(a.pid))
        a.wait("ready", n + 1)


def a_kicked_program_ends():
    with world("kick") as w:
        a = w.client("server", want=MIB, **TIGHT)
        a.wait("ready")
        for word in ("sevrer", "serv"):
            status, answer = w.ask(verb="kick", program=word)
            check(status and "Did you mean 'server'?" in answer["hint"], "one that is nearly called so is named", answer)
        # both requests are there before the daemon reads: it answers the second before it hears of the death
        w.daemon.send_signal(signal.SIGSTOP)
        with w.raw() as first, w.raw() as second:
            for raw in (first, second):
                raw.ask_text(json.dumps({"verb": "kick", "program": "server"}).encode())
            w.daemon.send_signal(signal.SIGCONT)
            said = sorted((raw.answer()[1] for raw in (first, second)), key=lambda answer: answer["message"])
        check([answer["message"] for answer in said] == [f"Ended server (pid {a.pid}).", f"server (pid {a.pid}) was ended already."],
              "the second says that it came too late", said)
        check([len(answer["programs"]) for answer in said] == [1, 0], "and lists no program", said)
        check(a.process.wait(timeout=60) == -signal.SIGKILL, "it was killed")
        wait_until("it is gone", lambda: not w.programs_by_name())


def settings_can_be_changed_while_it_runs():
    with world("set") as w:
        answer = w.answer(verb="set", setting="policy", value="fifo")
        check("policy = fifo" in answer["message"], "it is said what was set", answer)
        check(w.answer(verb="status")["daemon"]["policy"] == "fifo", "it is in force")
        w.answer(verb="set", setting="program a.chunk", value="1M")
        a = w.client("a", want=MIB, **TIGHT)
        check(a.wait("welcome")["chunk_bytes"] == MIB, "a program's own setting reaches it")
        for bad in ({"setting": "policy", "value": "best"}, {"setting": "nothing", "value": "1"},
                    {"setting": "scheduler.slice", "value": "soon"}, {"setting": "slice"}):
            status, answer = w.ask(verb="set", **bad)
            check(status and answer["error"], f"{bad} is refused in words", answer)
        names = {s["name"] for s in w.answer(verb="settings")["settings"]}
        check({"slice", "policy", "idle_exit"} <= names, "settings are listed", names)


def questions_that_make_no_sense_are_answered_in_words():
    with world("ask") as w:
        for request in ({"verb": "dance"}, {}, {"verb": 3}, {"verb": "park"}, {"verb": "kick", "program": "nobody"},
                        {"verb": "history", "last": "x"}):
            status, answer = w.ask(**request)
            check(status and answer["error"], f"{request} is refused in words", answer)
        for text in (b"", b"no json", b"[1]", b'{"verb": "status", "verb": "kick"}', b"\xff" * 20, b"[" * 2040):
            with w.raw() as raw:
                raw.ask_text(text)
                status, answer = raw.answer()
                check(status and answer["error"], f"{text[:20]} is refused in words", answer)


def another_protocol_version_is_refused_and_shown():
    with world("version") as w:
        with w.raw() as raw, w.raw() as older:
            raw.send(pack_hello([pack_device()], b"future", version=9))
            welcome = raw.expect(WELCOME)
            check(welcome["status"] and "protocol 9" in welcome["detail"], "it is told why", welcome)
            # another version's HELLO may be of another size
            older.send(b"\1\0\4\0\0\0\0\0" + (7).to_bytes(4, "little"))
            check("protocol 7" in older.expect(WELCOME)["detail"], "also when its HELLO is of another size")
            program = w.programs_by_name()["future"]
            check(program["state"] == "outside" and "protocol 9" in program["reason"], "status shows it", program)
        wait_until("it is gone with its connection", lambda: not w.programs_by_name())


def hellos_that_cannot_be_true_are_refused():
    with world("hello") as w:
        two = pack_device(total=MIB)
        for devices, words in (([], "no device"), ([two, two], "twice"), ([pack_device(total=0)], "size"),
                               ([pack_device(total=MIB, held=2 * MIB)], "more than a device can have"),
                               ([pack_device(total=MIB, everything=1 << 63)], "more than a device can have")):
            with w.raw() as raw:
                raw.send(pack_hello(devices))
                welcome = raw.expect(WELCOME)
                check(welcome["status"] and words in welcome["detail"], f"refused with '{words}'", welcome)
        name = "\033[31m\xff".encode("latin-1")
        with forked(lambda: joined(w, name)):
            # no fault, but shown without what a terminal would obey
            wait_until("it is shown", lambda: "?[31m?" in w.programs_by_name())


def outsiders_are_seen_and_reduce_capacity():
    with world("outside", **{"daemon.outsider_period": "20ms"}) as w:
        uuid = w.make_board("b0", 100 * MIB)
        a = w.client("a", want=MIB, uuid=uuid, **TIGHT)
        a.wait("ready")
        with w.outsider("b0", 100 * MIB, 40 * MIB) as process:
            def seen():
                device = w.answer(verb="status")["devices"][0]
                return device["outsiders"] == [{"pid": process.pid, "name": "outsider", "bytes": 40 * MIB}] and device
            device = wait_until("the outsider is seen", seen)
            wait_until("the estimate is lower",
                       lambda: w.answer(verb="status")["devices"][0]["estimate_bytes"] <= 60 * MIB)
            check(device["used_bytes"] == 40 * MIB and device["lock"] == "board", "the board tells", device)
        wait_until("it is gone", lambda: not w.answer(verb="status")["devices"][0]["outsiders"])


def a_daemon_that_ends_leaves_nothing_beside_its_socket():
    with world("ends") as w:
        check(w.answer(verb="ping") == {"pid": w.daemon.pid}, "it says who it is")
        a = w.client("a", want=MIB, **TIGHT)
        a.wait("ready")
        check(list(w.folder.glob("vmm-*.lock")), "the device has a file to lock")
        w.daemon.terminate()
        w.daemon.wait()
        left = [p.name for p in w.folder.iterdir() if p.name.startswith(("vmm-", w.socket.name))]
        check(not left, "socket and locks are gone", left)


if __name__ == "__main__":
    main(two_that_do_not_fit_alternate, two_that_fit_run_side_by_side, status_has_the_documented_keys,
         members_of_one_group_have_one_turn, a_killed_holder_gives_its_turn_to_the_next,
         death_comes_from_the_process_not_from_the_socket,
         a_lost_connection_keeps_its_charges_until_the_program_is_back, parked_programs_give_way_and_come_back,
         programs_have_no_more_than_the_device_together, the_present_wait_counts, a_kicked_program_ends, settings_can_be_changed_while_it_runs,
         questions_that_make_no_sense_are_answered_in_words, another_protocol_version_is_refused_and_shown,
         hellos_that_cannot_be_true_are_refused, outsiders_are_seen_and_reduce_capacity,
         a_daemon_that_ends_leaves_nothing_beside_its_socket)
