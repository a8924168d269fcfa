#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the genuine driver demands of the CUDA shim (docs/driver.md), checked by a driver that
records its calls.
"""

import collections
import functools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SCENES = s.BUILD / "src/cuda/cuda-scenes"
SPY = s.BUILD / "src/cuda/libcuda-spy.so"
SMALL = {"scale": 256}
SETTINGS = {"scheduler.slice": "50ms", "memory.checksum_moves": "on", "memory.allow_mapped": "off"}
N_UNITS = 96 # of 128 KiB in 12 MiB
RELAXED = 2
MAPPING = ("cuMemMap", "cuMemSetAccess", "cuMemUnmap")
BYPASS = "passes by the gate"

Line = collections.namedtuple("Line", "thread call mode bytes result begin end detail")


class Spied(s.World):
    """A world with the spy between the shim and the software GPU."""

    def spied(self, words, name, env=None, **more):
        extra = {"SLUICE_CUDA_DRIVER": SPY, "SLUICE_SPY_DRIVER": s.SOFTGPU / "libcuda.so.1",
                 "SLUICE_SPY_LOG": self.folder / f"{name}.calls"}
        return self.start(words, "cuda", name=name, env=extra | (env or {}), **more)

    def calls(self, name):
        path = self.folder / f"{name}.calls"
        text = path.read_text() if path.exists() else ""
        lines = [line.split() for line in text[:text.rfind("\n") + 1].splitlines()]
        return [Line(w[0], w[1], *map(int, w[2:7]), w[7]) for w in lines]

    def switch(self, until, fault=None, env=None):
        """Two programs that do not fit together switch until enough of the first one's calls were
        recorded. The fault is in the first one."""
        def start(name, env):
            return self.spied(fill(12, 1) + ["--endless"], name, stdin=subprocess.PIPE, env=env)

        env = env or {}
        first = start("fill0", env | ({"SLUICE_SOFTGPU_FAULT": fault} if fault else {}))
        # its allocations are over before anybody else needs memory: what it makes then, it makes in fills
        s.wait_until("the first one has its memory", lambda: len(of(self.calls("fill0"), "cuMemCreate")) >= N_UNITS)
        second = start("fill1", env)
        s.wait_until("enough is to be seen", lambda: until(self.calls("fill0")), look=lambda: self.sluice("status").stdout)
        self.end(first)
        self.end(second)


def fill(mib, rounds, seed=1):
    return [s.CLIENTS / "cuda-fill", "--mib", mib, "--rounds", rounds, "--threads", 2, "--seed", seed]


@functools.cache
def switching(faults=None):
    """Two programs that do not fit together; returns the calls of the first one's driver until
    there were enough."""
    def has_enough(calls):
        return refused_in_a_fill(calls) if faults else all(
            [c for c in of(calls, call) if c.thread.startswith("sluice-")] for call in (
                "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemUnmap", "cuMemCreate"))

    with Spied("driver-switching", memory=16 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        w.switch(has_enough, faults)
        return w.calls("fill0")


def of(calls, *names):
    return [c for c in calls if c.call in names]


def refused_in_a_fill(calls):
    return [c for c in of(calls, "cuMemCreate") if c.result == 2 and c.thread.startswith("sluice-in")]


def ours(calls):
    return [c for c in calls if c.thread.startswith("sluice-")]


def nothing_is_done_that_the_driver_refuses_or_that_fails_later():
    calls = switching()
    bad = [c for c in calls if c.detail.startswith("BAD")]
    s.check(not bad, "whole mappings without offsets are unmapped, and pages are there when they are pinned", *bad[:5])
    s.check(of(calls, "cuMemUnmap") and of(calls, "cuMemHostRegister"), "there was something to see")
    waits = [c for c in ours(calls) if c.call.startswith("cuStreamWait")]
    s.check(not waits, "no stream waits for something that we do later", *waits[:5])


def each_direction_has_threads_and_a_stream_of_its_own():
    # what is smaller than a page are the sums of a digest, which have a stream of their own too
    calls = [c for c in ours(switching()) if c.bytes >= 4096]
    ways = {way: of(calls, call) for way, call in (("in", "cuMemcpyHtoDAsync"), ("out", "cuMemcpyDtoHAsync"))}
    for way, copies in ways.items():
        wrong = [c for c in copies if not c.thread.startswith("sluice-" + way)]
        s.check(copies and not wrong, f"copies {way} are made by the threads for that", *wrong[:5])
        s.check(len({c.detail for c in copies}) == 1, f"copies {way} have a stream", {c.detail for c in copies})
    s.check(ways["in"][0].detail != ways["out"][0].detail, "and not the same one")


def a_fill_makes_its_memory_on_the_movers_threads():
    calls = switching()
    creates = [c for c in of(calls, "cuMemCreate") if c.result == 0 and c.detail == "device"]
    moved = [c for c in creates if c.thread.startswith("sluice-in")]
    others = {c.thread for c in creates} - {c.thread for c in moved} - {"cuda-fill"}
    s.check(moved, "memory was made in a fill")
    s.check(not others, "and otherwise by the program's own allocations only", others)


def memory_that_is_refused_in_a_fill_is_asked_for_again():
    faults = ",".join(f"create:{n}" for n in range(N_UNITS + 4, N_UNITS + 44, 3))
    s.check(refused_in_a_fill(switching(faults)), "the driver refused in a fill, and no program saw it")


def a_machine_without_mappable_host_memory_is_served_without_it():
    with Spied("driver-no-host", memory=16 * s.MIB, settings=SETTINGS | {"memory.allow_mapped": "on"}, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.spied([SCENES, "pulse", 2], "first", stdin=subprocess.PIPE,
                        env={"SLUICE_SPY_NO_HOST": 1, "SCENE_BYTES": 8 * s.MIB})
        while first.stdout.readline().strip() != "waiting":
            s.check(first.poll() is None, "the program lives")
        s.check(w.program("first")["mode"] == "all", "everything must be on the device", w.program("first"))
        w.run(fill(12, 3), "cuda", name="second")
        w.end(first)


def managed_memory_yields_only_where_the_device_can_fault():
    for env, key, reason in (({}, "yielding", "paged by the driver"), ({"SLUICE_SPY_NO_PAGES": 1}, "unmovable", "other")):
        with Spied("driver-managed", memory=16 * s.MIB, softgpu=SMALL) as w:
            w.start_daemon()
            one = w.spied([*fill(8, 1), "--buffers", 4, "--managed", 2, "--wait"], "one", env=env, stdin=subprocess.PIPE)
            expected = {key: [{"reason": reason, "bytes": 4 * s.MIB}], "device_bytes": (4 if env == {} else 8) * s.MIB}
            s.wait_until("it is shown and charged so", lambda: expected.items() <= (w.program("one") or {}).items(),
                         look=lambda: w.sluice("status").stdout)
            w.end(one)


def arrays_are_bounded_and_managed_memory_only_where_the_device_cannot_fault():
    no_pages = {"SLUICE_SPY_NO_PAGES": 1}
    for env, kind in (({}, "paged"), (no_pages, "managed"), (no_pages, "array"), (no_pages, "array-3d")):
        with Spied(f"driver-limit-{kind}", settings={"memory.visible_memory": "8M"}, softgpu=SMALL) as w:
            w.start_daemon()
            w.finish(w.spied([SCENES, "limit", kind], "one", env=env))
            denials = w.history()["denials"]
            s.check(bool(denials) == bool(env) and all("memory.visible_memory" in d["reason"] for d in denials),
                    f"{kind}: history says why", denials)


def pinning_is_done_in_steps_and_before_there_is_anything_to_move():
    calls = switching()
    pins = of(calls, "cuMemHostRegister")
    s.check(pins and all(p.bytes <= 64 * s.MIB for p in pins), "a step is small", *pins[:5])
    s.check(all(p.thread.startswith("sluice-") for p in pins), "and ours alone", *pins[:5])
    for way in ("sluice-in", "sluice-out"):
        first_copy = min(c.begin for c in calls if c.thread.startswith(way) and c.call.startswith("cuMemcpy"))
        late = [p for p in pins if p.thread.startswith(way) and p.begin > first_copy]
        s.check(not late, "no switch waits for pinning", *late[:5])
    s.check(not of(calls, "cuMemHostAlloc"), "the driver is not asked for pages that are not there")


def own_threads_and_own_calls_disturb_no_capture():
    calls = switching()
    strict = [c for c in ours(calls) if c.mode != RELAXED]
    strict += [c for c in of(calls, "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap") if c.mode != RELAXED]
    s.check(not strict, "they are made in relaxed mode", *strict[:5])


def streams_and_events_are_made_once_and_early():
    calls = switching()
    first_copy = min(c.begin for c in ours(calls) if c.call.startswith("cuMemcpy"))
    late = [c for c in of(ours(calls), "cuStreamCreate", "cuEventCreate") if c.begin > first_copy]
    s.check(not late, "nothing that takes the context's lock is made when something moves", *late[:5])


def mapping_calls(setting, fault=None):
    """Whether the lock was held at each mapping call of our own threads."""
    def has_enough(calls):
        calls = [c for c in ours(of(calls, *MAPPING)) if c.thread.startswith("sluice-in")]
        return len(calls) > N_UNITS and (not fault or calls[-1].detail == "held")

    with Spied("driver-serial", memory=16 * s.MIB, settings=SETTINGS | {"memory.vmm_serial": setting}, softgpu=SMALL) as w:
        w.start_daemon()
        w.switch(has_enough, fault, {"SLUICE_SPY_LOCKS": w.folder})
        calls = of(w.calls("fill0") + w.calls("fill1"), *MAPPING)
        return [c.detail for c in sorted(ours(calls), key=lambda c: c.begin)]


def mapping_calls_are_made_by_one_process_at_a_time_where_that_is_wanted():
    s.check(set(mapping_calls("on")) == {"held"}, "the lock is held at every one")
    s.check(set(mapping_calls("off")) == {"free"}, "and at none")


def memory_that_a_program_maps_itself_is_mapped_by_one_process_at_a_time_as_well():
    settings = SETTINGS | {"memory.vmm_serial": "on"}
    with Spied("driver-serial-maps", memory=16 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        w.finish(w.spied([SCENES, "maps", 20], "maps", env={"SLUICE_SPY_LOCKS": w.folder}))
        # the first three try the MAPPED place, before the program has joined
        done = [c for c in of(w.calls("maps"), *MAPPING) if c.result == 0][3:]
        s.check({c.call for c in done} == set(MAPPING), "it maps and unmaps")
        s.check({c.detail for c in done} == {"held"}, "the lock is held each time", *[c for c in done if c.detail != "held"][:5])


def a_mapping_call_that_fails_without_a_reason_has_all_of_them_made_one_at_a_time():
    s.check(set(mapping_calls("auto")) == {"free"}, "without a failure nobody waits")
    held = mapping_calls("auto", f"map:{N_UNITS + 14}")
    s.check(held[0] == "free" and held[-1] == "held", "after one everybody does", held[:3], held[-3:])


def a_program_that_passes_by_the_gate_keeps_its_memory_and_is_shown():
    with Spied("driver-bypass", memory=20 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.spied([SCENES, "passes-by"], "first", stdin=subprocess.PIPE, env={"SCENE_BYTES": 8 * s.MIB})

        def shown():
            program = w.program("first")
            return program and any(u["reason"] == BYPASS and u["bytes"] >= 8 * s.MIB for u in program["unmovable"])
        s.wait_until("it is recognised", shown, look=lambda: w.sluice("status").stdout)
        s.check(BYPASS in w.sluice("status").stdout, "people are told", w.sluice("status").stdout)
        # what fits beside it runs; what does not waits for its end, and is told why; neither takes a byte from it
        w.run(fill(10, 3), "cuda", name="second")
        third = w.start(fill(14, 3), "cuda", name="third")
        s.wait_until("the third one is told", lambda: "first keeps bytes" in w.sluice("status").stdout,
                     look=lambda: w.sluice("status").stdout)
        w.end(first)
        w.finish(third)


def a_program_that_does_not_is_not_taken_for_one():
    with Spied("driver-honest", memory=16 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        others = [w.spied([s.CLIENTS / "cuda-fill", "--mib", 10, "--endless", "--mix", "--threads", 2, "--seed", i], f"other{i}",
                          env={"SLUICE_SPY_LAZY": 1}, stdin=subprocess.PIPE) for i in range(2)]
        for scene, rounds in (("contents", 60), ("graphs", 3), ("host-functions", 10), ("runs-ahead", "value")):
            w.run([SCENES, scene, rounds], "cuda", name=scene)
            taken = [p["name"] for p in w.status()["programs"] if any(u["reason"] == BYPASS for u in p["unmovable"])]
            s.check(not taken, "their memory can move", *taken)
        for other in others:
            w.end(other)


s.main(nothing_is_done_that_the_driver_refuses_or_that_fails_later,
       each_direction_has_threads_and_a_stream_of_its_own,
       a_fill_makes_its_memory_on_the_movers_threads,
       memory_that_is_refused_in_a_fill_is_asked_for_again,
       a_machine_without_mappable_host_memory_is_served_without_it,
       managed_memory_yields_only_where_the_device_can_fault,
       arrays_are_bounded_and_managed_memory_only_where_the_device_cannot_fault,
       pinning_is_done_in_steps_and_before_there_is_anything_to_move,
       own_threads_and_own_calls_disturb_no_capture,
       streams_and_events_are_made_once_and_early,
       mapping_calls_are_made_by_one_process_at_a_time_where_that_is_wanted,
       memory_that_a_program_maps_itself_is_mapped_by_one_process_at_a_time_as_well,
       a_mapping_call_that_fails_without_a_reason_has_all_of_them_made_one_at_a_time,
       a_program_that_passes_by_the_gate_keeps_its_memory_and_is_shown,
       a_program_that_does_not_is_not_taken_for_one)
