#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What commands print about programs in states that people meet: stopped, refused, not parked,
denied.
"""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

NO_MEMORY = 4  # how the programs of test/clients end


def world(name, **settings):
    return s.World(f"commands-{name}", memory=64 * s.MIB, settings=settings)


def start_endless(w, name, mib=4, require=True):
    """A CUDA program that works until its standard input is closed."""
    words = [s.CLIENTS / "cuda-fill", "--mib", mib, "--endless"]
    if require:
        return w.start(words, "cuda", name=name, stdin=subprocess.PIPE)
    words = [s.SLUICE, "run", "--socket", w.socket, "--name", name, "--", *words]
    return w.start(words, "cuda", sluice=False, stdin=subprocess.PIPE)


def wait_for(w, name, connection="joined"):
    s.wait_until(f"{name} is {connection}", lambda: (w.program(name) or {}).get("connection") == connection,
                 look=lambda: w.sluice("status").stdout)


def row_of(w, name):
    return next(line for line in w.sluice("status").stdout.splitlines() if line.split()[:1] == [name])


def a_stopped_program_is_shown_as_stopped():
    with world("stopped") as w:
        w.start_daemon()
        program = start_endless(w, "sleeper")
        wait_for(w, "sleeper")
        s.check(not w.program("sleeper")["stopped"] and "stopped" not in row_of(w, "sleeper"), "while it runs it is not")
        w.stop(program, "softgpu0")
        row = row_of(w, "sleeper")
        s.check("(stopped)" in row and f"kill -CONT {program.pid}" in row, "the row has the state and the way out", row)
        s.check(w.program("sleeper")["stopped"], "machines can read it")
        program.send_signal(signal.SIGCONT)
        w.end(program)


def kick_ends_a_program_that_the_daemon_refused():
    with world("kick", **{"daemon.user_programs_max": 1}) as w:
        w.start_daemon()
        first = start_endless(w, "first")
        wait_for(w, "first")
        second = start_endless(w, "second", require=False)
        wait_for(w, "second", "refused")
        keys = [set(w.program(name)) for name in ("first", "second")]
        s.check(keys[0] == keys[1], "its row has the keys of others", keys[0] ^ keys[1])
        done = w.sluice("park", "second")
        s.check(done.returncode == 122 and "runs without Sluice" in done.stderr and "sluice kick" in done.stderr,
                "it cannot be parked, and the message says why", done)
        done = w.sluice("kick", "second")
        s.check(done.returncode == 0 and done.stdout == f"Ended second (pid {second.pid}).\n", "it can be ended", done)
        w.finish(second, exits=(-signal.SIGKILL,))
        w.end(first)


def kick_ends_one_program_unless_all_are_meant():
    with world("kick-name") as w:
        w.start_daemon()
        twins = [start_endless(w, "twin") for _ in range(2)]
        s.wait_until("both run", lambda: [p["name"] for p in w.status()["programs"] if p["launches"]] == ["twin", "twin"])
        done = w.sluice("kick", "twin")
        s.check(done.returncode == 122 and all(str(t.pid) in done.stderr for t in twins) and "--all" in done.stderr,
                "it asks which one is meant", done)
        s.check([t.poll() for t in twins] == [None, None], "and ends none")
        done = w.sluice("kick", str(twins[0].pid))
        s.check(done.stdout == f"Ended twin (pid {twins[0].pid}).\n", "a pid is one program", done)
        w.finish(twins[0], exits=(-signal.SIGKILL,))
        s.wait_until("it is gone", lambda: len(w.status()["programs"]) == 1)
        twins[0] = start_endless(w, "twin")
        s.wait_until("both run", lambda: [p["name"] for p in w.status()["programs"] if p["launches"]] == ["twin", "twin"])
        done = w.sluice("kick", "--all", "twin")
        s.check(done.stdout == "Ended 2 programs.\n", "--all ends both", done)
        for twin in twins:
            w.finish(twin, exits=(-signal.SIGKILL,))


def narrow_terminals_get_lines_that_fit():
    with world("narrow", **{"scheduler.slice": "50ms"}) as w:
        w.start_daemon()
        programs = [start_endless(w, name, mib=40) for name in ("chat", "a-name-that-is-not-short")]
        s.wait_until("both had turns", lambda: len(w.status()["programs"]) == 2 and all(p["turns"] > 1 for p in w.status()["programs"]),
                     look=lambda: w.sluice("status").stdout)
        for width in (36, 60):
            for words in (["status"], ["history", "--turns", "4"]):
                done = subprocess.run([s.SLUICE, *words, "--socket", w.socket], capture_output=True, text=True,
                                      env=w.environment({"COLUMNS": width, "LC_ALL": "C.UTF-8"}))
                long = [line for line in done.stdout.splitlines() if len(line) > width]
                s.check(done.returncode == 0 and "chat" in done.stdout and not long, f"{words[0]} fits in {width} columns", *long)
        for program in programs:
            w.end(program)


def park_and_unpark_say_when_nothing_changes():
    with world("unpark") as w:
        w.start_daemon()
        program = start_endless(w, "chat")
        wait_for(w, "chat")
        who = f"chat (pid {program.pid})"
        for verb, said in (("unpark", f"{who} was not parked.\n"), ("park", f"Parked {who}.\n"),
                           ("park", f"{who} was parked already.\n"), ("unpark", f"Unparked {who}.\n")):
            done = w.sluice(verb, "chat")
            s.check(done.returncode == 0 and done.stdout == said, f"{verb} says '{said.strip()}'", done)
        done = json.loads(w.sluice("unpark", "--all", "--json").stdout)
        s.check(done["message"] == f"{who} was not parked." and done["programs"] == [], "machines get what was changed", done)
        w.end(program)
        s.wait_until("it is gone", lambda: not w.program("chat"))
        s.check(w.sluice("unpark", "--all").stdout == "No program was parked.\n", "unpark --all says it, too")


def a_refused_program_that_ends_at_once_is_told():
    with world("short", **{"daemon.user_programs_max": 1}) as w:
        w.start_daemon()
        first = start_endless(w, "first")
        wait_for(w, "first")
        out = w.run([s.SLUICE, "run", "--socket", w.socket, "--", s.CLIENTS / "cuda-fill", "--mib", 2, "--rounds", 1], "cuda", sluice=False)
        s.check(out.count("the daemon refused") == 1 and "too many programs" in out, "the reason is told once", out)
        refusals = w.history()["refusals"]
        s.check(len(refusals) == 1 and "too many programs" in refusals[0]["reason"], "history has it", refusals)
        w.end(first)


def history_lists_the_moves_of_programs_that_moved_something():
    with world("moves") as w:
        w.start_daemon()
        w.run([s.CLIENTS / "cuda-fill", "--mib", 2, "--rounds", 1], "cuda", name="modest")
        table = w.sluice("history", "--table").stdout
        s.check("WHY IT ENDED" in table and "modest" in table, "it had a turn", table)
        s.check("TO DEVICE" not in table, "and nothing moved", table)


def advice_names_no_setting_that_is_on_already():
    for mapped in ("off", "on"):
        with world(f"mapped-{mapped}", **{"memory.allow_mapped": mapped, "memory.pinned": "8M", "memory.staging": "1M"}) as w:
            w.start_daemon()
            w.finish(w.start([s.CLIENTS / "cuda-fill", "--mib", 96, "--buffers", 2, "--rounds", 1], "cuda", name="greedy"),
                     exits=(NO_MEMORY,))
            hint = w.history()["denials"][-1]["hint"]
            s.check(("allow_mapped auto" in hint) == (mapped == "off") and ("memory.pinned" in hint) == (mapped == "on"), f"with allow_mapped {mapped}", hint)


def a_denial_names_what_the_program_asked_for():
    """Devices give at least 2 MiB: that is what the program needs, not what it asked for."""
    for mib, asked in ((3, "1.50 MiB"), (5, "2.50 MiB")):
        with world(f"asked-{mib}", **{"memory.visible_memory": "1M"}) as w:
            w.start_daemon()
            fill = [s.CLIENTS / "cuda-fill", "--mib", mib, "--buffers", 2, "--rounds", 1]
            w.finish(w.start(fill, "cuda", name="odd"), exits=(NO_MEMORY,))
            denial = w.history()["denials"][-1]
            s.check(f"it asked for {asked} " in denial["reason"], "as it asked", denial)
            enough = denial["hint"].split("visible_memory ")[1].split("'")[0]
            s.check(w.sluice("set", "visible_memory", "8M").returncode == 0 and enough in ("2M", "4M"), "the hint has what it takes", denial)
            w.run(fill, "cuda", name="odd")


ASKS_AND_TAKES = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
free, total, context, memory = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_uint64()
assert driver.cuInit(0) == 0 and driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
print("ready", flush=True)
sys.stdin.readline()
assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(memory), free) == 0
print(free.value, driver.cuMemsetD8_v2(memory, 1, free), flush=True)
sys.stdin.readline()
"""


