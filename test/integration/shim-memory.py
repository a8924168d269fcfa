#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shim charges for memory, compared with what the stand-in device reports as used."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SCENES = s.BUILD / "src/cuda/cuda-scenes"
SMALL = {"scale": 256}


def used(w):
    return s.wait_until("the board can be read", lambda: w.look("softgpu0"))["used_bytes"]


def owned(w, name):
    return sum(w.program(name)[place] for place in ("device_bytes", "mapped_bytes", "ram_bytes", "disk_bytes"))


def memory_that_a_program_maps_itself_is_charged_while_it_exists():
    with s.World("shim-vmm", memory=16 * s.MIB, softgpu=SMALL) as w:
        w.start_daemon()
        program = w.start([SCENES, "virtual-memory"], "cuda", name="first", stdin=subprocess.PIPE)
        base, own, n_steps = None, None, 0
        for line in program.stdout:
            if not line.strip().isdigit():
                break
            exists = int(line)
            if own is None:
                # what it has besides, which stays the same
                s.wait_until("it has memory", lambda: w.program("first") and owned(w, "first") > exists)
                own = owned(w, "first") - exists
            s.wait_until(f"in step {n_steps} {exists} bytes are charged", lambda: owned(w, "first") == own + exists,
                         seconds=20, look=lambda: w.sluice("status").stdout)
            # what the context takes is in no account
            hidden = used(w) - w.program("first")["device_bytes"]
            base = hidden if base is None else base
            s.check(hidden == base, f"in step {n_steps} the board has what is charged", hidden, base,
                    w.sluice("status").stdout)
            n_steps += 1
            program.stdin.write("\n")
            program.stdin.flush()
        s.check(n_steps == 17, "every step was compared", n_steps, line)
        w.finish(program)


def small(w, sluice):
    out = w.run([SCENES, "small-memory"], "cuda", name="small", sluice=sluice)
    return {what: int(n) for what, n in (line.split(": ") for line in out.splitlines()[:4])}


def small_allocations_take_no_more_than_with_the_driver_alone():
    # a granule as a card has it, and a small one, of which slabs have several
    for scale in (1, 16, 256):
        # as much as the driver alone would give: the reserve is no question here
        memory = 24 * 2 * s.MIB // scale
        with s.World("shim-small", memory=memory, settings={"memory.visible_memory": memory, "memory.reserve_percent": 0},
                     softgpu={"scale": scale, "context_overhead": 0}) as w:
            w.start_daemon()
            plain, shared = small(w, False), small(w, True)
            s.note(f"scale {scale}: {plain} alone, {shared} under Sluice")
            for what in ("threads", "mixed"):
                s.check(shared[what] <= plain[what], f"scale {scale}: {what}", plain, shared)
            for what in ("full", "after"):
                s.check(shared[what] >= plain[what], f"scale {scale}: {what}", plain, shared)


def asks_beside_one_that_fills_the_device(scene, how, mib):
    with s.World("shim-graph", softgpu={"profile": "rtx5080"}) as w:
        w.start_daemon()
        idle = w.start([s.CLIENTS / "cuda-fill", "--mib", 50, "--rounds", 1, "--wait"], "cuda", name="idle",
                       stdin=subprocess.PIPE)
        s.check(idle.stdout.readline() == "ready\n", "it fills the device")
        late = w.start([SCENES, scene, how], "cuda", name="late", stdin=subprocess.PIPE, env={"SCENE_BYTES": mib * s.MIB})
        s.check(late.stdout.readline() == "waiting\n", "it gets its memory", w.log()[-2000:])
        for program in (late, idle):
            w.end(program)


def memory_of_a_graph_is_given_beside_one_that_fills_the_device():
    asks_beside_one_that_fills_the_device("graph-memory", "node", 24)
    asks_beside_one_that_fills_the_device("graph-memory", "any-node", 24)
    asks_beside_one_that_fills_the_device("graph-memory", "capture", 24)


