# SPDX-License-Identifier: Apache-2.0
"""What tests of clean data share: two programs that read their weights and take turns on a device
that holds one, and how many of their bytes move."""

import subprocess

import sluice as s

SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on", "memory.reserve_percent": 0}
SCALE = {"scale": 256}
FIRST_TURNS = 20
TURNS = 40
MIB = 2


def take_turns(name, *words, settings, turns=TURNS, memory=3, softgpu=SCALE):
    """Returns the bytes that came in and went out in that many turns of each, not counting the
    turns in which the programs filled their memory."""
    with s.World(name, memory=memory * s.MIB, settings=SETTINGS | settings, softgpu=softgpu) as w:
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


def is_right_under_torture(name, rounds):
    """While everything moves between two calls."""
    with s.World(name, memory=4 * s.MIB, softgpu=SCALE) as w:
        for words in [], ["--change", 3], ["--async", "--change", 2], ["--graphs", "--change", 3]:
            out = w.run([s.CLIENTS / "cuda-read", "--mib", 1, "--buffers", 4, "--rounds", rounds, *words], "cuda", sluice=False,
                        env={"LD_PRELOAD": s.BUILD / "src/cuda/libcuda.so.1", "SLUICE_TORTURE": 1})
            s.check("right" in out, "the results are right", out)
