#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA programs larger than the device, with allow_mapped = auto: memory that does not fit is
reached over the bus. A program still sees only the device's free memory, a program that fits is not
mapped, and beyond the pinned budget the allocation fails and the user is told what to do.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

DEVICE = 16
NO_MEMORY = 4  # how the programs of test/clients end
SMALL = {"scale": 256, "context_overhead": "512K"}


def world(name, **settings):
    fixed = {"scheduler.slice": "50ms", "memory.checksum_moves": "on", "memory.allow_mapped": "auto"}
    return s.World(f"larger-{name}", memory=DEVICE * s.MIB, settings=fixed | settings, softgpu=SMALL)


def fill(mib, *words):
    return [s.CLIENTS / "cuda-fill", "--mib", mib, "--buffers", 10, "--seed", s.seed(mib), *words]


def modes(w):
    return {p["name"]: p["mode"] for p in w.status()["programs"]}


def alone():
    for mib in (20, 24):
        with world(f"alone-{mib}") as w:
            w.start_daemon()
            program = w.start(fill(mib, "--rounds", 1, "--endless"), "cuda", name="large", stdin=subprocess.PIPE)
            s.wait_until("the rest is mapped", lambda: (w.program("large") or {}).get("mapped_bytes", 0) >= (mib - DEVICE) * s.MIB,
                         look=lambda: w.log()[-2000:])
            large = w.program("large")
            s.check(large["mode"] == "mapped" and "over the bus" in large["reason"], "status says so", large)
            s.check(large["device_bytes"] > DEVICE * s.MIB * 3 // 4, "what fits is on the device", large)
            w.end(program)
            s.check(not w.history()["denials"], "nobody was denied")


def next_to_others():
    with world("next") as w:
        w.start_daemon()
        other = w.start(fill(10, "--rounds", 1, "--endless"), "cuda", name="small", stdin=subprocess.PIPE)
        s.wait_until("it runs", lambda: (w.program("small") or {}).get("launches"))
        large = [w.start(fill(mib, "--rounds", 3), "cuda", name=f"large{mib}") for mib in (20, 24)]
        for program in large:
            w.finish(program)
        s.check(modes(w) == {"small": "all"}, "who fits is not mapped", modes(w))
        s.check(w.program("small")["mapped_bytes"] == 0, "not a byte of it", w.program("small"))
        w.end(other)
        s.check(not w.history()["denials"], "nobody was denied")


def two_that_fit_are_not_mapped():
    with world("fit") as w:
        w.start_daemon()
        programs = [w.start(fill(12, "--rounds", 1, "--endless"), "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]
        s.wait_until("both took turns", lambda: len(modes(w)) == 2 and all(p["turns"] > 5 for p in w.status()["programs"]))
        for program in programs:
            w.end(program)
        logs = [path.read_text() for path in w.folder.glob("p?.log")]
        s.check(not any("bytes mapped" in log for log in logs), "nothing of either was mapped")


def beyond_the_budget_is_out_of_memory_with_its_numbers():
    with world("beyond", **{"memory.pinned": "8M", "memory.staging": "1M"}) as w:
        w.start_daemon()
        # at one allocation, which may not be, and at the last of many, for which the budget does not suffice
        for buffers, words in ((1, "may own 22.5 MiB"), (10, "of memory.pinned")):
            w.finish(w.start([s.CLIENTS / "cuda-fill", "--mib", 32, "--buffers", buffers, "--rounds", 1], "cuda", name="greedy"), exits=(NO_MEMORY,))
            denial = w.history()["denials"][-1]
            s.check(words in denial["reason"] and "memory.pinned" in denial["reason"], "the numbers are named", denial)
            s.check("sluice set memory.pinned" in denial["hint"], "and the way out", denial)


def what_the_driver_refuses_is_mapped():
    with world("refused", **{"memory.allow_mapped": "on"}) as w:
        w.start_daemon()
        out = w.run(fill(10, "--rounds", 5), "cuda", name="refused", env={"SLUICE_SOFTGPU_FAULT": "memory:8M",
                                                                          "SLUICE_LOG": w.folder / "refused.log"})
        s.note(out.splitlines()[0])
        s.check("bytes mapped" in (w.folder / "refused.log").read_text(), "the rest was mapped", w.log()[-2000:])


def off_is_as_without_sluice():
    with world("off", **{"memory.allow_mapped": "off"}) as w:
        w.start_daemon()
        w.finish(w.start(fill(20, "--rounds", 1), "cuda", name="greedy"), exits=(NO_MEMORY,))
        denial = w.history()["denials"][-1]
        s.check("allow_mapped auto" in denial["hint"], "the way out is named", denial)


s.main(alone, next_to_others, two_that_fit_are_not_mapped, beyond_the_budget_is_out_of_memory_with_its_numbers, what_the_driver_refuses_is_mapped,
       off_is_as_without_sluice)
