#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CUDA shim, with programs that know nothing of it: alone, tortured, and with others on a small
device.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SCENES = s.BUILD / "src/cuda/cuda-scenes"
SHIM = s.BUILD / "src/cuda/libcuda.so.1"
SMALL = {"scale": 256}
SETTINGS = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}

# the scene, and how often it does what it does
EACH = [("contents", 120), ("graphs", 3), ("host-functions", 10), ("contexts", 2), ("exits-with-work", 1), ("forks", 1),
        ("errors", 1), ("maps", 40), ("graph-keeps", 20), ("runs-ahead", "host"), ("runs-ahead", "value"),
        ("runs-ahead", "node"), ("threads", 200), ("textures", 12), ("kernels", 12)]


def run_each(world, env, sluice):
    for scene, rounds in EACH:
        world.run([SCENES, scene, rounds], "cuda", name=scene, sluice=sluice, env=env)


def every_scene_is_as_with_the_driver_alone():
    with s.World("shim-plain", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7)}, sluice=False)


def every_scene_is_right_without_a_daemon():
    with s.World("shim-loose", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7), "LD_PRELOAD": SHIM}, sluice=False)


def every_scene_is_right_while_everything_moves_between_two_calls():
    with s.World("shim-torture", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7), "LD_PRELOAD": SHIM, "SLUICE_TORTURE": 1}, sluice=False)


def every_scene_is_right_when_calls_start_early_and_end_the_turn():
    with s.World("shim-early", memory=32 * s.MIB, softgpu=SMALL) as w:
        run_each(w, {"SLUICE_SEED": s.seed(7), "LD_PRELOAD": SHIM, "SLUICE_TORTURE": "early"}, sluice=False)