def memory_of_a_graph_that_fits_nowhere_is_refused_and_history_says_why():
    for mib, call, reason in ((62, "cuGraphLaunch", "needs"), (65, "cuGraphAddMemAllocNode", "visible_memory")):
        with s.World("shim-graph-nowhere", settings={"memory.capacity_patience": "100ms", "memory.visible_memory": "64M"},
                     softgpu={"profile": "rtx5080", "context_overhead": "4M"}) as w:
            w.start_daemon()
            late = w.start([SCENES, "graph-memory", "node"], "cuda", name="late", env={"SCENE_BYTES": mib * s.MIB})
            out = w.finish(late, exits=(3,))
            s.check(f"2 instead of 0: {call}" in out, "it is refused for want of memory", out)
            denials = w.history()["denials"]
            s.check([d["name"] for d in denials] == ["late"] and reason in denials[0]["reason"], "history says why", denials,
                    w.log()[-2000:])


def what_a_program_may_own_is_refused_at_the_call_whatever_the_kind():
    for kind in ("async", "pool", "handle", "node", "any-node", "capture"):
        with s.World(f"shim-limit-{kind}", settings={"memory.visible_memory": "8M"}, softgpu=SMALL) as w:
            w.start_daemon()
            w.finish(w.start([SCENES, "limit", kind], "cuda", name="greedy"))
            denials = w.history()["denials"]
            s.check(denials and all(d["name"] == "greedy" and "memory.visible_memory" in d["reason"] for d in denials),
                    f"{kind}: history says why", denials)


def variables_of_modules_are_charged_shown_and_served_beside_others():
    with s.World("shim-variables", memory=16 * s.MIB, softgpu=SMALL) as w:
        w.start_daemon()
        idle = w.start([s.CLIENTS / "cuda-fill", "--mib", 12, "--rounds", 1, "--wait"], "cuda", name="idle", stdin=subprocess.PIPE)
        s.check(idle.stdout.readline() == "ready\n", "it fills the device")
        grow = w.start([s.CLIENTS / "cuda-grow", "--variables", "--mib", 3, "--steps", 3, "--ask"], "cuda", name="grow",
                       stdin=subprocess.PIPE)
        for step in range(2):
            grow.stdin.write("\n")
            grow.stdin.flush()
            s.check(grow.stdout.readline() == f"step {step}\n", "it gets its memory")
        s.wait_until("it is shown", lambda: w.program("grow")["unmovable"] == [{"reason": "module", "bytes": 6 * s.MIB}],
                     look=lambda: w.status())
        w.end(grow)
        w.end(idle)


def a_texture_is_made_over_memory_that_is_away():
    with s.World("shim-texture", memory=24 * s.MIB, softgpu=SMALL) as w:
        w.start_daemon()
        late = w.start([SCENES, "late-texture", 14], "cuda", name="late", stdin=subprocess.PIPE)
        s.check(late.stdout.readline() == "waiting\n", "it has its memory", w.log()[-2000:])
        other = w.start([s.CLIENTS / "cuda-fill", "--mib", 20, "--rounds", 1, "--wait"], "cuda", name="other",
                        stdin=subprocess.PIPE)
        s.check(other.stdout.readline() == "ready\n", "another one has the device")
        s.check(w.program("late")["device_bytes"] < 14 * s.MIB, "its memory is away", w.program("late"))
        for program in (late, other):
            w.end(program)


