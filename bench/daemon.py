#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon alone, with 10 to 1,000 programs (others by SLUICE_PROGRAMS): what a message, a status and a program cost, and how that grows."""

import ctypes
import fcntl
import os
import pathlib
import signal
import statistics
import struct
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test/lib"))

from daemonworld import DaemonWorld
from figures import Disturbance, conditions, figure
from rawclient import DEVICE, LIMIT, SUMS, WANT, WELCOME, Raw, pack, pack_device, pack_hello
from sluice import MIB, scaled, wait_until

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)

SIZES = [int(n) for n in os.environ.get("SLUICE_PROGRAMS", "10 100 1000").split()]
MESSAGES = scaled("SLUICE_MESSAGES", 1000000) // len(SIZES)
STATUSES, WAITS, ASKERS = 50, scaled("SLUICE_WAITS", 2000), 6
SETTINGS = {"daemon.sessions_max": 4096, "daemon.user_sessions_max": 4096, "daemon.user_programs_max": 1024,
            "daemon.user_groups_max": 1024, "daemon.outsider_period": "1h", "daemon.log_level": "notice"}


class Quiet(DaemonWorld):
    """Logs little: a line for each decision is for people who look for something."""

    def start_daemon(self, env=None, answers=True):
        super().start_daemon(env, answers)
        self.answer(verb="set", setting="log_level", value="notice")

    def cpu_ns(self):
        return int(pathlib.Path(f"/proc/{self.daemon.pid}/schedstat").read_text().split()[0])


def hello(name):
    return pack_hello([pack_device(total=1 << 30)], name)


def start_programs(w, n):
    """Processes that have joined and do nothing."""
    pids = []
    for number in range(n):
        child = os.fork()
        if not child:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            raw = Raw(w.socket, timeout=None)
            raw.send(hello(b"p%d" % number))
            while (got := raw.receive()) is not None:
                kind, m = got
                if kind == LIMIT:  # for its copies, if the budget has some
                    raw.send(pack(SUMS, m["tier"], 0, 0, m["seq"], m["limit_bytes"], 0, 0, 0))
            os._exit(0)
        pids.append(child)
    wait_until("all have joined", lambda: len(w.status()["programs"]) == n, seconds=300)
    return pids


def drained(raw):
    """Whether the daemon has read all that was sent."""
    return struct.unpack("i", fcntl.ioctl(raw.socket, termios.TIOCOUTQ, b"\0" * 4))[0] == 0


def cost_of_wants(w, raw):
    packets = [pack(WANT, DEVICE, 0, 0, size * MIB, size * MIB, MIB) for size in (1, 2)]
    began = w.cpu_ns()
    for number in range(MESSAGES):
        raw.send(packets[number % 2])
    wait_until("all is read", lambda: drained(raw))
    w.answer(verb="ping")
    return (w.cpu_ns() - began) / MESSAGES


def cost_of_status(w):
    began = w.cpu_ns()
    for _ in range(STATUSES):
        w.answer(verb="status")
    return (w.cpu_ns() - began) / STATUSES


def waits_beside_askers(w):
    """Seconds from a question to its answer, while others ask for the history without end."""
    done = threading.Event()

    def ask():
        while not done.is_set():
            w.answer(verb="history")
    askers = [threading.Thread(target=ask) for _ in range(ASKERS)]
    for thread in askers:
        thread.start()
    waits = []
    with Raw(w.socket) as raw:
        for _ in range(WAITS):
            began = time.monotonic()
            raw.ask(verb="ping")
            waits.append(time.monotonic() - began)
    done.set()
    for thread in askers:
        thread.join()
    return waits


def measure(n):
    with Quiet(f"bench-daemon-{n}", settings=SETTINGS) as w:
        w.start_daemon()
        before = w.daemon_rss()
        pids = start_programs(w, n - 1)
        raw = Raw(w.socket)
        raw.send(hello(b"speaker"))
        raw.expect(WELCOME)
        got = {"rss": (w.daemon_rss() - before) / n, "want": cost_of_wants(w, raw), "status": cost_of_status(w) / n}
        got["p99"] = statistics.quantiles(waits_beside_askers(w), n=100)[98]
        began = w.cpu_ns()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        wait_until("all are gone", lambda: len(w.status()["programs"]) == 1, seconds=300)
        got["death"] = (w.cpu_ns() - began) / n
        raw.close()
        # this process is a program as well: the accounts are at zero when it has gone
        w.daemon.terminate()
        w.daemon.wait()
        return got


conditions(f"daemon: sluiced with {', '.join(map(str, SIZES))} programs that have joined and do nothing; one of them sends {MESSAGES} WANT "
           f"that change its need, {STATUSES} status are asked for, then {WAITS} questions while {ASKERS} threads ask for the "
           "history without end, then all programs but one are killed. Processor time of the daemon")
with Disturbance() as quiet:
    got = {n: measure(n) for n in SIZES}
for n, values in got.items():
    print(f"{n} programs: {values['want'] / 1e3:.1f} us a WANT, {values['status'] / 1e3:.1f} us of a status for each program, "
          f"{values['death'] / 1e3:.0f} us a death, p99 of an answer {values['p99'] * 1e3:.1f} ms, {values['rss'] / 1024:.1f} KiB a program",
          flush=True)
first, last = got[SIZES[0]], got[SIZES[-1]]
figure("daemon.want_growth", last["want"] / first["want"], "times", goal=2, valid=quiet.is_quiet)
figure("daemon.status_growth", last["status"] / first["status"], "times", goal=2, valid=quiet.is_quiet)
figure("daemon.death_growth", last["death"] / first["death"], "times", goal=2, valid=quiet.is_quiet)
figure("daemon.want_us", last["want"] / 1e3, "us", valid=quiet.is_quiet)
figure("daemon.answer_p99_ms", last["p99"] * 1e3, "ms", valid=quiet.is_quiet)
figure("daemon.rss_per_client", last["rss"] / 1024, "KiB")
