#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clean data: what a program that mostly reads copies out of the device, with and without digests, and what a digest costs.

A program of 48 MiB in 12 buffers reads all of them in each round, on a device that holds 32 MiB: everything goes to and fro. Without
digests each buffer is copied out again, because an argument that points to const is no proof; with them only what was written is.
Then a program beside another one, in turns. At last the digest of one buffer on the device beside its copy to the host.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "lib"))
import sluice as s
from figures import Disturbance, conditions, figure

BUS = {"in": "400M", "out": "400M"}
ROUNDS = 20


def run(how, n, memory, mib, rounds):
    """n programs until they are done. Return: the bytes that they copied out and in, and the time."""
    settings = {"memory.hash_clean": how, "memory.reserve_percent": 0, "scheduler.slice": "200ms"}
    with s.World("bench-clean", memory=memory, settings=settings, limiter=BUS) as w:
        w.start_daemon()
        began = time.monotonic()
        programs = [w.start([s.CLIENTS / "cl-read", "--mib", mib, "--buffers", 12, "--rounds", rounds, "--seed", i, "--wait"], "opencl",
                            name=f"p{i}", stdin=subprocess.PIPE) for i in range(n)]
        for program in programs:
            s.check("done\n" in iter(program.stdout.readline, ""), "the program comes to its end")
        took = time.monotonic() - began
        told = []

        def is_steady():
            told.append([(p["moved_out_bytes"], p["moved_in_bytes"], p["launches"]) for p in w.status()["programs"]])
            time.sleep(0.25)
            return len(told) > 2 and told[-1] == told[-3]

        s.wait_until("the figures stand still", is_steady)
        for program in programs:
            w.end(program)
        return sum(p[0] for p in told[-1]), sum(p[1] for p in told[-1]), took


def compare(name, n, memory, mib, rounds):
    with Disturbance() as quiet:
        found = {how: run(how, n, memory, mib, rounds) for how in ("off", "auto", "always")}
    for how, (out, into, took) in found.items():
        print(f"{name}, hash_clean = {how}: {out / s.MIB:.0f} MiB out, {into / s.MIB:.0f} MiB in, {took:.1f} s")
    figure(f"cl-clean.{name}_out_bytes", found["always"][0], "bytes", bound=1.1 * n * mib * s.MIB, valid=True, without=found["off"][0])
    # what auto comes to is decided by times, so others on the machine decide too
    figure(f"cl-clean.{name}_auto_out_bytes", found["auto"][0], "bytes", bound=1.1 * n * mib * s.MIB, valid=quiet.is_quiet)
    figure(f"cl-clean.{name}_auto_seconds", found["auto"][2], "s", valid=quiet.is_quiet, without=round(found["off"][2], 2))


conditions(f"cl-clean: PoCL, limited to 400 MiB/s each way; cl-read, {ROUNDS} rounds; out_bytes: all that was copied out; its bound: "
           "once what the program writes, and a tenth for its results")
compare("alone", 1, 32 * s.MIB, 48, ROUNDS)
compare("turns", 2, 32 * s.MIB, 24, 4 * ROUNDS)

conditions("cl-clean, digest: 64 MiB on PoCL (the processor plays the device, so the copy is one in memory), medians of 15; host: by the processor")
with Disturbance() as quiet, s.World("bench-hash") as w:
    out = subprocess.run([s.BUILD / "src/opencl/bench-cl-clean"], env=w.environment(), capture_output=True, text=True, check=True).stdout
hash_ms, copy_ms, host_ms = (int(ns) / 1e6 for ns in out.split())
figure("cl-clean.hash_ms", hash_ms, "ms", valid=quiet.is_quiet, copy_ms=round(copy_ms, 2), host_ms=round(host_ms, 2),
       at_400_mib_s_ms=160.0)
