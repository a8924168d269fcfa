#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice run` knows whether the front ends were loaded, says so on request, and always says why
not.
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

SAYS = (str(s.SLUICE), "run", "--verbose", "--require")


def world(name):
    return s.World(name, memory=64 * s.MIB)


def start(w, *words, quiet=False):
    """A program that lives until its standard input is closed, started by hand to see stderr."""
    words = [*(SAYS if not quiet else SAYS[:2]), "--socket", str(w.socket), "--", *map(str, words)]
    program = w.start(words, "opencl", sluice=False, stdin=subprocess.PIPE)
    program.label = str(words[-1])
    return program


def joined(w, n=1):
    s.wait_until("it has joined", lambda: sum(p["connection"] == "joined" for p in w.status()["programs"]) == n)


ENDLESS = (s.CLIENTS / "cl-talk", "--mib", 4, "--endless")


def hear(program):
    """The next line that is not the program's own."""
    while True:
        line = program.stdout.readline()
        if line != "ready\n":
            return line


def a_program_that_shares_is_said_to_when_asked():
    with world("attach") as w:
        w.start_daemon()
        program = start(w, *ENDLESS)
        joined(w)
        s.check("shares the GPU as 'cl-talk'" in hear(program), "it is said")
        s.check("launches" in w.end(program), "it ends as ever")


def nothing_is_said_unless_asked():
    with world("quiet") as w:
        w.start_daemon()
        program = start(w, *ENDLESS, quiet=True)
        joined(w)
        out = w.end(program)
        s.check("sluice" not in out and out.count("\n") == 2, "there is no line of ours", out)


def children_keep_the_layer_and_the_group():
    with world("children") as w:
        w.start_daemon()
        endless = " ".join(map(str, ENDLESS))
        program = start(w, "sh", "-c", f"exec 3<&0; {endless} <&3 & {endless} <&3 & wait")
        joined(w, 2)
        groups = {p["group"] for p in w.status()["programs"]}
        s.check(len(groups) == 1, "both are of one group", groups)
        s.check("shares the GPU" in hear(program), "it is said of one of them")
        s.check(w.end(program).count("launches") == 2, "both end as ever")


def cleared(w):
    """Clears the environment, except what PoCL needs."""
    return ["env", "-i", *(f"{k}={v}" for k, v in w.environment().items() if k in ("PATH", "POCL_CACHE_DIR"))]


def a_cleared_environment_is_named():
    with world("cleared") as w:
        w.start_daemon()
        program = start(w, *cleared(w), *ENDLESS, quiet=True)
        said = hear(program) + hear(program)
        s.check("'cl-talk'" in said and "uses OpenCL without Sluice: its environment was cleared" in said and
                "Start that program itself with 'sluice run'" in said, "what, why, what to do", said)
        s.check(not w.status()["programs"], "it has not joined")
        w.end(program)


def a_program_without_a_gpu_is_left_in_peace():
    with world("plain") as w:
        w.start_daemon()
        program = start(w, "sh", "-c", "wait; cat", quiet=True)
        s.check(w.end(program) == "", "not a word")
        program = start(w, "cat")
        s.check("was not seen to use a GPU" in w.end(program), "it is told when asked")


def a_program_that_is_over_at_once_was_seen_as_well():
    with world("short") as w:
        w.start_daemon()
        out = w.run([*SAYS, "--socket", w.socket, "--", s.CLIENTS / "cuda-fill", "--mib", 2, "--rounds", 1], "cuda",
                    sluice=False)
        s.check("the GPU as 'cuda-fill'" in out and "not seen" not in out, "it is said to have shared", out)


def the_program_finds_no_child_that_it_never_made():
    """A shell that waits or looks for its children must not find our watcher."""
    with world("childless") as w:
        w.start_daemon()
        code = "import os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('none')"
        program = start(w, sys.executable, "-c", code, quiet=True)
        s.check(w.finish(program) == "none\n", "it has none")


def a_refusal_is_told_with_its_reason():
    with world("refused") as w:
        w.settings = {"daemon.user_programs_max": 1}
        w.start_daemon()
        first = start(w, *ENDLESS, quiet=True)
        joined(w)
        second = start(w, *ENDLESS, quiet=True)
        said = hear(second)
        s.check("the daemon refused" in said and "too many programs" in said, "who, and why", said)
        w.end(second)
        w.end(first)


NO_MEMORY = 4  # how the programs of test/clients end


def fill(mib):
    return s.CLIENTS / "cuda-fill", "--mib", mib, "--buffers", 2, "--rounds", 1


