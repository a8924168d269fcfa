#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Death of programs: at every message, in every state, in the middle of a copy. The others go on
and end right, and when all are gone every account is at zero.

A survivor works next to the dying program during the whole test: both want a device that holds one
of them.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

LONG = bool(s.scaled("SLUICE_LONG", 0))
SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0}
SCALED = {"scale": 256}
#: a link so slow that whoever looks sees bytes move
SLOW = {"profile": "rtx5080", "scale": 512, "context_overhead": 0}


def fill(w, api, name, *words, mib=1, **more):
    program = {"cuda": "cuda-fill", "opencl": "cl-fill"}[api]
    return w.start([s.CLIENTS / program, "--mib", mib, "--buffers", 6, *words], api, name=name, **more)


def survivor(w, api, **more):
    program = fill(w, api, "survivor", "--rounds", 1, "--endless", stdin=subprocess.PIPE, **more)
    s.wait_until("the survivor is there", lambda: w.program("survivor"))
    return program


def is_alone(w):
    """Only the survivor has anything: the dead program's accounts are gone, on the device too."""
    status = w.status()
    return [p["name"] for p in status["programs"]] == ["survivor"] and not status["devices"][0]["outsider_bytes"]


def still_has_turns(w):
    launches = w.program("survivor")["launches"]
    s.wait_until("the survivor has turns", lambda: w.program("survivor")["launches"] > launches)


