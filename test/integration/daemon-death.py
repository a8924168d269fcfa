#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Death of the daemon: killed at its n-th message, for every n, and started again under running
programs. The programs end right, and the new daemon ends with every account at zero. In other tests
it is not started again before programs give up waiting for it: then the driver alone decides.

The driver may refuse memory to a program that goes on without the daemon, or did not find it in
time to join, although the daemon would have freed it. In tests in which all programs must end
right, the device holds all of them, and the daemon hands out only half of it. By default the first
messages, in which programs join and the first turns begin, are taken one by one, and later ones
with gaps; SLUICE_LONG takes all.
"""

import os
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

LONG = bool(s.scaled("SLUICE_LONG", 0))
SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0, "scheduler.restart_grace": "300ms", "memory.loss_grace": "50ms"}
LAST_MESSAGE = 100  # under programs that go on without it: these do not end by themselves


def fill(w, api, name, *words, after=(), **more):
    program = {"cuda": "cuda-fill", "opencl": "cl-fill"}[api]
    return w.start([*after, s.CLIENTS / program, "--mib", 1, *words], api, name=name,
                   env={"SLUICE_LOG": w.folder / f"{name}.log"}, **more)


def start(w, api, number, *words):
    """A program that begins with the next line of its input: not before all are started, which
    needs a daemon."""
    program = fill(w, api, f"p{number}", "--buffers", 6, "--rounds", 6, "--mix", "--seed", number, *words,
                   after=("sh", "-c", 'echo started && read line && exec "$@"', "sh"), stdin=subprocess.PIPE)
    line = program.stdout.readline()
    s.check(line == "started\n", "it is started", line, w.log()[-2000:])
    return program


def log_of(w, name):
    path = w.folder / f"{name}.log"
    return path.read_text() if path.exists() else ""


def is_alone(w, name):
    return "running without it" in log_of(w, name)


def has_joined(w, name):
    return "joined, generation" in log_of(w, name)


def promised(status, device):
    """Rule 16: the usable bytes, or what one program needs next to what the others cannot give up:
    their floors, and everything they may hold until they have joined again."""
    seats = [(p["connection"] == "joined", seat) for p in status["programs"] for seat in p["devices"]
             if seat["index"] == device["index"]]
    floors = [seat["floor_bytes" if joined else "charge_bytes"] for joined, seat in seats]
    needs = [sum(floors) - floor + max(floor, seat["need_bytes"]) for floor, (_, seat) in zip(floors, seats)]
    return min(max([device["usable_bytes"], *needs]), device["total_bytes"])


def restart(w, programs, generation):
    """Starts a new daemon; returns how long it took until every program was back with it."""
    begin = time.monotonic()
    w.start_daemon()
    status = w.status()
    s.check(status["daemon"]["generation"] == generation + 1, "the roster was read: the daemon counts its starts", status)
    for device in status["devices"]:
        # what was taken without it may be in the reserve
        most = device["total_bytes"] if any(is_alone(w, p.label) for p in programs) else promised(status, device)
        s.check(device["charged_bytes"] <= most, "nobody is promised what others hold", status)

    def all_are_back():
        joined = [p["pid"] for p in w.status()["programs"] if p["connection"] == "joined"]
        return all(p.pid in joined or p.poll() is not None for p in programs)

    s.wait_until("every program is back", all_are_back)
    return time.monotonic() - begin


def killed_at(api, number, rule, pauses):
    """Returns whether the daemon reached its n-th message."""
    settings = SETTINGS | {"memory.on_daemon_loss": rule, "memory.reserve_percent": 50}
    with s.World(f"{api}-daemon", memory=4 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
        w.start_daemon(env={"LD_PRELOAD": s.KILL_AT, "KILL_AT": number, "KILL_IN": "sluiced"})
        generation = w.status()["daemon"]["generation"]
        programs = [start(w, api, i, *(["--endless"] if rule == "run" else [])) for i in (1, 2)]
        for program in programs:
            program.stdin.write("\n")
            program.stdin.flush()
        s.wait_until("the daemon is killed or the programs have ended",
                     lambda: w.daemon.poll() is not None or all(p.poll() is not None for p in programs))
        met = w.daemon.poll() is not None
        if met:
            s.check(w.daemon.returncode == -signal.SIGKILL, "the daemon was killed, and did not fall over", w.log()[-2000:])
            if rule == "run":
                s.wait_until("who had joined goes on without it",
                             lambda: all(is_alone(w, p.label) or not has_joined(w, p.label) for p in programs))
            pauses.append(restart(w, programs, generation))
            if rule == "run":
                # what they took without the daemon they give up again for one that comes later
                w.finish(fill(w, api, "p3", "--buffers", 6, "--rounds", 2, "--mix"))
        else:
            # it would meet its message while it is asked how it ends
            w.kill_daemon()
            w.start_daemon()
        for program in programs:
            w.end(program)
        return met


def at_every_message(api, rule):
    pauses = []
    number, step = 1, 1
    while (rule == "wait" or number <= LAST_MESSAGE) and killed_at(api, number, rule, pauses):
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


def killed_at_every_message_under_cuda_programs_that_run_without_it():
    at_every_message("cuda", "run")


# -- for longer than they wait for it


def lose(w, names, unseen=lambda: None):
    """Kills the daemon, which no longer sees the last actions, and waits until these programs go on
    without it. Returns its generation."""
    generation = w.status()["daemon"]["generation"]
    w.daemon.send_signal(signal.SIGSTOP)
    unseen()
    w.kill_daemon()
    s.wait_until("they go on without it", lambda: all(is_alone(w, name) for name in names))
    return generation


def has_all(w, name):
    """It has and needs its three buffers of half a MiB: later programs find only the rest."""
    shown = w.program(name)
    return shown and shown["device_bytes"] == shown["devices"][0]["need_bytes"] == 3 * s.MIB // 2


def lost_where_all_fit(api):
    """Two wait because of an outsider and of a holder that keeps its turn: it is stopped, so it is
    never idle."""
    settings = SETTINGS | {"scheduler.policy": "fifo"}
    with s.World(f"{api}-fits", memory=6 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
        w.start_daemon()
        outsider = w.start([s.CLIENTS / {"cuda": "cuda-visit", "opencl": "cl-visit"}[api], "--mib", 4, "--ms", 1000000], api,
                           sluice=False, stdin=subprocess.PIPE, name="outsider")
        s.check(outsider.stdout.readline() == "in\n", "the outsider has its memory")
        holder = fill(w, api, "holder", "--buffers", 2, "--rounds", 1, "--mix", "--endless", stdin=subprocess.PIPE)
        s.wait_until("the holder has all of its bytes", lambda: has_all(w, "holder"), look=w.status)
        w.stop(holder, {"cuda": "softgpu0", "opencl": "opencl0"}[api])
        ends = fill(w, api, "ends", "--buffers", 2, "--rounds", 3, "--mix")
        stays = fill(w, api, "stays", "--buffers", 2, "--rounds", 1, "--mix", "--endless", stdin=subprocess.PIPE)
        s.wait_until("the others wait", lambda: all((w.program(p) or {}).get("state") == "waiting" for p in ("ends", "stays")),
                     look=w.status)
        generation = lose(w, ("ends", "stays"), lambda: (w.end(outsider), holder.send_signal(signal.SIGCONT)))
        w.finish(ends)
        restart(w, [holder, stays], generation)
        before = w.program("stays")["launches"]
        s.wait_until("who waited still runs", lambda: w.program("stays")["launches"] > before, look=w.status)
        for program in (holder, stays):
            w.end(program)


def who_waits_runs_without_it_where_all_fit():
    lost_where_all_fit("cuda")
    lost_where_all_fit("opencl")


def two_that_run(w, api, *words):
    programs = [fill(w, api, name, *words, "--rounds", 1, "--endless", stdin=subprocess.PIPE) for name in ("one", "two")]
    s.wait_until("both have run", lambda: all((w.program(name) or {}).get("launches", 0) > 50 for name in ("one", "two")))
    return programs


def both_end_without_it(w, programs):
    for program in programs:
        program.stdin.close()
        program.stdin = None
    for program in programs:
        w.finish(program)
    w.start_daemon()


def lost_where_they_do_not_fit(api):
    """Each has contents, and one has its turn: the other waits until the driver has memory."""
    with s.World(f"{api}-exceeds", memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = two_that_run(w, api, "--buffers", 2, "--mix")
        lose(w, ("one", "two"))
        both_end_without_it(w, programs)


def who_does_not_fit_waits_for_memory_without_it():
    lost_where_they_do_not_fit("cuda")
    lost_where_they_do_not_fit("opencl")


def lost_in_a_switch():
    slow = {"profile": "rtx5080", "scale": 512, "context_overhead": 0}  # whoever looks sees bytes move
    with s.World("cuda-deadlock", memory=3 * s.MIB, settings=SETTINGS | {"scheduler.slice": "20ms"}, softgpu=slow) as w:
        w.start_daemon()
        programs = two_that_run(w, "cuda", "--mib", 2, "--buffers", 16)
        s.wait_until("both have a part", lambda: all(0 < p["device_bytes"] < 2 * s.MIB for p in w.status()["programs"]))
        w.kill_daemon()
        both_end_without_it(w, programs)


def who_has_what_the_other_one_waits_for_without_it_gives_it_up():
    """Neither has all of its units when the daemon dies, and together they may take the whole
    device: one gives way."""
    for _ in range(10 if LONG else 3):
        lost_in_a_switch()


def lost_with_a_full_device(api, answer):
    """A request for new memory then gets the driver's answer, by the code of its API."""
    with s.World(f"{api}-full", memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        asks = fill(w, api, "asks", "--buffers", 1, "--rounds", 1, "--renew", "--wait", stdin=subprocess.PIPE)
        s.check(asks.stdout.readline() == "ready\n", "it has its memory", w.log()[-2000:])
        holder = fill(w, api, "holder", "--buffers", 2, "--rounds", 1, "--mix", "--endless", stdin=subprocess.PIPE)
        s.wait_until("the holder has all of its bytes", lambda: has_all(w, "holder"), look=w.status)
        generation = lose(w, ("asks", "holder"))
        out = w.end(asks, exits=(4,))
        s.check(answer in out, "it is told out of memory", out)
        restart(w, [holder], generation)
        w.end(holder)


def who_asks_for_more_than_there_is_without_it_is_told_so():
    lost_with_a_full_device("cuda", "cuMemAlloc_v2(&b->p, b->n_words * 4): CUDA_ERROR_OUT_OF_MEMORY")
    lost_with_a_full_device("opencl", "clCreateBuffer: OpenCL error -4")


s.main(killed_at_every_message_under_cuda_programs_that_wait_for_it,
       killed_at_every_message_under_cuda_programs_that_run_without_it,
       killed_at_every_message_under_opencl_programs_that_run_without_it, who_waits_runs_without_it_where_all_fit,
       who_does_not_fit_waits_for_memory_without_it, who_has_what_the_other_one_waits_for_without_it_gives_it_up,
       who_asks_for_more_than_there_is_without_it_is_told_so)
