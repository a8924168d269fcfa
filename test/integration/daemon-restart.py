#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts and ends: kill -9 under running programs, second daemons, settings, modes."""

import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from daemonworld import DaemonWorld
from rawclient import WELCOME, Raw
from sluice import MIB, SLUICED, check, main, wait_until

TIGHT = {"total": 100 * MIB}
FAST = {"scheduler.slice": "20ms", "scheduler.slice_min_switches": 1, "scheduler.need_window": "50ms",
        "scheduler.restart_grace": "200ms"}


def world(name, **settings):
    w = DaemonWorld(name, settings=FAST | settings)
    w.start_daemon()
    return w


def run_daemon(w, *words, **more):
    return subprocess.run([SLUICED, "--user", *words], capture_output=True, text=True, env=w.environment(), timeout=60,
                          **more)


def a_killed_daemons_turn_is_adopted():
    # the turn is a's as long as it takes to come back
    with world("adopt", **{"scheduler.policy": "fifo", "scheduler.restart_grace": "1h"}) as w:
        a = w.client("a", want=80 * MIB, **TIGHT)
        epoch = a.wait("ready")["epoch"]
        b = w.client("b", want=80 * MIB, **TIGHT)
        b.wait("welcome")
        generation = w.status()["daemon"]["generation"]
        w.kill_daemon()
        a.wait("lost")
        w.start_daemon()
        a.wait("welcome", 2)
        b.wait("welcome", 2)
        check(w.status()["daemon"]["generation"] == generation + 1, "the generation has grown by one")
        program = wait_until("both are back", lambda: all(
            p["connection"] == "joined" for p in w.status()["programs"]) and w.programs_by_name()["a"])
        check(program["state"] == "running" and program["device_bytes"] == 80 * MIB, "a still runs", program)
        check(a.count("close") == 0 and a.count("turn") == 1, "in the turn that it had", a.events)
        check(b.count("turn") == 0, "b waits", b.events)
        a.order(exit=0)
        check(b.wait("ready")["epoch"] != epoch, "then b has its turn")


def programs_return_whatever_bound_others_have_reached():
    with world("bound", **{"daemon.user_sessions_max": 4, "daemon.user_programs_max": 2}) as w:
        clients = [w.client(name, want=MIB, **TIGHT) for name in ("a", "b")]
        for client in clients:
            client.wait("ready")
        for client in clients:
            client.process.send_signal(signal.SIGSTOP)
        w.kill_daemon()
        # lower than what they have
        w.settings |= {"daemon.user_sessions_max": 3, "daemon.user_programs_max": 1, "daemon.user_groups_max": 1}
        w.start_daemon()
        with Raw(w.socket) as only:
            check(only.ask(verb="ping")[0] == 0, "one connection is left")
            with Raw(w.socket) as beyond:
                check(beyond.expect(WELCOME)["status"], "the next one is refused")
            for client in clients:
                client.process.send_signal(signal.SIGCONT)
                check(client.wait("welcome", 2)["status"] == 0, "a program returns", client.events)


def who_is_parked_stays_parked():
    with world("parked") as w:
        a = w.client("a", want=40 * MIB, **TIGHT)
        a.wait("ready")
        w.answer(verb="park", program="a")
        a.wait("close")
        for number in (2, 3):
            w.kill_daemon()
            w.start_daemon()
            a.wait("welcome", number)
            check(w.programs_by_name()["a"]["parked"], "it is parked")
        check(a.count("ready") == 1, "and had no turn", a.events)
        w.answer(verb="unpark", program="a")
        a.wait("ready", 2)
        w.kill_daemon()
        w.start_daemon()
        a.wait("welcome", 4)
        check(not w.programs_by_name()["a"]["parked"], "it is not parked any more")


def killed_twenty_times_nobody_loses_anything():
    with world("again") as w:
        clients = [w.client(n, want=60 * MIB, **TIGHT) for n in "abc"]
        for client in clients:
            client.wait("welcome")
        for number in range(1, 21):
            w.kill_daemon()
            w.start_daemon()
            for client in clients:
                client.wait("welcome", number + 1)
        seen = [c.count("ready") for c in clients]
        for client, n in zip(clients, seen):
            client.wait("ready", n + 2)
        device = w.status()["devices"][0]
        check(device["charged_bytes"] <= device["usable_bytes"], "not more is handed out than there is", device)


