#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory pools under the CUDA shim: their memory moves, is used again in the order of streams, and is given back."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SCENES = s.BUILD / "src/cuda/cuda-scenes"
SHIM = s.BUILD / "src/cuda/libcuda.so.1"
SMALL = {"scale": 256}
SETTINGS = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}


def fill(mib, seed, *words):
    return [s.CLIENTS / "cuda-fill", "--async", "--mib", mib, "--buffers", 12, "--uneven", "--seed", seed, *words]


def two_programs_whose_pools_do_not_fit_together_take_turns():
    settings = SETTINGS | {"memory.allow_mapped": "off"}
    with s.World("pools-turns", memory=16 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        names = ["fill0", "fill1"]
        fills = [w.start(fill(12, i, "--endless", "--threads", 2), "cuda", name=name, stdin=subprocess.PIPE)
                 for i, name in enumerate(names)]
        s.wait_until("each has had turns in which the other one was away", lambda: all(
            (w.program(name) or {}).get("moved_in_bytes", 0) >= 24 * s.MIB for name in names),
            look=lambda: w.sluice("status").stdout)
        s.check(not any(u["reason"] == "pool" for name in names for u in w.program(name)["unmovable"]), "nothing of a pool stays put",
                w.sluice("status").stdout)
        for program in fills:
            w.end(program)


def a_pool_that_can_be_shared_is_charged_and_shown():
    with s.World("pools-shared", memory=16 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        program = w.start([s.CLIENTS / "cuda-grow", "--pool", "--mib", 2, "--steps", 3, "--ask"], "cuda", name="shared",
                          stdin=subprocess.PIPE)
        for step in range(2):
            program.stdin.write("\n")
            program.stdin.flush()
            s.check(program.stdout.readline() == f"step {step}\n", "it gets its memory")
        s.wait_until("it is shown", lambda: [u["bytes"] for u in w.program("shared")["unmovable"] if u["reason"] == "pool"] == [
            4 * s.MIB], look=lambda: w.sluice("status").stdout)
        w.end(program)


def run_each(world, env, sluice, *more):
    for scene, rounds in [("pool-rules", 1), ("pools", 400), *more]:
        world.run([SCENES, scene, rounds], "cuda", name=scene, sluice=sluice, env=env)


def pools_are_as_with_the_driver_alone():
    with s.World("pools-plain", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7)}, False)


def pools_are_right_without_a_daemon():
    with s.World("pools-loose", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7), "LD_PRELOAD": SHIM}, False, ("late-frees", 1), ("pieces", 1))


def pools_are_right_while_everything_moves_between_two_calls():
    with s.World("pools-torture", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7), "LD_PRELOAD": SHIM, "SLUICE_TORTURE": 1}, False, ("late-frees", 1), ("pieces", 1))


def pools_are_right_beside_programs_that_do_not_fit():
    with s.World("pools-beside", memory=24 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        others = [w.start(fill(12, i, "--endless", "--renew", "--threads", 2), "cuda", name=f"other{i}", stdin=subprocess.PIPE)
                  for i in range(2)]
        run_each(w, {"SLUICE_SEED": s.seed(7)}, True, ("late-frees", 1), ("pieces", 1))
        for other in others:
            w.end(other)


def a_pool_gives_back_what_it_keeps_before_it_takes_the_last_of_the_device():
    with s.World("pools-kept", memory=16 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        w.run([SCENES, "kept-memory"], "cuda", name="keeper")


s.main(two_programs_whose_pools_do_not_fit_together_take_turns,
       a_pool_that_can_be_shared_is_charged_and_shown,
       pools_are_as_with_the_driver_alone,
       pools_are_right_without_a_daemon,
       pools_are_right_while_everything_moves_between_two_calls,
       pools_are_right_beside_programs_that_do_not_fit,
       a_pool_gives_back_what_it_keeps_before_it_takes_the_last_of_the_device)
