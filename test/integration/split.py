#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of one `sluice run` on a device that holds one of them: they are split, take turns, and
end right.

One run is one group with turns together. If its programs together exceed the device, the core gives
one of them a group of its own instead of denying it memory.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "20ms", "memory.checksum_moves": "on", "memory.reserve_percent": 0}
SCALED = {"scale": 256}
HOPS = s.scaled("SLUICE_HOPS", 200 if os.environ.get("SLUICE_LONG") else 10)
PROGRAMS = {"cuda": "cuda-fill", "opencl": "cl-fill"}


def shell(*lines):
    """The programs of one run, side by side, with the input of the run; ends with 0 if each of them does."""
    starts = " ".join(f"{line} <&3 & pids=\"$pids $!\";" for line in lines)
    return ["sh", "-c", f"exec 3<&0; {starts} for p in $pids; do wait $p || failed=$?; done; exit ${{failed:-0}}"]


def fill(api, seed, *words):
    return " ".join(str(w) for w in (s.CLIENTS / PROGRAMS[api], "--seed", seed, *words))


def endless(w, api, n):
    """Each has three quarters of the device as one buffer, so that even a single command exceeds
    the remainder."""
    return w.start(shell(*[fill(api, i, "--mib", 3, "--buffers", 1, "--rounds", 5, "--verify-each", "--endless")
                           for i in range(n)]), api, name="run", stdin=subprocess.PIPE)


def split(w):
    return [p for p in w.status()["programs"] if p["split_from"]]


def tail(w):
    return w.log()[-3000:]


def in_one_run(api, n):
    with s.World(f"{api}-{n}-split", memory=4 * s.MIB, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        run = endless(w, api, n)
        s.wait_until("all but one are split", lambda: len(split(w)) == n - 1, look=lambda: tail(w))
        for program in split(w):
            s.check("split from run: together they exceed the device" in program["reason"],
                    "status says why they are separate", program)
        s.check("split from run" in w.sluice("status").stdout, "people are told too", w.sluice("status").stdout)
        s.wait_until("each has turns of its own", lambda: len(found := w.status()["programs"]) == n and all(
            p["turns"] > 2 for p in found), look=lambda: tail(w))
        names = {t["name"]: t["pid"] for t in w.history()["turns"]}
        s.check(len(names) == n and all(name in ("run", f"run ({pid})") for name, pid in names.items()),
                "each has a name of its own in history", names)
        w.end(run)
        s.check("DENY" not in w.log(), "nobody is told that there is no memory", tail(w))
        s.check(w.log().count("together they exceed") == n - 1, "each is split once", tail(w))


def two_cuda_programs_of_one_run_that_exceed_the_device():
    in_one_run("cuda", 2)


def three_cuda_programs_of_one_run_that_exceed_the_device():
    in_one_run("cuda", 3)


def two_opencl_programs_of_one_run_that_exceed_the_device():
    in_one_run("opencl", 2)


def three_opencl_programs_of_one_run_that_exceed_the_device():
    in_one_run("opencl", 3)


def opencl_programs_whose_working_sets_exceed_the_device():
    """Each command fits next to those of the other program, but not what they name in turn."""
    with s.World("crowd", memory=4 * s.MIB, settings=SETTINGS | {"scheduler.need_window": "200ms"}) as w:
        w.start_daemon()
        run = w.start(shell(*[fill("opencl", i, "--mib", 3, "--buffers", 12, "--rounds", 5, "--endless") for i in range(2)]),
                      "opencl", name="run", stdin=subprocess.PIPE)
        s.wait_until("one is split", lambda: split(w), look=lambda: tail(w))
        w.end(run)


def who_never_fits_is_told_as_if_it_were_alone():
    """The large program alone exceeds the device; the other one of its run does not suffer."""
    with s.World("never", memory=4 * s.MIB, settings=SETTINGS | {"memory.allow_mapped": "off"}, softgpu=SCALED) as w:
        w.start_daemon()
        run = w.start(shell(fill("cuda", 1, "--mib", 2, "--rounds", 40, "--verify-each"),
                            fill("cuda", 2, "--mib", 6, "--buffers", 2, "--rounds", 1)), "cuda", name="run")
        out = w.finish(run, exits=(4,))
        s.check(out.count("cuMemAlloc") == 1, "the large one is told so by its own call, the other one ends right", out)


def in_a_pipe(api, memory, ping, pong):
    """Two programs of one run that wait for each other in turn: a hop ends when the holder is seen
    to be idle."""
    with s.World(f"{api}-split-pipe", memory=memory, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        there, back = w.folder / "there", w.folder / "back"
        for fifo in (there, back):
            os.mkfifo(fifo)
        # opened for both directions first, so that neither waits for the other one to come
        run = w.start(shell(f"exec {ping} 3<>{back} >{there}", f"exec {pong} 3<>{there} >{back}"), api, name="run")
        w.finish(run, seconds=120)
        s.check("together they exceed" in w.log(), "they were split", tail(w))


def two_cuda_programs_of_one_run_in_a_pipe():
    program = f"{s.CLIENTS}/cuda-pingpong --mib 1 --hops {HOPS}"
    in_a_pipe("cuda", 3 * s.MIB // 2, f"{program} --begin", program)


def two_opencl_programs_of_one_run_in_a_pipe():
    program = f"{s.CLIENTS}/cl-pingpong --mib 4 --buffers 1 --hops {HOPS}"
    in_a_pipe("opencl", 6 * s.MIB, f"{program} --role ping", f"{program} --role pong")


def a_split_program_stays_so_over_a_restart():
    with s.World("split-restart", memory=4 * s.MIB, settings=SETTINGS, softgpu=SCALED) as w:
        w.start_daemon()
        run = endless(w, "cuda", 2)
        (before,) = s.wait_until("one is split", lambda: split(w), look=lambda: tail(w))
        w.kill_daemon()
        w.start_daemon()

        def both_are_back():
            programs = w.status()["programs"]
            return len(programs) == 2 and all(p["connection"] == "joined" for p in programs) and programs

        s.wait_until("both are back", both_are_back, look=lambda: tail(w))
        (after,) = split(w)
        s.check((after["pid"], after["group"]) == (before["pid"], before["group"]), "it is still split", before, after)
        turns = s.wait_until("both go on", lambda: all(p["turns"] > 3 for p in w.status()["programs"]), look=lambda: tail(w))
        s.check(turns and w.log().count("together they exceed") == 1, "it was split once", tail(w))
        w.end(run)


s.main(two_cuda_programs_of_one_run_that_exceed_the_device,
       three_cuda_programs_of_one_run_that_exceed_the_device,
       two_opencl_programs_of_one_run_that_exceed_the_device,
       three_opencl_programs_of_one_run_that_exceed_the_device,
       opencl_programs_whose_working_sets_exceed_the_device,
       who_never_fits_is_told_as_if_it_were_alone,
       two_cuda_programs_of_one_run_in_a_pipe,
       two_opencl_programs_of_one_run_in_a_pipe,
       a_split_program_stays_so_over_a_restart)