def those_who_died_meanwhile_are_forgotten_and_those_who_live_stay_charged():
    with world("orphans", **{"scheduler.restart_grace": "1s"}) as w:
        a = w.client("a", want=50 * MIB, **TIGHT)
        b = w.client("b", want=30 * MIB, **TIGHT)
        a.wait("ready")
        b.wait("ready")
        w.kill_daemon()
        b.process.send_signal(signal.SIGSTOP)
        a.kill()
        w.start_daemon()
        programs = w.programs_by_name()
        check(set(programs) == {"b"} and programs["b"]["connection"] == "orphan", "b is an orphan, a is gone", programs)
        check(programs["b"]["devices"][0]["charge_bytes"] >= 30 * MIB, "b is charged", programs)
        b.process.send_signal(signal.SIGCONT)
        b.wait("welcome", 2)
        wait_until("b is back", lambda: w.programs_by_name()["b"]["connection"] == "joined")


def a_roster_of_damaged_bytes_is_no_obstacle():
    with world("damage") as w:
        a = w.client("a", want=50 * MIB, **TIGHT)
        a.wait("ready")
        w.kill_daemon()
        roster = w.folder / "state/roster"
        check(roster.exists(), "the roster outlives the daemon")
        roster.write_bytes(os.urandom(10000))
        w.start_daemon()
        check("could not be understood" in w.log(), "it is said", w.log())
        a.wait("welcome", 2)


def a_second_daemon_at_the_same_socket_says_so():
    with world("second") as w:
        state = w.folder / "other"
        state.mkdir()
        done = run_daemon(w, "--socket", w.socket, "--state", state)
        check(done.returncode == 1, "it ends with 1", done)
        check(f"is served by sluiced (pid {w.daemon.pid}" in done.stderr, "it says by whom", done.stderr)
        check(w.serves(), "the first one still serves")
        done = run_daemon(w, "--socket", w.folder / "other.sock", "--state", w.folder / "state")
        check(done.returncode == 1 and "is used by sluiced" in done.stderr, "one roster has one daemon", done)


def a_second_daemon_is_told_whose_the_device_is():
    with world("board") as w, DaemonWorld("board2") as other:
        uuid = w.make_board("b1", 100 * MIB)
        a = w.client("a", want=MIB, uuid=uuid, **TIGHT)
        a.wait("ready")
        other.settings = {"daemon.boards": w.folder / "boards"}
        other.start_daemon()
        b = other.client("b", want=MIB, uuid=uuid, **TIGHT)
        welcome = b.wait("welcome")
        check(welcome["status"] and f"managed by sluiced (pid {w.daemon.pid}" in welcome["detail"], "b is told", welcome)
        check(other.programs_by_name()["b"]["state"] == "outside", "its own daemon shows it as outside")
        # and it can be had when the first one has no more use for it
        a.kill()
        wait_until("a is gone", lambda: not w.status()["programs"])
        b.order(reconnect=1)
        check(b.wait("welcome", 2)["status"] == 0, "b joins")
        b.wait("ready")


def a_line_outlasts_another_daemon_on_its_device():
    with world("keeps") as w, DaemonWorld("keeps2") as other:
        uuid = w.make_board("b1", 100 * MIB)
        a = w.client("a", want=50 * MIB, uuid=uuid, **TIGHT)
        a.wait("ready")
        a.process.send_signal(signal.SIGSTOP)
        w.kill_daemon()
        other.settings = {"daemon.boards": w.folder / "boards"}
        other.start_daemon()
        b = other.client("b", want=MIB, uuid=uuid, **TIGHT)
        b.wait("ready")
        w.start_daemon()
        program = w.programs_by_name()["a"]
        check(program["connection"] == "orphan" and not program["devices"], "a is known, without the device", program)
        check("keeps its line without a device" in w.log() and f"pid {other.daemon.pid}" in w.log(), "it is said whose that is", w.log())
        w.kill_daemon()
        b.kill()
        wait_until("the other one has no use for it", lambda: not other.status()["programs"])
        w.start_daemon()
        program = w.programs_by_name()["a"]
        check(program["devices"] and program["devices"][0]["charge_bytes"] >= 50 * MIB, "its charge is as it was", program)
        a.process.send_signal(signal.SIGCONT)
        a.wait("welcome", 2)
        wait_until("a is back", lambda: w.programs_by_name()["a"]["connection"] == "joined")


def an_unused_daemon_of_a_user_leaves_and_leaves_nothing():
    with world("idle") as w:
        with w.raw() as raw:
            check(raw.ask(verb="set", setting="idle_exit", value="100ms")[0] == 0, "it stays for one who is connected")
            a = w.client("a", want=MIB, **TIGHT)
            a.wait("ready")
        a.kill()
        check(w.daemon.wait(timeout=60) == 0, "it ends with 0")
        check(not w.socket.exists() and not list((w.folder / "state").iterdir()), "nothing of it is left",
              os.listdir(w.folder))


