#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Death of the daemon: killed at its n-th message, for every n, and started again under running programs. The
programs end right, and the new daemon ends with every account at zero.

By default the first messages, where programs join and the first turns begin, are taken one by one, and later
ones with gaps; SLUICE_LONG takes all.
"""

import os
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

LONG = bool(s.scaled("SLUICE_LONG", 0))
SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0, "scheduler.restart_grace": "300ms", "memory.loss_grace": "50ms"}


def start(w, api, number):
    program = {"cuda": "cuda-fill", "opencl": "cl-fill"}[api]
    return w.start([s.CLIENTS / program, "--mib", 1, "--buffers", 6, "--rounds", 6, "--mix", "--seed", number], api,
                   name=f"p{number}")


def restart(w, programs, generation):
    """A new daemon; returns how long it took until every program was back with it."""
    begin = time.monotonic()
    w.start_daemon()
    status = w.status()
    s.check(status["daemon"]["generation"] == generation + 1, "the roster was read: the daemon counts its starts", status)
    for device in status["devices"]:
        s.check(device["charged_bytes"] <= device["total_bytes"], "nobody is promised what others hold", status)

    def all_are_back():
        joined = [p["pid"] for p in w.status()["programs"] if p["connection"] == "joined"]
        return all(p.pid in joined or p.poll() is not None for p in programs)

    s.wait_until("every program is back", all_are_back)
    return time.monotonic() - begin


def killed_at(api, number, rule, pauses):
    """Returns whether the daemon met its n-th message."""
    with s.World(f"{api}-daemon", memory=2 * s.MIB, settings=SETTINGS | {"memory.on_daemon_loss": rule},
                 softgpu={"scale": 256}) as w:
        w.start_daemon(env={"LD_PRELOAD": s.KILL_AT, "KILL_AT": number, "KILL_IN": "sluiced"})
        generation = w.status()["daemon"]["generation"]
        programs = [start(w, api, i) for i in (1, 2)]
        s.wait_until("the daemon is killed or the programs have ended",
                     lambda: w.daemon.poll() is not None or all(p.poll() is not None for p in programs))
        met = w.daemon.poll() is not None
        if met:
            s.check(w.daemon.returncode == -signal.SIGKILL, "the daemon was killed, and did not fall over", w.log()[-2000:])
            pauses.append(restart(w, programs, generation))
        else:
            # it would meet its message while it is asked how it ends
            w.kill_daemon()
            w.start_daemon()
        for program in programs:
            w.finish(program)
        return met


def at_every_message(api, rule):
    pauses = []
    number, step = 1, 1
    while killed_at(api, number, rule, pauses):
        if not LONG and number >= 12:
            step = max(1, number // 3)
        number += step
    s.check(len(pauses) > 10, "the daemon was killed at its messages", pauses)
    s.note(f"killed {len(pauses)} times up to message {number}; pause until all are back: "
           f"median {statistics.median(pauses) * 1000:.0f} ms, longest {max(pauses) * 1000:.0f} ms")


def killed_at_every_message_under_cuda_programs_that_wait_for_it():
    at_every_message("cuda", "wait")


def killed_at_every_message_under_opencl_programs_that_run_without_it():
    at_every_message("opencl", "run")


s.main(killed_at_every_message_under_cuda_programs_that_wait_for_it,
       killed_at_every_message_under_opencl_programs_that_run_without_it)
