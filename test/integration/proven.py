#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data that no launch wrote is not written back on CUDA, without digests: the kernels' PTX says what each launch
writes. Programs with launches that are not understood end right, and write everything back."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0, "memory.hash_clean": "off", "memory.predict": "auto"}
SCALE = {"scale": 256}
FIRST_TURNS = 20
TURNS = 40
MIB = 2


def take_turns(name, *words, settings=None, turns=TURNS):
    """Two programs on a device that holds one. Returns the bytes that came in and went out in that
    many turns of each, not counting the turns in which the programs filled their memory."""
    with s.World(f"proven-{name}", memory=3 * s.MIB, settings=SETTINGS | (settings or {}), softgpu=SCALE) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-read", "--mib", MIB, "--buffers", 8, "--rounds", 1, "--endless", "--seed", i, *words],
                            "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]

        def moved_after(n):
            """The sums over both when each has had n turns and moves are reported."""
            found = w.status()["programs"]
            if len(found) == 2 and all(p["turns"] >= n and p["moved_in_bytes"] for p in found):
                return sum(p["moved_in_bytes"] for p in found), sum(p["moved_out_bytes"] for p in found)
            return None

        before = s.wait_until(f"each has had {FIRST_TURNS} turns", lambda: moved_after(FIRST_TURNS), seconds=300)

        def moved_since():
            """Moves are reported later than turns: waits for as many bytes as these turns need."""
            found = moved_after(FIRST_TURNS + turns)
            return found if found and found[0] - before[0] >= turns * MIB * s.MIB / 2 else None

        after = s.wait_until(f"each has had {turns} more, and bytes have come in", moved_since, seconds=300)
        for program in programs:
            w.end(program)
        into, out = after[0] - before[0], after[1] - before[1]
        s.note(f"{name}: {into >> 10} KiB in, {out >> 10} KiB out")
        return into, out


def is_little(into, out):
    """Each turn writes the program's small buffer, which shares an extent with nothing."""
    s.check(out <= into / 8, "little is written back", into, out)


def weights_that_kernels_only_read_are_not_written_back():
    is_little(*take_turns("read"))


def the_same_with_memory_of_a_pool():
    is_little(*take_turns("pool", "--async"))


def a_program_that_writes_its_weights_now_and_then_ends_right():
    take_turns("change", "--change", 5)


def everything_that_moves_between_two_calls_is_right():
    with s.World("proven-torture", memory=4 * s.MIB, softgpu=SCALE) as w:
        for words in [], ["--change", 3], ["--async", "--change", 2]:
            out = w.run([s.CLIENTS / "cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 6, *words], "cuda", sluice=False,
                        env={"LD_PRELOAD": s.BUILD / "src/cuda/libcuda.so.1", "SLUICE_TORTURE": 1})
            s.check("right" in out, "the results are right", out)


def launches_touch_only_what_is_predicted():
    with s.World("proven-compare", memory=16 * s.MIB, softgpu=SCALE) as w:
        for words in (["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 4, "--change", 3],
                      ["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 2, "--async"],
                      ["cuda-fill", "--mib", 2, "--buffers", 4, "--rounds", 3, "--mix"]):
            rows = w.compare_predictions([s.CLIENTS / words[0], *words[1:]])
            s.check(rows and all(row["known_writes"] == row["launches"] for row in rows), "all launches are proven", rows)
            s.check(not sum(row["extra_bytes"] for row in rows), "nothing else is predicted", rows)


def the_setting_turns_it_off():
    into, out = take_turns("off", settings={"memory.predict": "off"}, turns=10)
    s.check(out >= into / 2, "everything is written back", into, out)


s.main(weights_that_kernels_only_read_are_not_written_back, the_same_with_memory_of_a_pool,
       a_program_that_writes_its_weights_now_and_then_ends_right,
       everything_that_moves_between_two_calls_is_right, launches_touch_only_what_is_predicted, the_setting_turns_it_off)