def at_every_message(api, memory):
    with s.World(f"{api}-messages", memory=memory, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        other = survivor(w, api)
        number = 0
        while True:
            number += 1
            victim = fill(w, api, "victim", "--rounds", 1, "--mix", env={
                "LD_PRELOAD": s.KILL_AT, "KILL_AT": number, "KILL_IN": "cuda-fill" if api == "cuda" else "cl-fill"})
            w.finish(victim, exits=(0, -signal.SIGKILL))
            w.programs.remove(victim)
            s.wait_until(f"the one killed at message {number} is gone", lambda: is_alone(w))
            if victim.returncode == 0:
                break
            s.check(other.poll() is None, f"the survivor lives after message {number}")
        s.check(number > 10, "the program was killed at its messages", number)
        s.note(f"killed at each of {number - 1} messages")
        still_has_turns(w)
        w.end(other)


def a_cuda_program_killed_at_every_message():
    at_every_message("cuda", 2 * s.MIB)


def an_opencl_program_killed_at_every_message():
    at_every_message("opencl", 2 * s.MIB)


def killed_in_every_state():
    times = 6 if LONG else 2
    with s.World("states", memory=3 * s.MIB, settings=SETTINGS | {"scheduler.slice": "20ms"}, softgpu=SLOW) as w:
        w.start_daemon()
        other = survivor(w, "cuda", mib=2)
        for state in ("waiting", "filling", "running", "draining") * times:
            victim = fill(w, "cuda", "victim", "--rounds", 1000000, mib=2)
            s.wait_until(f"the victim is {state}", lambda: (w.program("victim") or {}).get("state") == state)
            victim.kill()
            w.finish(victim, exits=(-signal.SIGKILL,))
            w.programs.remove(victim)
            s.wait_until("it is gone", lambda: is_alone(w))
            still_has_turns(w)
        w.end(other)


def killed_in_the_middle_of_a_copy():
    times = 12 if LONG else 4
    with s.World("copies", memory=3 * s.MIB, settings=SETTINGS | {"scheduler.slice": "20ms"}, softgpu=SLOW) as w:
        w.start_daemon()
        other = survivor(w, "cuda", mib=2)
        for number in range(times):
            victim = fill(w, "cuda", "victim", "--rounds", 1000000, mib=2)
            # both directions in turn; what is told to have moved is less than all of it: some is under way
            key = ("moved_in_bytes", "moved_out_bytes")[number % 2]

            def moves():
                now = w.program("victim") or {}
                return now.get(key, 0) % (2 * s.MIB) and 0 < now["device_bytes"] < 2 * s.MIB

            s.wait_until("the victim's bytes move", moves)
            victim.kill()
            w.finish(victim, exits=(-signal.SIGKILL,))
            w.programs.remove(victim)
            s.wait_until("it is gone", lambda: is_alone(w))
        still_has_turns(w)
        w.end(other)


def leaves(api, how):
    times = 20 if LONG else 2
    with s.World(f"{api}-{how}", memory=3 * s.MIB // 2, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        other = survivor(w, api)
        for _ in range(times):
            leaver = w.start([s.CLIENTS / f"{'cuda' if api == 'cuda' else 'cl'}-leave", how], api, name="leaver")
            w.finish(leaver)
            w.programs.remove(leaver)
            s.wait_until("it is gone", lambda: is_alone(w))
        still_has_turns(w)
        w.end(other)


def programs_that_exit_with_work_queued():
    for api in ("cuda", "opencl"):
        leaves(api, "exit")
        leaves(api, "quit")


def programs_that_fork():
    leaves("cuda", "fork")
    leaves("opencl", "fork")


def becomes_another(api, how):
    """Its memory is freed at once, although the process lives."""
    with s.World(f"{api}-{how}", memory=3 * s.MIB // 2, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        leaver = w.start([s.CLIENTS / f"{'cuda' if api == 'cuda' else 'cl'}-leave", how], api, name="leaver",
                         stdin=subprocess.PIPE)
        s.check(leaver.stdout.readline() == "queued\n", "it has worked")
        other = survivor(w, api)
        leaver.stdin.write("\n")
        leaver.stdin.flush()
        if how == "exec":
            s.wait_until("the one before is gone", lambda: is_alone(w), look=lambda: w.sluice("status").stdout)
            s.check(leaver.poll() is None, "its process lives")
        still_has_turns(w)
        w.end(leaver)
        s.wait_until("it is gone", lambda: is_alone(w))
        w.end(other)


def programs_that_become_others():
    for api in ("cuda", "opencl"):
        becomes_another(api, "exec")
        becomes_another(api, "exec-again")


def a_program_that_becomes_another_while_there_is_no_daemon():
    with s.World("exec-restart", memory=3 * s.MIB // 2, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        leaver = w.start([s.CLIENTS / "cuda-leave", "exec"], "cuda", name="leaver", stdin=subprocess.PIPE)
        s.check(leaver.stdout.readline() == "queued\n", "it has worked")
        w.kill_daemon()
        leaver.stdin.write("\n")
        leaver.stdin.flush()
        comm = pathlib.Path(f"/proc/{leaver.pid}/comm")
        s.wait_until("it is another program", lambda: comm.read_text() == "cat\n")
        w.start_daemon()
        s.wait_until("every account is at zero", w.accounts_at_zero, look=lambda: w.sluice("status").stdout)
        w.end(leaver)


def gives_up_while_it_moves(api, board, **stand_in):
    """It gives up when its bytes are seen to leave for the survivor's; the board shows whether they
    were still leaving."""
    with s.World(f"{api}-moving", memory=9 * s.MIB, settings=SETTINGS, **stand_in) as w:
        w.start_daemon()
        other = survivor(w, api, mib=8)

        def look():
            """Remembers what it sees: a job's process is known as long as it lives."""
            jobs = [j for j in w.jobs(board) if j["pid"] == leaver.pid and j["engine"] == "out" and j["bytes"]]
            leaving.update({j["begin"]: j["end"] for j in jobs})
            return max(leaving.values(), default=0)

        for number in range(1, 21):
            leaver = w.start([s.CLIENTS / f"{'cuda' if api == 'cuda' else 'cl'}-leave", "destroy", "--rounds", 1,
                              "--mib", 8, "--wait"], api, name="leaver", stdin=subprocess.PIPE)
            leaving = {}
            s.check(leaver.stdout.readline() == "queued\n", "its kernels are queued")
            queued = time.monotonic()
            s.wait_until("it must give up memory", lambda: look() > queued)
            leaver.stdin.write("\n")
            leaver.stdin.flush()
            while leaver.poll() is None:
                look()
            gave_up = [int(ns) / 1e9 for ns in w.end(leaver).split()]
            met = [begin for begin, end in leaving.items() if begin < gave_up[1] and end > gave_up[0]]
            w.programs.remove(leaver)
            s.wait_until("it is gone", lambda: is_alone(w))
            if met:
                break
        s.check(met, "a copy was under way when it gave up", number, gave_up)
        s.note(f"{api}: {len(met)} copies were under way when it gave up, try {number}")
        still_has_turns(w)
        w.end(other)


def programs_that_give_up_what_is_in_use():
    leaves("cuda", "destroy")
    leaves("opencl", "destroy")


def programs_that_give_up_what_is_on_the_move():
    gives_up_while_it_moves("cuda", "softgpu0", softgpu=SLOW | {"profile": "rtx3080"})
    gives_up_while_it_moves("opencl", "opencl0", limiter={"in": "50M", "out": "50M"})


s.main(a_cuda_program_killed_at_every_message, an_opencl_program_killed_at_every_message, killed_in_every_state,
       killed_in_the_middle_of_a_copy, programs_that_exit_with_work_queued, programs_that_fork, programs_that_become_others,
       a_program_that_becomes_another_while_there_is_no_daemon,
       programs_that_give_up_what_is_in_use, programs_that_give_up_what_is_on_the_move)