def allocations_can_be_opened_by_another_process_where_the_setting_says_so():
    def grow(w):
        return w.start([s.CLIENTS / "cuda-grow", "--mib", 2, "--steps", 2, "--ask", "--export"], "cuda", name="grow",
                       stdin=subprocess.PIPE)

    with s.World("shim-ipc", memory=16 * s.MIB, settings={"memory.exportable": "on"}, softgpu=SMALL) as w:
        w.start_daemon()
        idle = w.start([s.CLIENTS / "cuda-fill", "--own", 4, "--mib", 15, "--rounds", 1, "--wait"], "cuda", name="idle",
                       stdin=subprocess.PIPE)
        s.check(idle.stdout.readline() == "ready\n", "it fills the device with memory that moves")
        maker = grow(w)
        maker.stdin.write("\n")
        maker.stdin.flush()
        handle = maker.stdout.readline().split()[2]
        s.wait_until("it is shown", lambda: w.program("grow")["unmovable"] == [{"reason": "exported", "bytes": 2 * s.MIB}],
                     look=lambda: w.status())
        w.finish(w.start([s.CLIENTS / "cuda-grow", "--mib", 2, "--open", handle], "cuda", name="opener"))
        w.end(maker)
        w.end(idle)
    with s.World("shim-ipc-off", memory=16 * s.MIB, softgpu=SMALL) as w:
        w.start_daemon()
        maker = grow(w)
        maker.stdin.write("\n")
        out = w.end(maker, exits=(3,))
        s.check("cuIpcGetMemHandle" in out, "without the setting the export is refused", out)
        s.check("was denied the export of GPU memory: cuIpcGetMemHandle needs memory that does not move" in out
                and "sluice set --program grow exportable on" in " ".join(out.split()), "'sluice run' says what helps", out)
        denials = w.history()["denials"]
        s.check([(d["name"], d["what"]) for d in denials] == [("grow", "export")], "history has it once", denials)
        # as it is told
        s.check(w.sluice("set", "--program", "grow", "exportable", "on").returncode == 0, "it can be set")
        maker = grow(w)
        maker.stdin.write("\n")
        maker.stdin.flush()
        s.check(len(maker.stdout.readline().split()) == 3, "the next run exports")
        w.end(maker)


def threads_that_take_and_give_back_memory_do_not_disturb_each_other():
    with s.World("shim-churn", memory=32 * s.MIB, softgpu=SMALL) as w:
        w.start_daemon()
        w.finish(w.start([SCENES, "churned-memory"], "cuda", name="churn"))


def a_program_that_was_denied_frees_its_cache_and_runs():
    """A small allocation for which there is memory fails too, because with it the program could not run."""
    with s.World("shim-cache", memory=16 * s.MIB, settings={"memory.capacity_patience": "200ms", "memory.allow_mapped": "off"},
                 softgpu=SMALL) as w:
        w.start_daemon()
        outsider = w.start([s.CLIENTS / "cuda-visit", "--mib", 8, "--ms", 1000000], "cuda", sluice=False, stdin=subprocess.PIPE, name="outsider")
        s.wait_until("it has its memory", lambda: (w.folder / "boards/softgpu0").exists() and used(w) >= 8 * s.MIB)
        w.finish(w.start([SCENES, "denied-cache"], "cuda", name="cache"))
        s.check(w.history()["denials"], "the copy was denied", w.history())
        w.end(outsider)


def memory_that_is_not_there_is_denied_under_torture():
    """No other program could free memory: the allocation fails, and does not wait for a daemon that
    does not run."""
    with s.World("shim-torture", memory=16 * s.MIB, softgpu=SMALL) as w:
        program = w.start([s.CLIENTS / "cuda-fill", "--mib", 16], "cuda", sluice=False,
                          env={"LD_PRELOAD": s.BUILD / "src/cuda/libcuda.so.1", "SLUICE_TORTURE": 1})
        out = w.finish(program, exits=(0, 4))
        s.check("right" in out if program.returncode == 0 else "OUT_OF_MEMORY" in out, "it has a result or an error", out)


s.main(memory_that_a_program_maps_itself_is_charged_while_it_exists,
       small_allocations_take_no_more_than_with_the_driver_alone,
       memory_of_a_graph_is_given_beside_one_that_fills_the_device,
       memory_of_a_graph_that_fits_nowhere_is_refused_and_history_says_why,
       what_a_program_may_own_is_refused_at_the_call_whatever_the_kind,
       variables_of_modules_are_charged_shown_and_served_beside_others,
       a_texture_is_made_over_memory_that_is_away,
       allocations_can_be_opened_by_another_process_where_the_setting_says_so,
       threads_that_take_and_give_back_memory_do_not_disturb_each_other,
       a_program_that_was_denied_frees_its_cache_and_runs,
       memory_that_is_not_there_is_denied_under_torture)