def a_denial_is_told_when_the_program_ends():
    with world("denied") as w:
        w.settings = {"memory.visible_memory": "16M"}
        w.start_daemon()
        out = w.finish(w.start(fill(32), "cuda", name="greedy"), exits=(NO_MEMORY,))
        reason = w.history()["denials"][-1]["reason"]
        s.check(f"was denied GPU memory: {reason}." in out, "the reason is that of history", out, reason)
        way_out = ("set", "--program", "greedy", "visible_memory", "32M")
        s.check(f"'sluice {' '.join(way_out)}'" in out and out.count("sluice: ") == 1, "the way out is told, once", out)
        s.check(w.sluice(*way_out).returncode == 0, "it can be gone")
        out = w.run(fill(32), "cuda", name="greedy")
        s.check("sluice: " not in out, "and leads out", out)


def a_denial_of_a_child_is_told_and_that_of_another_run_is_not():
    with world("denied-child") as w:
        w.settings = {"program greedy.visible_memory": "16M"}
        w.start_daemon()
        words = " ".join(map(str, fill(32)))
        out = w.run(["sh", "-c", f"{words}; {words}; echo went on"], "cuda", name="greedy")
        s.check("went on" in out and out.count("was denied GPU memory (2 times") == 1, "one line for both", out)
        out = w.run(fill(32), "cuda", name="modest")
        s.check("denied" not in out, "the next run hears nothing of it", out)


def a_program_that_must_share_does_not_start_where_it_would_be_refused():
    with world("required") as w:
        w.settings = {"daemon.user_programs_max": 1}
        w.start_daemon()
        first = start(w, *ENDLESS)
        joined(w)
        out = w.finish(start(w, "echo", "started"), exits=(122,))
        s.check("you have too many programs in the daemon" in out and "'sluice status' lists them" in out and "started" not in out,
                "why, and what to do", out)
        w.end(first)


def a_program_that_must_share_is_ended_when_it_is_refused():
    with world("ended") as w:
        w.settings = {"daemon.user_programs_max": 1}
        w.start_daemon()
        endless = " ".join(map(str, ENDLESS))
        program = start(w, "sh", "-c", f"exec 3<&0; {endless} <&3 & {endless} <&3 & wait")
        said = hear(program)
        while "the daemon refused" not in said:
            said = hear(program)
        s.check("too many programs" in said and "--require" in hear(program), "who, why and what happens", said)
        s.wait_until("one of them is left", lambda: len(w.status()["programs"]) == 1)
        s.check(w.end(program).count("launches") == 1, "one of them went on")


def a_program_that_must_share_is_ended_when_its_environment_was_cleared():
    """One child has joined already, and two others bypass Sluice: each of these is reported and
    ended."""
    with world("bare") as w:
        w.start_daemon()
        endless, bare = " ".join(map(str, ENDLESS)), " ".join(cleared(w))
        program = start(w, "sh", "-c", f"exec 3<&0; {endless} <&3 & {bare} {endless} <&3 & {bare} {endless} <&3 & wait")
        said = ""
        while said.count("--require") < 2:
            said += hear(program)
        s.check(said.count("its environment was cleared") == 2 and said.count("It is ended, as --require asks for.") == 2,
                "who, why and what happens, of both", said)
        s.check(w.end(program).count("launches") == 1, "the one that shares goes on")


def without_socket(w):
    """The command that puts a program where another file has the place of the daemon's socket."""
    for more in ((), ("--user", "--map-root-user")):
        words = ("unshare", *more, "--mount")
        if subprocess.run([*words, "mount", "--bind", "/dev/null", w.socket], capture_output=True).returncode == 0:
            return [*words, "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', w.socket]
    raise s.Skip("this user may not mount anything")


def a_program_that_does_not_reach_the_daemon_is_named_and_ended_if_it_must_share():
    with world("unreached") as w:
        w.start_daemon()
        free = start(w, *without_socket(w), *ENDLESS, quiet=True)
        bound = start(w, *without_socket(w), *ENDLESS)
        for program in (free, bound):
            said = hear(program) + hear(program)
            s.check(f"'cl-talk' (pid {program.pid}) has Sluice's library but did not reach the daemon at {w.socket}: "
                    "that socket is not in the files that it sees" in said and "Show it the socket's folder" in said,
                    "who, why and what to do", said)
        s.check("It is ended, as --require asks for." in hear(bound), "the one is ended")
        w.finish(bound, exits=(-signal.SIGTERM,))
        s.check("launches" in w.end(free), "the other one goes on")


s.main(a_program_that_shares_is_said_to_when_asked, nothing_is_said_unless_asked, a_denial_is_told_when_the_program_ends,
       a_denial_of_a_child_is_told_and_that_of_another_run_is_not,
       children_keep_the_layer_and_the_group, a_cleared_environment_is_named,
       a_program_without_a_gpu_is_left_in_peace, a_program_that_is_over_at_once_was_seen_as_well,
       the_program_finds_no_child_that_it_never_made,
       a_refusal_is_told_with_its_reason, a_program_that_must_share_does_not_start_where_it_would_be_refused,
       a_program_that_must_share_is_ended_when_it_is_refused,
       a_program_that_must_share_is_ended_when_its_environment_was_cleared,
       a_program_that_does_not_reach_the_daemon_is_named_and_ended_if_it_must_share)