def every_scene_is_right_beside_programs_that_do_not_fit():
    with s.World("shim-beside", memory=24 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        others = [w.start([s.CLIENTS / "cuda-fill", "--mib", 14, "--endless", "--mix", "--threads", 2, "--seed", i], "cuda",
                          name=f"other{i}", stdin=subprocess.PIPE) for i in range(2)]
        run_each(w, {"SLUICE_SEED": s.seed(7)}, sluice=True)
        for other in others:
            other.stdin.close()
            other.stdin = None
            w.finish(other)


def a_program_larger_than_the_device_runs_with_mapped_memory():
    settings = SETTINGS | {"memory.allow_mapped": "on", "memory.pinned": "64M", "memory.visible_memory": "40M"}
    with s.World("shim-mapped", memory=16 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        fills = [w.start([s.CLIENTS / "cuda-fill", "--mib", 24, "--buffers", 12, "--rounds", 4, "--seed", i], "cuda",
                         name=f"large{i}") for i in range(2)]
        for fill in fills:
            w.finish(fill)


def nothing_is_said_to_the_daemon_while_credit_lasts():
    with s.World("shim-silent", memory=32 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        s.note(w.run([SCENES, "is-silent", 500], "cuda", name="silent").splitlines()[0])


# -- who waits for whom

def wait_for_line(program, line):
    """Reads the program's output until it says `line`."""
    while True:
        said = program.stdout.readline()
        s.check(said, f"{program.label} says {line!r} before it ends")
        if said.strip() == line:
            return


def go_on(world, program):
    program.stdin.close()
    program.stdin = None
    world.finish(program)


def first_waits(scene, how):
    # without mapped memory the second one does not fit unless all of the first one's leaves
    settings = SETTINGS | {"memory.allow_mapped": "off"}
    with s.World("shim-" + scene, memory=16 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.start([SCENES, scene, how], "cuda", name="first", stdin=subprocess.PIPE,
                        env={"SCENE_BYTES": 10 * s.MIB})
        wait_for_line(first, "waiting")
        # the first one goes on only when the second one has ended
        w.run([s.CLIENTS / "cuda-fill", "--mib", 10, "--rounds", 3], "cuda", name="second")
        go_on(w, first)


def first_waits_with_its_memory(scene, how):
    """The first one's queued commands may touch its memory: it yields its turn, and keeps the
    memory."""
    settings = SETTINGS | {"memory.allow_mapped": "off", "scheduler.slice": "1h", "scheduler.close_deadline": "1h"}
    with s.World("shim-" + scene, memory=20 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.start([SCENES, scene, how], "cuda", name="first", stdin=subprocess.PIPE,
                        env={"SCENE_BYTES": 8 * s.MIB})
        wait_for_line(first, "waiting")
        # together they fit, but so tightly that the second one is let in only when the first one has yielded
        w.run([s.CLIENTS / "cuda-fill", "--mib", 10, "--rounds", 3], "cuda", name="second")
        held = next(p for p in w.status()["programs"] if p["name"] == "first")
        s.check(held["device_bytes"] >= 8 * s.MIB, "what is queued keeps its memory", held)
        go_on(w, first)


def a_host_function_with_nothing_behind_it_keeps_nobody_out():
    first_waits("host-waits", "alone")


def a_blocking_copy_behind_a_host_function_keeps_nobody_out():
    first_waits("host-waits", "copy")


def a_set_of_pinned_memory_behind_a_host_function_keeps_nobody_out():
    first_waits("host-waits", "set")


def a_stream_that_waits_for_a_word_keeps_nobody_out():
    first_waits("stream-waits", "alone")


def work_behind_a_wait_for_a_word_keeps_its_memory():
    first_waits_with_its_memory("stream-waits", "behind")


def a_wait_for_a_word_on_the_device_keeps_its_memory():
    first_waits_with_its_memory("stream-waits", "device")


def memory_of_a_graph_is_charged_and_shown():
    for how in ("node", "capture"):
        with s.World("shim-graphmem", memory=16 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
            w.start_daemon()
            first = w.start([SCENES, "graph-memory", how], "cuda", name="first", stdin=subprocess.PIPE,
                            env={"SCENE_BYTES": 6 * s.MIB})
            wait_for_line(first, "waiting")
            s.wait_until("it is shown", lambda: [u for u in w.program("first")["unmovable"]
                                                 if u["reason"] == "graph" and u["bytes"] >= 6 * s.MIB],
                         look=lambda: w.sluice("status").stdout)
            # what is left is enough for the one, and what is charged is not given to the other
            w.run([s.CLIENTS / "cuda-fill", "--mib", 8, "--rounds", 2], "cuda", name="second")
            go_on(w, first)


def memory_that_a_graph_only_keeps_leaves_the_device_to_others():
    settings = SETTINGS | {"memory.allow_mapped": "off"}
    with s.World("shim-graphkeeps", memory=16 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.start([SCENES, "graph-keeps", 3], "cuda", name="first", stdin=subprocess.PIPE,
                        env={"SCENE_BYTES": 10 * s.MIB})
        wait_for_line(first, "waiting")
        # as long as nobody needs the device, the driver keeps it for the next launch
        s.wait_until("it is shown", lambda: w.program("first")["unmovable"] == [{"reason": "graph", "bytes": 10 * s.MIB}],
                     look=lambda: w.sluice("status").stdout)
        second = w.start([s.CLIENTS / "cuda-fill", "--mib", 12, "--rounds", 2, "--wait"], "cuda", name="second",
                         stdin=subprocess.PIPE)
        wait_for_line(second, "ready")
        s.wait_until("nothing is kept", lambda: w.program("first")["unmovable"] == [], look=lambda: w.sluice("status").stdout)
        # the next launch needs the memory again, and the second one has the device
        go_on(w, first)
        go_on(w, second)


def a_host_function_in_a_graph_keeps_its_memory_and_yields():
    first_waits_with_its_memory("graph-waits", "node")
    first_waits_with_its_memory("graph-waits", "capture")


def after_two_thousand_short_threads_a_waiting_program_still_keeps_nobody_out():
    first_waits("threads", 2000)


def work_behind_a_host_function_keeps_its_memory_and_others_run_in_the_rest():
    settings = SETTINGS | {"memory.allow_mapped": "on", "memory.pinned": "96M"}
    with s.World("shim-behind", memory=16 * s.MIB, settings=settings, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.start([SCENES, "host-waits", "behind"], "cuda", name="first", stdin=subprocess.PIPE,
                        env={"SCENE_BYTES": 6 * s.MIB})
        wait_for_line(first, "waiting")
        # they do not fit together: the second one has part of its memory mapped
        w.run([s.CLIENTS / "cuda-fill", "--mib", 12, "--buffers", 12, "--rounds", 3], "cuda", name="second")
        held = next(p for p in w.status()["programs"] if p["name"] == "first")
        s.check(held["device_bytes"] >= 6 * s.MIB, "what is queued keeps its memory", held)
        go_on(w, first)


def a_long_kernel_with_a_spinning_host_keeps_its_turn():
    with s.World("shim-spin", memory=16 * s.MIB, settings=SETTINGS | {"scheduler.slice": "30s"}, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.start([SCENES, "spins", 1500], "cuda", name="first", env={"SCENE_BYTES": 12 * s.MIB})
        wait_for_line(first, "spinning")
        second = w.start([SCENES, "pulse", 1], "cuda", name="second", stdin=subprocess.PIPE,
                         env={"SCENE_BYTES": 12 * s.MIB})
        w.finish(first)
        wait_for_line(second, "waiting")
        kernel = max((j for j in w.jobs("softgpu0") if j["engine"] == "compute"), key=lambda j: j["end"] - j["begin"])
        s.check(kernel["pid"] == first.pid and kernel["end"] - kernel["begin"] >= 1.5, "the kernel took its time", kernel)
        w.check_not_closed_before("first", kernel["end"])
        go_on(w, second)


def a_program_that_does_nothing_gives_its_turn_away():
    with s.World("shim-idle", memory=16 * s.MIB, settings=SETTINGS | {"scheduler.slice": "1h"}, softgpu=SMALL) as w:
        w.start_daemon()
        first = w.start([SCENES, "pulse", 2], "cuda", name="first", stdin=subprocess.PIPE,
                        env={"SCENE_BYTES": 12 * s.MIB})
        wait_for_line(first, "waiting")
        w.run([s.CLIENTS / "cuda-fill", "--mib", 12, "--rounds", 2], "cuda", name="second")
        go_on(w, first)


s.main(every_scene_is_as_with_the_driver_alone,
       every_scene_is_right_without_a_daemon,
       every_scene_is_right_while_everything_moves_between_two_calls,
       every_scene_is_right_when_calls_start_early_and_end_the_turn,
       every_scene_is_right_beside_programs_that_do_not_fit,
       a_program_larger_than_the_device_runs_with_mapped_memory,
       nothing_is_said_to_the_daemon_while_credit_lasts,
       a_host_function_with_nothing_behind_it_keeps_nobody_out,
       a_blocking_copy_behind_a_host_function_keeps_nobody_out,
       a_set_of_pinned_memory_behind_a_host_function_keeps_nobody_out,
       a_stream_that_waits_for_a_word_keeps_nobody_out,
       work_behind_a_wait_for_a_word_keeps_its_memory,
       a_wait_for_a_word_on_the_device_keeps_its_memory,
       memory_of_a_graph_is_charged_and_shown,
       memory_that_a_graph_only_keeps_leaves_the_device_to_others,
       a_host_function_in_a_graph_keeps_its_memory_and_yields,
       after_two_thousand_short_threads_a_waiting_program_still_keeps_nobody_out,
       work_behind_a_host_function_keeps_its_memory_and_others_run_in_the_rest,
       a_long_kernel_with_a_spinning_host_keeps_its_turn,
       a_program_that_does_nothing_gives_its_turn_away)
