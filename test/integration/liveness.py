#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Liveness: programs that wait for each other, stop, or compute for long, on a device that holds
one of them.

Each pair is two runs of `sluice run` with pipes between them, so each has separate turns. The tests
assert that they end, with the right results; the time of a hop is printed, and nothing depends on
it.
"""

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

HOPS = s.scaled("SLUICE_HOPS", 200 if os.environ.get("SLUICE_LONG") else 20)
SETTINGS = {"memory.checksum_moves": "on", "memory.reserve_percent": 0}
# CUDA programs of which one keeps all it has while it waits for the other, and which exceed the device, need mapped memory
MAPPED = SETTINGS | {"memory.allow_mapped": "on"}
SCALED = {"scale": 256}


def pair(w, api, ping, pong):
    """Two programs, each with the other's output as its input. Returns the seconds that they took."""
    there, back = os.pipe(), os.pipe()
    begin = time.monotonic()
    programs = [w.start(ping, api, name="ping", stdin=back[0], stdout=there[1], stderr=None, env={"SLUICE_LOG": w.folder / "ping.log"}),
                w.start(pong, api, name="pong", stdin=there[0], stdout=back[1], stderr=None, env={"SLUICE_LOG": w.folder / "pong.log"})]
    for end in (*there, *back):
        os.close(end)
    return programs, begin


def play(name, api, memory, ping, pong, settings, maps=False):
    with s.World(name, memory=memory, settings=settings, softgpu=SCALED) as w:
        w.start_daemon()
        programs, begin = pair(w, api, ping, pong)
        for program in programs:
            w.finish(program, seconds=120)
        s.note(f"{HOPS * 2} hops, {(time.monotonic() - begin) * 1000 / (HOPS * 2):.1f} ms a hop")
        mapped = sum((w.folder / f"{p}.log").read_text().count("bytes mapped") for p in ("ping", "pong"))
        s.check(mapped or not maps, "one of them ran with units mapped", *((w.folder / f"{p}.log").read_text() for p in ("ping", "pong")))


def cuda(*words):
    return [s.CLIENTS / "cuda-pingpong", "--mib", 1, "--hops", HOPS, *words]


def opencl(role, *words):
    return [s.CLIENTS / "cl-pingpong", "--mib", 4, "--buffers", 4, "--hops", HOPS, "--role", role, *words]