def what_is_offered_as_free_is_there_beside_the_contexts_of_others():
    with s.World("commands-free", memory=64 * s.MIB, softgpu={"context_overhead": 4 * s.MIB}) as w:
        w.start_daemon()
        programs = []
        for i in range(4):
            programs.append(w.start([sys.executable, "-c", ASKS_AND_TAKES], "cuda", name=f"p{i}", stdin=subprocess.PIPE))
            s.check(programs[-1].stdout.readline() == "ready\n", "it has a context")
        for program in (programs[3], programs[0]):
            program.stdin.write("\n")
            program.stdin.flush()
            offered, result = program.stdout.readline().split()
            s.check(int(offered) == (64 - 4 * 4) * s.MIB, "what four contexts leave is offered", offered)
            s.check(result == "0", "and all of it can be used", result, w.sluice("status").stdout)
        for program in programs:
            w.end(program)


s.main(a_stopped_program_is_shown_as_stopped, narrow_terminals_get_lines_that_fit, kick_ends_a_program_that_the_daemon_refused,
       kick_ends_one_program_unless_all_are_meant,
       park_and_unpark_say_when_nothing_changes, a_refused_program_that_ends_at_once_is_told,
       history_lists_the_moves_of_programs_that_moved_something, advice_names_no_setting_that_is_on_already,
       a_denial_names_what_the_program_asked_for, what_is_offered_as_free_is_there_beside_the_contexts_of_others)
