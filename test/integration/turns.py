#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns on the software GPU: what they move, and which programs go on.

The device's bus is slow here, so that a switch takes longer than the pauses of the programs.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

SLOW = {"profile": "rtx5080", "scale": 512, "context_overhead": 0}
SETTINGS = {"memory.reserve_percent": 0, "memory.checksum_moves": "on"}


def a_newcomer_that_pauses_while_it_loads_moves_what_it_must():
    """A program of 20 MiB computes without end, and one of 16 MiB loads next to it in steps, on a
    device of 24 MiB."""
    with s.World("loading", memory=24 * s.MIB, settings=SETTINGS | {"scheduler.allotment": "200ms"}, softgpu=SLOW) as w:
        w.start_daemon()
        endless = w.start([s.CLIENTS / "cuda-fill", "--mib", 20, "--buffers", 5, "--rounds", 1, "--endless"], "cuda", name="endless", stdin=subprocess.PIPE)
        s.wait_until("the endless one has sunk", lambda: (w.program("endless") or {}).get("level", 0) > 1)
        w.finish(w.start([s.CLIENTS / "cuda-grow", "--mib", 1, "--steps", 16, "--idle", 150], "cuda", name="loader"))
        history = w.history()
        moved = sum(m["in_bytes"] + m["out_bytes"] for m in history["moves"]) // s.MIB
        n_turns = sum(t["name"] == "loader" for t in history["turns"])
        s.note(f"{moved} MiB moved, the loader had {n_turns} turns")
        w.end(endless)
        # 12 MiB must go and may come back; it was 290 when each pause ended the turn
        s.check(12 <= moved <= 120, "bytes moved once, not with each pause", moved, w.log()[-4000:])


def three_that_take_unmovable_memory_step_by_step_all_end():
    """Each takes half of the device from a pool that can be shared. All at once would have a third
    each, and none could go on."""
    with s.World("growers", memory=24 * s.MIB, settings={"memory.capacity_patience": "5s"}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-grow", "--pool", "--mib", 1, "--steps", 12, "--idle", 250], "cuda", name=f"grower{i}") for i in range(3)]
        for program in programs:
            w.finish(program)
        history = w.history()
        s.check(not history["denials"], "nobody was told out of memory", history["denials"])
        s.check(any("take memory that cannot move" in t["reason"] for t in history["turns"]), "they grew one at a time", history["turns"])


if __name__ == "__main__":
    s.main(a_newcomer_that_pauses_while_it_loads_moves_what_it_must, three_that_take_unmovable_memory_step_by_step_all_end)
