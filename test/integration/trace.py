#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice trace record`: what programs do on a live daemon, as a scenario that `sluice sim` replays."""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

STEP_US = 20000
STEPS = {"long": 100, "short": 20, "middle": 50}
EXPECT = {"long": "60s", "short": "1s", "middle": "10s"}


def llm(steps):
    return [s.CLIENTS / "cuda-llm", "--weights", 36 * 1024, "--cache", 2048, "--layers", 4, "--steps", steps, "--us", STEP_US]


def replay(path, *policies):
    done = subprocess.run([s.SLUICE, "sim", "--json", "--policy", ",".join(policies), path], capture_output=True, text=True)
    s.check(done.returncode == 0, "the recording is a scenario", done.stderr, path.read_text())
    return {run["policy"]: {p["name"]: p for p in run["programs"]} for run in json.loads(done.stdout)}


def recorder(w, *words):
    return subprocess.Popen([s.SLUICE, "trace", "record", *words, "--socket", w.socket], stderr=subprocess.PIPE, text=True)


def pauses(process):
    """How often it has slept: at least once for each sample, and for an answer two or three times more."""
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))


def three_programs_are_recorded_and_replayed():
    """One fits at a time. Recorded under fifo, replayed under fifo and srtf."""
    with s.World("trace", memory=64 * s.MIB, softgpu={"profile": "rtx5080", "context_overhead": 0},
                 settings={"scheduler.policy": "fifo", "scheduler.slice": "200ms", "scheduler.slice_min_switches": 1,
                           "memory.reserve_percent": 0}) as w:
        w.start_daemon()
        path = w.folder / "a.scenario"
        trace = recorder(w, path)
        programs = {}
        for name, steps in STEPS.items():
            programs[name] = w.start(llm(steps), "cuda", name=name, options=["--expect", EXPECT[name]])
            s.wait_until(f"{name} wants to run", lambda n=name: (w.program(n) or {}).get("ram_bytes") or (w.program(n) or {}).get("launches"))
        for program in programs.values():
            w.finish(program)
        trace.send_signal(signal.SIGINT)
        _, said = trace.communicate(timeout=60)
        s.check(trace.returncode == 0 and "3 runs recorded" in said, "it ends at Ctrl-C and says what it has", said, trace.returncode)
        runs = replay(path, "fifo", "srtf")
        fifo, srtf = runs["fifo"], runs["srtf"]
        s.check(set(fifo) == set(STEPS), "three programs", path.read_text())
        for name, steps in STEPS.items():
            least = steps * STEP_US / 1e3
            s.check(0.9 * least <= fifo[name]["device_ms"], f"{name} uses the device as long as it did", fifo[name], path.read_text())
            s.check(fifo[name]["ended_ms"] is not None, f"{name} ends", fifo[name])
        last, used = max(p["ended_ms"] for p in fifo.values()), sum(p["device_ms"] for p in fifo.values())
        s.check(last >= used, "one at a time", fifo)
        s.check(srtf["short"]["ended_ms"] < srtf["long"]["ended_ms"], "under srtf it does not", srtf)
        text = path.read_text()
        s.check("policy = fifo" in text and "expect = 60000ms" in text, "the settings and what was said are in it", text)


def a_recording_ends_after_its_time():
    with s.World("trace-for", memory=64 * s.MIB) as w:
        w.start_daemon()
        path = w.folder / "b.scenario"
        with w.full_of(8):
            trace = recorder(w, "--for", "300ms", path)
            _, said = trace.communicate(timeout=60)
            s.check(trace.returncode == 0 and "1 run recorded" in said, "what was seen is written", said)
        runs = replay(path, "mlfq")
        program = runs["mlfq"]["endless"]
        s.check(program["ended_ms"] and program["arrived_ms"] == 0, "with what it used in that time", program, path.read_text())


def a_recording_outlives_its_daemon():
    with s.World("trace-death", memory=64 * s.MIB) as w:
        w.start_daemon()
        path = w.folder / "c.scenario"
        with w.full_of(8):
            trace = recorder(w, path)
            s.wait_until("it has asked several times", lambda: pauses(trace) > 40)
            w.kill_daemon()
            _, said = trace.communicate(timeout=60)
            s.check(trace.returncode == 121, "it says that the daemon is gone", said, trace.returncode)
        s.check("1 run recorded" in said and "policy = " in path.read_text(), "and writes what it has", said)


def faults_are_said():
    with s.World("trace-faults") as w:
        w.start_daemon()
        done = w.sluice("trace", "play")
        s.check(done.returncode == 120 and "'play' is no part of trace" in done.stderr, "an unknown part", done)
        done = w.sluice("trace", "record", "--for", "50ms", "/nowhere/a")
        s.check(done.returncode == 124 and "cannot write /nowhere/a" in done.stderr, "a file that cannot be written", done)
    done = subprocess.run([s.SLUICE, "trace", "record", "--socket", "/nowhere/socket"], capture_output=True, text=True)
    s.check(done.returncode == 121, "no daemon", done)


s.main(three_programs_are_recorded_and_replayed, a_recording_ends_after_its_time, a_recording_outlives_its_daemon, faults_are_said)
