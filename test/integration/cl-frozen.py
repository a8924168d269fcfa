#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that cannot leave the device: it is charged, shown with its reason, and stays; all other
memory leaves for it.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "10ms", "memory.checksum_moves": "on", "memory.reserve_percent": 0}
MORE = s.CLIENTS / "libcl-more.so"


def hold(w, *words, name="holder", env=None):
    """A program that holds memory, once it has all of it."""
    program = w.start([s.CLIENTS / "cl-hold", *words], "opencl", name=name, stdin=subprocess.PIPE, env=env)
    line = program.stdout.readline()
    s.check(line == "ready\n", "it has its memory", line, w.log()[-2000:])
    return program


def unmovable(w):
    return {u["reason"]: u["bytes"] for u in w.program("holder")["unmovable"]}


def comes_to(w, **expected):
    expected = {reason.replace("_", " "): mib * s.MIB for reason, mib in expected.items()}
    s.wait_until(f"unmovable is {expected}", lambda: unmovable(w) == expected, look=lambda: w.sluice("status").stdout)


def what_is_frozen_is_shown_with_its_reason():
    rows = [
        ("buffers", (), {}, {}),
        ("a mapping", ("--mapped",), {}, {"mapped_by_the_program": 1}),
        ("shared virtual memory", ("--shared", 3), {}, {"shared_virtual_memory": 3}),
        ("freed by a command", ("--shared", 3, "--queue-free"), {}, {}),
        ("a pipe", ("--pipe", 2), {}, {"other": 2}),
        ("variables of a program", (), {"CL_MORE_GLOBALS": 5 * s.MIB}, {"module": 5}),
    ]
    with s.World("cl-frozen", memory=32 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        for what, words, env, expected in rows:
            s.note(what)
            program = hold(w, *words, env={"OPENCL_LAYERS": f"{s.LIMITER}:{MORE}"} | env)
            comes_to(w, **expected)
            w.end(program)
            w.programs.remove(program)


def buffers_leave_for_shared_virtual_memory():
    with s.World("cl-frozen-leave", memory=32 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        program = hold(w, "--buffers", 28, "--shared", 8)
        comes_to(w, shared_virtual_memory=8)
        s.check(w.program("holder")["ram_bytes"] >= 4 * s.MIB, "buffers have left for it", w.sluice("status").stdout)
        w.end(program)


def what_is_mapped_stays_while_the_rest_leaves_for_others():
    with s.World("cl-frozen-mapped", memory=8 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        program = hold(w, "--buffers", 6, "--mapped")
        other = w.start([s.CLIENTS / "cl-fill", "--mib", 6, "--rounds", 2, "--endless", "--verify-each"], "opencl", name="other",
                        stdin=subprocess.PIPE)
        s.wait_until("the other one runs", lambda: (w.program("other") or {}).get("launches", 0) > 20,
                     look=lambda: w.sluice("status").stdout)
        s.wait_until("all that may has left", lambda: w.program("holder")["device_bytes"] < 3 * s.MIB,
                     look=lambda: w.sluice("status").stdout)
        comes_to(w, mapped_by_the_program=1)
        s.check(w.program("holder")["device_bytes"] >= s.MIB, "what is mapped is there", w.sluice("status").stdout)
        w.end(other)
        w.end(program)


def two_that_wait_for_what_the_other_cannot_move():
    """Each fits alone. The last to come gets the error that the driver alone would give, and
    history says why; the other one is served."""
    with s.World("cl-frozen-deadlock", memory=32 * s.MIB, settings=SETTINGS | {"memory.capacity_patience": "300ms"}) as w:
        w.start_daemon()
        first, last = [hold(w, "--buffers", 1, "--shared", 10, "--large", 16, name=name) for name in ("first", "last")]
        first.stdin.close()
        first.stdin = None
        s.wait_until("the first one waits for what the last one keeps", lambda: w.program("first")["state"] == "waiting" and
                     "last keeps bytes" in w.program("first")["reason"], look=lambda: w.sluice("status").stdout)
        w.end(last, exits=(4,))
        w.finish(first)
        denials = w.history()["denials"]
        s.check([d["name"] for d in denials] == ["last"] and "wait as well" in denials[0]["reason"], "history says why", denials)


def what_a_program_may_own_bounds_what_is_frozen_at_the_call():
    env = {"OPENCL_LAYERS": f"{s.LIMITER}:{MORE}"}
    with s.World("cl-frozen-limit", memory=32 * s.MIB, settings=SETTINGS | {"memory.visible_memory": "8M"}) as w:
        w.start_daemon()
        for words in (("--buffers", 4, "--shared", 4), ("--buffers", 1, "--shared", 3, "--pipe", 4)):
            w.end(hold(w, *words, env=env))
        for name, call, words in (("svm", "clSVMAlloc", ("--buffers", 6, "--shared", 4)),
                                  ("pipe", "clCreatePipe", ("--buffers", 6, "--pipe", 4)),
                                  ("both", "clCreatePipe", ("--buffers", 1, "--shared", 6, "--pipe", 2)),
                                  ("buffers", "clCreateBuffer", ("--buffers", 1, "--shared", 6, "--large", 2))):
            program = w.start([s.CLIENTS / "cl-hold", *words], "opencl", name=name, env=env, stdin=subprocess.DEVNULL)
            out = w.finish(program, exits=(4,))
            s.check(f"{call}:" in out, f"{name}: refused by {call}", out)
            denials = [d["reason"] for d in w.history()["denials"] if d["name"] == name]
            s.check(len(denials) == 1 and "memory.visible_memory" in denials[0], f"{name}: history says why", denials)


s.main(what_is_frozen_is_shown_with_its_reason, buffers_leave_for_shared_virtual_memory,
       what_is_mapped_stays_while_the_rest_leaves_for_others, two_that_wait_for_what_the_other_cannot_move,
       what_a_program_may_own_bounds_what_is_frozen_at_the_call)