def two_cuda_programs_in_a_pipe():
    play("cuda-pipe", "cuda", 3 * s.MIB // 2, cuda("--begin"), cuda(), SETTINGS)
    play("cuda-pipe", "cuda", 3 * s.MIB // 2, cuda("--begin"), cuda(), MAPPED)


def two_opencl_programs_in_a_pipe():
    play("cl-pipe", "opencl", 6 * s.MIB, opencl("ping"), opencl("pong"), SETTINGS)


def a_user_event_that_the_others_result_sets():
    play("cl-event", "opencl", 6 * s.MIB, opencl("ping", "--event"), opencl("pong"), SETTINGS)


def two_user_events_that_wait_for_each_other():
    play("cl-events", "opencl", 6 * s.MIB, opencl("ping", "--event"), opencl("pong", "--event"), SETTINGS)


def a_deadlock_that_only_waiting_programs_keep_is_reported():
    """A kernel in the driver's queue names all of ping's memory and waits for pong, which has no
    memory."""
    with s.World("deadlock", memory=6 * s.MIB, settings=SETTINGS) as w:
        w.start_daemon()
        programs, _ = pair(w, "opencl", opencl("ping", "--event", "--buffers", 1), opencl("pong", "--buffers", 1))
        why = s.wait_until("pong is told that it waits for ping", lambda: (
            p := w.program("pong")) and p["state"] == "waiting" and "ping" in p["reason"] and p["reason"])
        s.note(f"pong is told: {why}")
        s.wait_until("the daemon reports the deadlock", lambda: "deadlock: pong waits for bytes that ping keeps" in w.log())
        programs[0].kill()
        w.finish(programs[1], exits=(6,))


def a_host_function_that_waits_for_the_other_program():
    # the kernels behind the function might touch all that the first one has: the other one runs beside it, partly mapped
    play("cuda-function", "cuda", 3 * s.MIB // 2, cuda("--begin", "--function"), cuda(), MAPPED, maps=True)


def spin(settings):
    with s.World("spin", memory=3 * s.MIB // 2, settings=settings | {"scheduler.slice": "20ms"},
                 softgpu=SCALED | {"devices": 2}) as w:
        w.start_daemon()
        # a group: both processes are of one `sluice run`, each on a device of its own
        one = f"{s.CLIENTS}/cuda-fill --mib 1 --rounds 30 --verify-each"
        group = w.start(["sh", "-c", f"{one} --device 0 & first=$!; {one} --device 1 && wait $first"], "cuda", name="group")
        programs, begin = pair(w, "cuda", cuda("--begin", "--spin"), cuda("--spin", "--device", 1))
        for program in (*programs, group):
            w.finish(program, seconds=120)
        s.note(f"{HOPS * 2} hops, {(time.monotonic() - begin) * 1000 / (HOPS * 2):.1f} ms a hop")


def two_that_spin_over_two_devices_beside_a_group_that_wants_both():
    spin(SETTINGS)
    spin(MAPPED)


def a_stopped_holder_is_named_and_loses_nothing():
    settings = SETTINGS | {"scheduler.slice": "20ms", "scheduler.close_deadline": "100ms", "scheduler.limit_deadline": "100ms"}
    with s.World("stopped", memory=6 * s.MIB, settings=settings, softgpu=SCALED) as w:
        w.start_daemon()

        def fill(name, mib):
            return w.start([s.CLIENTS / "cuda-fill", "--mib", mib, "--rounds", 1, "--endless"], "cuda", name=name,
                           stdin=subprocess.PIPE)

        def launches(name):
            return w.program(name)["launches"]

        holder = fill("holder", 3)
        s.wait_until("the holder runs", lambda: (w.program("holder") or {}).get("launches", 0) > 5)
        w.stop(holder, "softgpu0")
        large = w.start([s.CLIENTS / "cuda-fill", "--mib", 4, "--rounds", 5], "cuda", name="large")
        why = s.wait_until("the large one is told whom it waits for", lambda: (
            p := w.program("large")) and "holder has not answered for" in p["reason"] and p["reason"],
            look=w.status)
        s.note(f"the large one is told: {why}")
        stuck = s.wait_until("the holder is called stuck", lambda: (p := w.program("holder")) and (
            p["stuck"] or p["silent"]) and p)
        s.check(stuck["device_bytes"] > 0, "its bytes stay where they are", stuck)
        text = w.sluice("status").stdout
        s.check("holder" in text, "people are told too", text)
        small = fill("small", 1)
        s.wait_until("the small one runs in what is left", lambda: (w.program("small") or {}).get("launches", 0) > 50)
        s.wait_until("the large one is still told so", lambda: "holder has not answered for" in w.program("large")["reason"],
                     look=w.status)
        holder.send_signal(signal.SIGCONT)
        w.finish(large)
        before = launches("holder")
        s.wait_until("the holder goes on", lambda: launches("holder") > before)
        for program in (holder, small):
            w.end(program)


def a_copy_that_never_ends_is_named_and_others_run():
    """Whichever copy of a program hangs, at its load or in a switch: programs that fit next to what
    it keeps run, and status names it as long as one that does not fit waits for it."""
    settings = SETTINGS | {"scheduler.slice": "20ms", "scheduler.fill_deadline": "200ms"}
    for number in (12, 15, 20):
        with s.World("hanging", memory=6 * s.MIB, settings=settings, softgpu=SCALED) as w:
            w.start_daemon()

            def fill(name, mib, **more):
                return w.start([s.CLIENTS / "cuda-fill", "--mib", mib, "--rounds", 1, "--endless"], "cuda", name=name,
                               stdin=subprocess.PIPE, **more)

            large = fill("large", 4)
            s.wait_until("the large one runs", lambda: (w.program("large") or {}).get("launches", 0) > 5)
            bad = fill("bad", 4, env={"SLUICE_SOFTGPU_FAULT": f"hang:copy:{number}"})
            why = s.wait_until("it is called stuck", lambda: (p := w.program("bad")) and p["stuck"] and p["reason"], look=w.status)
            s.note(f"copy {number}: {why}")
            s.check("has moved none for" in why, "status says why", why)
            small = fill("small", 1)
            s.wait_until("a program that fits next to it runs", lambda: (w.program("small") or {}).get("launches", 0) > 50, look=w.status)
            ended = [t["reason"] for t in w.history()["turns"] if "bad placed nothing" in t["reason"] or "bytes of bad" in t["reason"]]
            s.check(ended, "history says which turn it ended", w.history()["turns"])
            bad.kill()
            for program in (large, small):
                w.end(program)


def a_copy_that_takes_long_is_not_called_stuck():
    """Each unit takes longer than fill_deadline, in both directions, and its parts arrive all the time."""
    settings = SETTINGS | {"scheduler.fill_deadline": "2500ms", "memory.chunk": "256K", "scheduler.slice": "10ms"}
    slow = {"in": s.MIB, "out": s.MIB}
    with s.World("long-copy", memory=6 * s.MIB, settings=settings, limiter=slow) as w:
        w.start_daemon()
        fill = [s.CLIENTS / "cl-fill", "--mib", 4, "--buffers", 1, "--rounds", 1, "--endless"]
        programs = [w.start([*fill, "--seed", i], "opencl", name=f"p{i}", stdin=subprocess.PIPE) for i in (1, 2)]
        s.wait_until("units left", lambda: sum(p["moved_out_bytes"] for p in w.status()["programs"]) >= 8 * s.MIB, seconds=120)
        for program in programs:
            w.end(program)
        log = w.log()
        s.check("given up none" not in log and "placed nothing" not in log, "neither was called stuck for its copies", log[-3000:])


def a_five_second_kernel_with_a_spinning_host_keeps_its_turn():
    with s.World("long", memory=3 * s.MIB // 2, settings=SETTINGS | {"scheduler.slice": "1h"}, softgpu=SCALED) as w:
        w.start_daemon()
        # one kernel; the host asks all the time whether it has ended, and does nothing else
        begin = time.monotonic()
        holder = w.start([s.CLIENTS / "cuda-pingpong", "--begin", "--spin", "--hops", 1], "cuda", name="holder",
                         stdout=subprocess.DEVNULL, env={"SLUICE_SOFTGPU_FAULT": "slow:launch:1:5s"})
        s.wait_until("the kernel runs", lambda: (w.program("holder") or {}).get("launches"))
        other = w.start([s.CLIENTS / "cuda-fill", "--mib", 1, "--buffers", 1, "--rounds", 1], "cuda",
                        name="other")
        w.finish(holder)
        w.finish(other)
        ends = [j["end"] for j in w.jobs("softgpu0") if j["engine"] == "compute" and j["pid"] == holder.pid]
        s.check(len(ends) == 1 and ends[0] - begin >= 5, "it had one kernel, which took its time", ends, begin)
        w.check_not_closed_before("holder", ends[0])


def a_burst_of_launches_is_not_in_flight_all_at_once():
    """The other program waits for the work in flight at a CLOSE: few launches, however many the
    program has in store."""
    n = 10_000 if os.environ.get("SLUICE_LONG") else 300
    with s.World("burst", memory=6 * s.MIB, settings=SETTINGS | {"scheduler.slice": "50ms"}) as w:
        w.start_daemon()

        def talk(name, *words):
            program = w.start([s.CLIENTS / "cl-talk", "--mib", 4, *words], "opencl", name=name, stdin=subprocess.PIPE, stderr=None)
            s.check(program.stdout.readline() == "ready\n", f"{name} is ready", w.log()[-2000:])
            return program

        def order(program):
            program.stdin.write("job\n")
            program.stdin.flush()

        other, burst = talk("other", "--ms", 1), talk("burst", "--ms", 5, "--burst", n)
        order(burst)
        for _ in range(3):
            order(other)
            other.stdout.readline()
        w.end(other)
        n_most = int(w.end(burst))
        drains = [t["end_ms"] - t["closing_ms"] for t in w.history()["turns"] if t["name"] == "burst" and t["closing_ms"] and t["end_ms"]]
        s.note(f"{n_most} of {n} launches in flight at most; its turns' drains took {drains} ms")
        s.check(drains, "a turn of the burst was closed", w.history()["turns"])
        # short ones went before: the first of these may be taken for such, up to the limit and a run
        s.check(n_most <= 96, "few launches were in flight at any time", n_most)


if __name__ == "__main__":
    s.main(two_cuda_programs_in_a_pipe, two_opencl_programs_in_a_pipe, a_user_event_that_the_others_result_sets,
           two_user_events_that_wait_for_each_other, a_deadlock_that_only_waiting_programs_keep_is_reported,
           a_host_function_that_waits_for_the_other_program, two_that_spin_over_two_devices_beside_a_group_that_wants_both, a_stopped_holder_is_named_and_loses_nothing,
           a_copy_that_never_ends_is_named_and_others_run, a_copy_that_takes_long_is_not_called_stuck,
           a_five_second_kernel_with_a_spinning_host_keeps_its_turn, a_burst_of_launches_is_not_in_flight_all_at_once)
