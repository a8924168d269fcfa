#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes: programs whose memory leaves and returns a thousand times find its contents unchanged.

Four programs share a device that holds one of them. Sizes, orders and ways of changing memory come
from a seed; several threads and streams work at once; every move is checksummed, and the programs
check every word. They go on until there were enough switches between them (SLUICE_SWITCHES).
"""

import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SWITCHES = s.scaled("SLUICE_SWITCHES", 1000)
SETTINGS = {"scheduler.slice": "2ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0}


def go_on_until(world, programs, n_switches):
    """Lets endless programs run until there were n_switches, then ends them and checks them."""
    switches = s.Switches(world)
    begin = time.monotonic()

    def enough():
        for program in programs:
            if program.poll() is not None:
                world.finish(program)
                raise s.Failure(f"{program.label} ended before it was told to", program.stdout.read())
        time.sleep(0.2)
        return switches.look() >= n_switches

    s.wait_until(f"there were {n_switches} switches", enough, seconds=60 + n_switches)
    seconds = time.monotonic() - begin
    moved = sum(p["moved_in_bytes"] + p["moved_out_bytes"] for p in world.status()["programs"])
    for program in programs:
        program.stdin.close()
        program.stdin = None
    for program in programs:
        world.finish(program)
    count = switches.look()
    s.note(f"{count} switches, {moved >> 20} MiB moved, {seconds * 1000 / count:.1f} ms a switch")
    s.check(count >= n_switches and moved > 0, "bytes moved at switches", count, moved)


def four_cuda_programs(name, *words):
    rng = random.Random(s.seed(20251))
    with s.World(name, memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = []
        for i in range(4):
            more = [s.CLIENTS / "cuda-fill", "--mib", 1, "--buffers", rng.randrange(8, 24), "--rounds", 1, "--endless",
                    "--uneven", "--threads", rng.randrange(1, 4), "--streams", rng.randrange(0, 4),
                    "--seed", rng.randrange(1 << 20), *words] + ["--mix"] * (i != 0)
            programs.append(w.start(more, "cuda", name=f"p{i}", stdin=subprocess.PIPE))
        go_on_until(w, programs, SWITCHES)


def four_cuda_programs_on_a_device_that_holds_one():
    four_cuda_programs("cuda-bytes")


def four_that_map_half_of_their_memory_themselves():
    four_cuda_programs("cuda-own", "--own", 6)


def four_that_map_their_memory_anew_all_the_time():
    four_cuda_programs("cuda-renew", "--own", 24, "--renew")


def four_with_every_kind_of_memory():
    """Memory that is managed, mapped by the program or from pools, changed by kernels, copies and
    graphs, in streams of threads."""
    four_cuda_programs("cuda-kinds", "--own", 3, "--managed", 2, "--async", "--renew", "--graphs", "--per-thread")


def four_with_the_allocator_of_a_framework(kind):
    """Weights and temporary memory come from a cache in front of the driver. The device holds one
    program, and two without temporaries."""
    rng = random.Random(s.seed(20254))
    with s.World(f"train-{kind}", memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-train", "--allocator", kind, "--weights", 1024, "--layers", rng.randrange(4, 24),
                             "--segment", rng.choice((16, 64, 128)), "--steps", 1, "--endless", "--seed", rng.randrange(1 << 20)],
                            "cuda", name=f"p{i}", stdin=subprocess.PIPE) for i in range(4)]
        go_on_until(w, programs, max(SWITCHES // 4, 100))


def four_with_caching_allocators():
    four_with_the_allocator_of_a_framework("caching")


def four_with_expandable_segments():
    four_with_the_allocator_of_a_framework("expandable")


def four_that_map_a_reservation_step_by_step():
    four_with_the_allocator_of_a_framework("stack")


def four_with_pools_that_keep_everything():
    four_with_the_allocator_of_a_framework("async")


def four_opencl_programs_on_a_device_that_holds_one():
    rng = random.Random(s.seed(20252))
    with s.World("cl-bytes", memory=6 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        programs = []
        for i in range(4):
            words = [s.CLIENTS / "cl-fill", "--mib", 4, "--buffers", rng.randrange(4, 16), "--rounds", 1, "--endless",
                     "--uneven", "--threads", rng.randrange(1, 4), "--seed", rng.randrange(1 << 20)] + [
                         "--mix"] * (i != 0) + ["--out-of-order"] * (i % 2)
            programs.append(w.start(words, "opencl", name=f"p{i}", stdin=subprocess.PIPE))
        go_on_until(w, programs, SWITCHES)


def pointers_in_device_memory_lead_where_they_did():
    rng = random.Random(s.seed(20253))
    with s.World("chase", memory=3 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-chase", "--mib", 2, "--buffers", rng.randrange(1, 9), "--rounds", 1,
                             "--endless", "--steps", 200, "--seed", rng.randrange(1 << 20)], "cuda", name=f"p{i}",
                            stdin=subprocess.PIPE) for i in range(2)]
        go_on_until(w, programs, SWITCHES)


s.main(four_cuda_programs_on_a_device_that_holds_one, four_that_map_half_of_their_memory_themselves,
       four_that_map_their_memory_anew_all_the_time, four_with_every_kind_of_memory, four_with_caching_allocators,
       four_with_expandable_segments, four_that_map_a_reservation_step_by_step, four_with_pools_that_keep_everything,
       four_opencl_programs_on_a_device_that_holds_one,
       pointers_in_device_memory_lead_where_they_did)