def in_the_background_it_answers_when_the_starter_returns():
    with DaemonWorld("background") as w:
        (w.folder / "c.conf").write_text("[scheduler]\npolicy = fifo\n")
        (w.folder / "state").mkdir()
        words = ("--daemonize", "--config", "c.conf", "--socket", "sluice.sock", "--state", "state")
        done = run_daemon(w, *words, cwd=w.folder)
        check(done.returncode == 0 and not done.stderr, "the starter ends with 0", done)
        raw = Raw(w.socket)
        daemon = raw.ask(verb="status")[1]["daemon"]
        pid = daemon["pid"]
        check(daemon["policy"] == "fifo", "its files are where the starter was", daemon)
        again = run_daemon(w, *words, cwd=w.folder)
        check(again.returncode == 1 and "is served by" in again.stderr, "a second one says so", again)
        check(os.getsid(pid) == pid, "it has a session of its own")
        check(raw.ask(verb="set", setting="idle_exit", value="100ms")[0] == 0, "it is told when to leave")
        raw.close()
        wait_until("it leaves", lambda: not os.path.exists(f"/proc/{pid}"))
        check(not w.socket.exists() and os.listdir(w.folder / "state") == ["sluiced.log"], "only its log is left")


def wrong_settings_are_told_by_line_and_it_does_not_start():
    with DaemonWorld("wrong") as w:
        config = w.folder / "x.conf"
        config.write_text("[scheduler]\nslice = 2s\nslice = soon\n[nothing]\n")
        done = run_daemon(w, "--config", config, "--socket", w.socket, "--state", w.folder)
        check(done.returncode == 1, "it ends with 1", done)
        for words in (f"{config}:3: slice: expected a time", f"{config}:4: expected [daemon]"):
            check(words in done.stderr, words, done.stderr)
        done = run_daemon(w, "--config", w.folder / "absent.conf")
        check(done.returncode == 1 and "absent.conf" in done.stderr, "a named file must be there", done)


def settings_are_read_again_on_sighup():
    with world("reload") as w:
        config = w.folder / "sluiced.conf"
        config.write_text("[scheduler]\npolicy = fifo\n")
        w.daemon.send_signal(signal.SIGHUP)
        wait_until("it is in force", lambda: w.status()["daemon"]["policy"] == "fifo")
        config.write_text("[scheduler]\npolicy = wrong\n")
        w.daemon.send_signal(signal.SIGHUP)
        wait_until("it complains", lambda: "settings are unchanged" in w.log())
        check(w.status()["daemon"]["policy"] == "fifo", "and keeps what it had")


def print_settings_can_be_read_again():
    with DaemonWorld("print") as w:
        config = w.folder / "x.conf"
        config.write_text("[scheduler]\nslice = 77ms\n[program a*]\nchunk = 1M\n")
        first = run_daemon(w, "--config", config, "--print-settings")
        check(first.returncode == 0 and "slice = 77ms" in first.stdout, "what is in force is printed", first)
        config.write_text(first.stdout)
        second = run_daemon(w, "--config", config, "--print-settings")
        check(second.stdout == first.stdout, "and means the same when it is read")


def told_to_end_it_leaves_its_programs_running():
    with world("term") as w:
        a = w.client("a", want=80 * MIB, **TIGHT)
        a.wait("ready")
        w.daemon.terminate()
        check(w.daemon.wait(timeout=60) == 0, "it ends with 0")
        check(not w.socket.exists() and (w.folder / "state/roster").exists(), "what is charged is kept")
        a.wait("lost")
        w.start_daemon()
        a.wait("welcome", 2)


if __name__ == "__main__":
    main(a_killed_daemons_turn_is_adopted, programs_return_whatever_bound_others_have_reached, who_is_parked_stays_parked, killed_twenty_times_nobody_loses_anything,
         those_who_died_meanwhile_are_forgotten_and_those_who_live_stay_charged,
         a_roster_of_damaged_bytes_is_no_obstacle, a_second_daemon_at_the_same_socket_says_so,
         a_second_daemon_is_told_whose_the_device_is, a_line_outlasts_another_daemon_on_its_device, an_unused_daemon_of_a_user_leaves_and_leaves_nothing,
         in_the_background_it_answers_when_the_starter_returns, wrong_settings_are_told_by_line_and_it_does_not_start,
         settings_are_read_again_on_sighup, print_settings_can_be_read_again,
         told_to_end_it_leaves_its_programs_running)
