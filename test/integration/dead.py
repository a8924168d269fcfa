#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contents that nobody will read are not copied at a switch: memory that a pool keeps and does not use, and with it
what an iteration needs only until its end, because turns end there."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on", "memory.reserve_percent": 0,
            "memory.predict": "off"}
FIRST_TURNS = 5
TURNS = 40
WEIGHTS_KIB = 256
UNUSED_KIB = 1024


def take_turns(name, *words):
    """Two programs that do not fit together. Returns the bytes that came in for each turn."""
    with s.World(name, memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-train", "--weights", WEIGHTS_KIB, "--steps", 1, "--endless", "--seed", i, *words],
                            "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]

        def moved_after(n):
            s.check(all(p.poll() is None for p in programs), "both run")
            found = w.status()["programs"]
            if len(found) == 2 and all(p["turns"] >= n for p in found):
                return sum(p["turns"] for p in found), sum(p["moved_in_bytes"] for p in found)
            return None

        look = {"seconds": 300, "look": lambda: w.sluice("status").stdout}
        before = s.wait_until(f"each has had {FIRST_TURNS} turns", lambda: moved_after(FIRST_TURNS), **look)
        after = s.wait_until(f"each has had {TURNS} more", lambda: moved_after(FIRST_TURNS + TURNS), **look)
        for program in programs:
            w.end(program)
        per_turn = (after[1] - before[1]) / (after[0] - before[0])
        s.note(f"{name}: {per_turn / 1024:.0f} KiB came in for each turn")
        return per_turn


def what_a_pool_keeps_and_does_not_use_is_not_copied():
    """A cache of the program's own has the same bytes, and nobody tells Sluice that they are not used."""
    pool = take_turns("dead-pool", "--allocator", "async", "--unused", UNUSED_KIB)
    cache = take_turns("dead-cache", "--allocator", "caching", "--unused", UNUSED_KIB)
    s.check(pool < cache / 2, "less than half of what a cache costs comes in", pool, cache)


def turns_end_where_the_least_memory_is_in_use():
    """A step needs five times as much memory as the weights, and frees it at its end."""
    words = ["--allocator", "async", "--together", "--scratch", 512]
    known = take_turns("dead-steps", *words)
    unknown = take_turns("dead-irregular", *words, "--irregular")
    s.check(known < unknown * 3 / 4, "less comes in where steps repeat themselves", known, unknown)


def a_program_tells_what_is_dead_at_the_end_of_a_step():
    """Its allocator keeps what it frees, so that only the program knows."""
    words = ["--allocator", "caching", "--together", "--scratch", 512, "--irregular"]
    told = take_turns("dead-told", *words, "--hints")
    untold = take_turns("dead-untold", *words)
    s.check(told < untold * 3 / 4, "less comes in where the program tells", told, untold)


def hints_do_nothing_without_sluice():
    with s.World("dead-plain", memory=2 * s.MIB, softgpu={"scale": 256}) as w:
        out = w.run([s.CLIENTS / "cuda-train", "--hints", "--steps", 5], "cuda", sluice=False)
        s.check("right" in out, "the results are right", out)


def what_a_program_tells_is_right_while_everything_moves_between_two_calls():
    with s.World("dead-torture", memory=4 * s.MIB, softgpu={"scale": 256}) as w:
        for allocator in "caching", "expandable", "async":
            out = w.run([s.CLIENTS / "cuda-train", "--hints", "--steps", 4, "--together", "--allocator", allocator], "cuda", sluice=False,
                        env={"LD_PRELOAD": s.BUILD / "src/cuda/libcuda.so.1", "SLUICE_TORTURE": 1})
            s.check("right" in out, "the results are right", out)


s.main(what_a_pool_keeps_and_does_not_use_is_not_copied,
       turns_end_where_the_least_memory_is_in_use,
       a_program_tells_what_is_dead_at_the_end_of_a_step,
       hints_do_nothing_without_sluice,
       what_a_program_tells_is_right_while_everything_moves_between_two_calls)
