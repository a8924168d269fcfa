#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One OpenCL program that is larger than the device: it ends right, moves little more than it must,
and leaves others their share.

48 MiB in 24 buffers, on a device that holds 32 MiB, read or written round after round. Eviction of
the least recently used buffer brings in all 24 in each round. Belady's optimum, which knows the
future, brings in least; foresight predicts a program that loops so well that it comes near that.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

MEMORY, MIB, BUFFERS, ROUNDS = 32 * s.MIB, 48, 24, 12
UNIT = MIB * s.MIB // BUFFERS
SHARE = 1.2  # of the optimum: 1.1 was measured; what runs cannot leave, so on a busy machine another one does
ALL = (1 + ROUNDS) * MIB * s.MIB
SETTINGS = {"memory.reserve_percent": 0, "memory.checksum_moves": "on", "memory.hash_clean": "always", "scheduler.slice": "100ms"}


def optimum(window):
    """How many buffers come in again if the one needed last always leaves."""
    names = [i % BUFFERS for i in range((1 + ROUNDS) * BUFFERS)]
    held, n = {}, 0
    for at, name in enumerate(names):
        n += name not in held and at >= BUFFERS
        if name not in held and len(held) == window:
            del held[max(held, key=held.get)]
        held[name] = next((i for i in range(at + 1, len(names)) if names[i] == name), len(names))
    return n


def steady(world, name):
    """What the daemon knows of a program that has come to rest."""
    told = []

    def stands_still():
        told.append(world.program(name))
        time.sleep(0.25)
        return len(told) > 2 and told[-1]["moved_in_bytes"] == told[-3]["moved_in_bytes"]

    s.wait_until("its figures stand still", stands_still)
    return told[-1]


def read(world, name, *words):
    program = world.start([s.CLIENTS / "cl-read", "--mib", MIB, "--buffers", BUFFERS, "--rounds", ROUNDS, "--wait", *words], "opencl", name=name,
                          stdin=subprocess.PIPE)
    s.check("done\n" in iter(program.stdout.readline, ""), "the program comes to its end")
    return program


def alone(*words, bound=None):
    with s.World("cl-larger", memory=MEMORY, settings=SETTINGS) as w:
        w.start_daemon()
        program = read(w, "large", *words)
        found = steady(w, "large")
        w.end(program)
        moved, out = found["moved_in_bytes"], found["moved_out_bytes"]
        # the small buffer for the results is there too
        best = optimum((found["devices"][0]["limit_bytes"] - 1) // UNIT) * UNIT
        bound = bound or int(best * SHARE)
        s.note(f"{moved >> 20} MiB in, {out >> 20} MiB out, for {ALL >> 20} MiB read of {MIB} MiB on {MEMORY >> 20} MiB; "
               f"the optimum {best >> 20} MiB in, bound {bound >> 20} MiB")
        s.check(moved <= bound, f"not more than {bound >> 20} MiB come in", moved >> 20)


def a_program_larger_than_the_device_keeps_most_of_it_in_place():
    alone()


def also_if_it_writes_all_of_it():
    alone("--update")


def also_if_it_waits_for_each_kernel():
    alone("--finish", "--update")


def also_if_several_kernels_in_a_row_read_each_buffer():
    alone("--times", 3)


def what_is_only_read_is_not_written_back_over_a_slow_bus():
    """Digests wait behind the program's kernels; that must not make them seem slower than the
    copies. These take 20 ms each: the processor is the device, and a digest is slow while others
    use it."""
    settings = SETTINGS | {"memory.hash_clean": "auto"}
    with s.World("cl-larger-clean", memory=MEMORY, settings=settings, limiter={"in": "100M", "out": "100M"}) as w:
        w.start_daemon()
        program = read(w, "reader", "--times", 3, "--passes", 4, "--rounds", 5)
        out = steady(w, "reader")["moved_out_bytes"]
        w.end(program)
        s.note(f"{out >> 20} MiB out of {MIB} MiB that a kernel wrote once")
        s.check(out <= MIB * s.MIB, "not more goes out than was written", out >> 20)


def also_if_it_breaks_its_promises():
    alone("--cast")


def without_an_order_it_moves_no_more_than_it_reads():
    alone("--mix", bound=ALL)


def another_program_beside_it_gets_its_turns():
    with s.World("cl-larger-two", memory=MEMORY, settings=SETTINGS) as w:
        w.start_daemon()
        large = w.start([s.CLIENTS / "cl-read", "--mib", MIB, "--buffers", BUFFERS, "--rounds", 1, "--endless"], "opencl", name="large",
                        stdin=subprocess.PIPE)
        s.wait_until("the large one runs", lambda: (w.program("large") or {}).get("launches", 0) > 2 * BUFFERS)
        s.wait_until("people are told what it does", lambda: "exchanges them as it goes" in w.program("large")["reason"],
                     look=lambda: w.program("large"))
        before = w.program("large")["launches"]
        small = w.start([s.CLIENTS / "cl-fill", "--mib", 16, "--buffers", 8, "--rounds", 1, "--endless", "--seed", 7], "opencl",
                        name="small", stdin=subprocess.PIPE)
        s.wait_until("the small one has had turns", lambda: (w.program("small") or {}).get("turns", 0) > 3)
        s.check("right" in w.end(small), "the small one ends right")
        s.wait_until("the large one runs on", lambda: w.program("large")["launches"] > before)
        names = [t["name"] for t in w.history()["turns"]]
        at = [i for i, name in enumerate(names) if name == "small"]
        s.check(len(at) > 2, "the two really took turns", names)
        # who waits comes next: the large one, always in need, never has two turns while the small one waits
        s.check(all(b - a <= 2 for a, b in zip(at, at[1:])), "the small one waits for one turn of the large one at a time", names)
        s.note(f"the small one had {len(at)} turns")
        w.end(large)


s.main(a_program_larger_than_the_device_keeps_most_of_it_in_place, also_if_it_writes_all_of_it, also_if_it_waits_for_each_kernel,
       also_if_several_kernels_in_a_row_read_each_buffer, what_is_only_read_is_not_written_back_over_a_slow_bus,
       also_if_it_breaks_its_promises,
       without_an_order_it_moves_no_more_than_it_reads, another_program_beside_it_gets_its_turns)
