#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sharing: programs that fit together are left alone; programs that do not take turns; real
programs get the results of the plain driver; an outsider that comes and goes makes no program fail.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

HERE = pathlib.Path(__file__).resolve().parent
CHECKED = {"memory.checksum_moves": "on"}


def fill(api, *words):
    return [s.CLIENTS / {"cuda": "cuda-fill", "opencl": "cl-fill"}[api], *words]


def two_programs_that_do_not_fit_together_both_end_right():
    with s.World("cl-two", memory=32 * s.MIB, settings=CHECKED | {"scheduler.slice": "50ms"}) as w:
        w.start_daemon()
        programs = [w.start(fill("opencl", "--mib", 24, "--buffers", 6, "--rounds", 20, "--seed", i), "opencl",
                            name=f"p{i}") for i in range(2)]
        for p in programs:
            w.finish(p)


def a_kernel_is_loaded_beside_others_who_fill_the_device():
    """A driver loads a kernel's code at its first launch. By then these three have filled the device in turns, each with a kernel left to load."""
    with s.World("cuda-load", settings={"scheduler.slice": "300ms", "scheduler.slice_min_switches": 1},
                 softgpu={"profile": "rtx5080"}) as w:
        w.start_daemon()
        programs = [w.start(fill("cuda", "--mib", 40, "--buffers", 8, "--rounds", 2, "--pause", 300, "--seed", i, "--wait"), "cuda",
                            name=f"p{i}", stdin=subprocess.PIPE) for i in range(3)]
        for p in programs:
            s.check(p.stdout.readline() == "ready\n", "each of them fits")
        for p in programs:
            p.stdin.close()
            p.stdin = None
        for p in programs:
            w.finish(p)
        s.check(not w.history()["denials"], "nobody was told out of memory", w.history()["denials"])


#: a kernel whose local memory no device of a test can hold
TOO_DEEP = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ptx = b".version 6.3\\n.target sm_75\\n.address_size 64\\n.visible .entry deep()\\n{\\n.local .align 16 .b8 stack[524288];\\nret;\\n}\\n"
assert cu.cuInit(0) == 0 and cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cu.cuModuleLoadData(ctypes.byref(module), ptx) == 0 and cu.cuModuleGetFunction(ctypes.byref(function), module, b"deep") == 0
print(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))
"""


def a_launch_that_fits_nowhere_is_told_and_history_says_why():
    with s.World("cuda-deep", memory=8 * s.MIB, settings={"memory.capacity_patience": "100ms"}, softgpu={"profile": "rtx5080"}) as w:
        w.start_daemon()
        out = w.run([sys.executable, "-c", TOO_DEEP], "cuda", name="deep")
        s.check(out.splitlines()[0] == "2", "the launch is told out of memory", out)
        denials = w.history()["denials"]
        s.check(denials and all(d["name"] == "deep" and "needs" in d["reason"] for d in denials), "history says why", denials, w.log()[-2000:])


#: variables of 24 MiB
LARGE_MODULE = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
context, module = ctypes.c_void_p(), ctypes.c_void_p()
ptx = b".version 6.3\\n.target sm_75\\n.address_size 64\\n.visible .global .align 16 .b8 table[25165824];\\n.visible .entry none()\\n{\\nret;\\n}\\n"
assert cu.cuInit(0) == 0 and cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
print(cu.cuModuleLoadData(ctypes.byref(module), ptx))
"""


def a_module_is_loaded_beside_one_that_fills_the_device():
    with s.World("cuda-module", softgpu={"profile": "rtx5080"}) as w:
        w.start_daemon()
        idle = w.start(fill("cuda", "--mib", 50, "--rounds", 1, "--wait"), "cuda", name="idle", stdin=subprocess.PIPE)
        s.check(idle.stdout.readline() == "ready\n", "it fills the device")
        out = w.run([sys.executable, "-c", LARGE_MODULE], "cuda", name="module")
        s.check(out.split() == ["0"], "the module is loaded", out, w.log()[-2000:])
        w.end(idle)


def side_by_side(api, memory):
    with s.World(f"{api}-beside", memory=memory, settings=CHECKED | {"scheduler.slice": "5ms"},
                 softgpu={"scale": 256}) as w:
        w.start_daemon()
        programs = [w.start(fill(api, "--mib", 2, "--rounds", 5, "--endless", "--mix", "--seed", i), api, name=f"p{i}",
                            stdin=subprocess.PIPE) for i in range(2)]

        def both_have_run():
            found = w.status()["programs"]
            return len(found) == 2 and all(p["launches"] > 200 for p in found) and found

        for program in s.wait_until("both have run for a while", both_have_run):
            s.check(program["turns"] == 1, "one turn that is never closed", program)
            s.check(not program["moved_in_bytes"] and not program["moved_out_bytes"], "no byte moves", program)
        history = w.history()
        s.check(all(not t["closing_ms"] for t in history["turns"]), "no turn is closed", history["turns"])
        s.check(not any(m["in_bytes"] or m["out_bytes"] for m in history["moves"]), "nothing moves", history["moves"])
        for program in programs:
            w.end(program)


def cuda_programs_that_fit_together_move_nothing():
    side_by_side("cuda", 12 * s.MIB)


def opencl_programs_that_fit_together_move_nothing():
    side_by_side("opencl", 12 * s.MIB)


def an_opencl_program_says_nothing_while_credit_lasts():
    with s.World("cl-silent", memory=64 * s.MIB, settings=CHECKED) as w:
        w.start_daemon()
        s.note(w.run([s.CLIENTS / "cl-silent"], "opencl", name="silent").splitlines()[0])


class Slot:
    """One managed program after another; each must end right."""

    def __init__(self, world, api, number, words):
        self.world, self.api, self.number, self.words = world, api, number, words
        self.program, self.n_ended = None, 0

    def step(self, starts=True):
        if self.program and self.program.poll() is not None:
            self.world.finish(self.program)
            self.world.programs.remove(self.program)
            self.program = None
            self.n_ended += 1
        if starts and not self.program:
            self.program = self.world.start(fill(self.api, *self.words, "--seed", self.n_ended), self.api,
                                            name=f"p{self.number}")
        return self.program


def outsider_beside(api, memory, mib, **stand_in):
    """Managed programs of 40 % of the device come and go in two slots. An outsider takes half of
    the device, stays until a program of each slot has ended next to it, goes, and comes again. It
    comes when a slot is empty: no program gives up memory for outsiders."""
    settings = CHECKED | {"scheduler.slice": "20ms", "daemon.outsider_period": "20ms"}
    with s.World(f"{api}-outsider", memory=memory, settings=settings, **stand_in) as w:
        w.start_daemon()
        slots = [Slot(w, api, i, ["--mib", mib, "--buffers", 8, "--rounds", 4, "--mix"]) for i in range(2)]

        def each_ends_one():
            before = [slot.n_ended for slot in slots]
            s.wait_until("a program of each slot has ended", lambda: [slot.step() for slot in slots] and all(
                slot.n_ended > n for slot, n in zip(slots, before)), seconds=120)

        times = s.scaled("SLUICE_OUTSIDERS", 30 if os.environ.get("SLUICE_LONG") else 4)
        for _ in range(times):
            each_ends_one()
            s.wait_until("a slot is empty", lambda: slots[1].step() and not slots[0].step(starts=False))

            def comes():
                # it stays with its memory until its input ends; frees of the last program may still be on their way
                program = w.start(fill(api, "--mib", memory // 2 // s.MIB, "--buffers", 1, "--rounds", 1, "--wait"), api,
                                  sluice=False, stdin=subprocess.PIPE, name="outsider")
                if program.stdout.readline() == "ready\n":
                    return program
                w.end(program, exits=(4,))
                return w.programs.remove(program)

            outsider = s.wait_until("the outsider has half of the device", comes)
            s.wait_until("it is seen", lambda: w.status()["devices"][0]["outsider_bytes"] >= memory // 2)
            each_ends_one()
            w.end(outsider)
            w.programs.remove(outsider)
        for slot in slots:
            s.wait_until("the last ones end", lambda: not slot.step(starts=False))
        s.note(f"{times} times half the device; {sum(slot.n_ended for slot in slots)} programs ended right, "
               f"{w.status()['devices'][0]['refusals']} refusals by the driver")


def a_cuda_outsider_takes_and_frees_half_the_device():
    outsider_beside("cuda", 8 * s.MIB, 3, softgpu={"scale": 256, "context_overhead": 100000})


def an_opencl_outsider_takes_and_frees_half_the_device():
    outsider_beside("opencl", 16 * s.MIB, 6,
                    limiter={"overhead": 300000, "round": 65536, "late_free": "20ms"})


def an_opencl_outsider_on_a_device_that_fails_late():
    outsider_beside("opencl", 16 * s.MIB, 6,
                    limiter={"overhead": 300000, "round": 65536, "late_free": "20ms", "fail": "lazy"})


def outsider_by_the_clock(api, memory, mib, **stand_in):
    """Two endless managed programs change and check all their memory, and allocate new memory for
    each change. An outsider takes half of the device at a tick of its clock and frees it at the
    next, whatever they do. They hold a bit less than the other half, and more while they change to
    new memory: so the outsider gets in repeatedly, and their next request finds too little."""
    long = bool(os.environ.get("SLUICE_LONG"))
    n_visits = s.scaled("SLUICE_VISITS", 40 if long else 10)
    with s.World(f"{api}-clock", memory=memory, settings=CHECKED | {"scheduler.slice": "20ms"}, **stand_in) as w:
        w.start_daemon()
        programs = [w.start(fill(api, "--mib", mib, "--buffers", 2, "--rounds", 1, "--renew", "--verify-each", "--endless",
                                 "--idle", 10, "--seed", i), api, name=f"p{i}", stdin=subprocess.PIPE) for i in range(2)]

        def launches():
            return [(w.program(f"p{i}") or {}).get("launches", 0) for i in range(2)]

        s.wait_until("both work", lambda: all(launches()))
        before = launches()
        outsider = w.start([s.CLIENTS / {"cuda": "cuda-visit", "opencl": "cl-visit"}[api], "--mib", memory // 2 // s.MIB,
                            "--ms", 1000 if long else 200], api, sluice=False, stdin=subprocess.PIPE, name="outsider")
        n = {"in": 0, "out": 0, "refused": 0}
        while n["out"] < n_visits:
            word = outsider.stdout.readline().strip()
            s.check(word in n, "the outsider comes and goes", word, outsider.poll())
            n[word] += 1
            for i, program in enumerate(programs):
                s.check(program.poll() is None, f"p{i} goes on", program.poll(), w.log()[-2000:])
            s.check(sum(n.values()) < 20 * n_visits, "the outsider gets in", n)
        s.wait_until("both have gone on", lambda: all(now > then + n_visits for now, then in zip(launches(), before)))
        n_launches, n_refusals = sum(launches()), w.status()["devices"][0]["refusals"]
        for program in (outsider, *programs):
            w.end(program)
        s.note(f"{n['in']} times half the device, {n['refused']} times refused; the others: {n_launches} launches, "
               f"{n_refusals} refusals by the driver")


def a_cuda_outsider_comes_by_the_clock():
    outsider_by_the_clock("cuda", 14 * s.MIB, 3, softgpu={"scale": 256, "context_overhead": 100000})


def an_opencl_outsider_comes_by_the_clock():
    outsider_by_the_clock("opencl", 14 * s.MIB, 3, limiter={"overhead": 300000, "round": 65536, "late_free": "2ms"})


def an_opencl_outsider_comes_by_the_clock_where_drivers_fail_late():
    outsider_by_the_clock("opencl", 14 * s.MIB, 3,
                          limiter={"overhead": 300000, "round": 65536, "late_free": "2ms", "fail": "lazy"})


def used_late(way):
    """On a device that fails late: a program creates objects without proof, and before it uses them
    outsiders take all the memory that they would need. Returns whether the driver refused the
    program's own command: the daemon may have seen the outsiders before that, and taken unused
    bytes back."""
    # objects of 4 MiB are made without proof here: there is more credit than that by 64 MiB
    with s.World(f"cl-late-{way}", memory=1280 * s.MIB, settings=CHECKED | {"daemon.outsider_period": "1h"},
                 limiter={"overhead": 300000, "fail": "lazy"}) as w:
        w.start_daemon()
        # by itself: the watcher of 'sluice run' asks for status, and then the daemon looks for outsiders
        env = dict(entry.split("=", 1) for entry in w.run(["env", "-0"], "opencl", name="late").split("\0") if "=" in entry)
        late = w.start([s.CLIENTS / "cl-late", way], None, name="late", sluice=False, env=env, stdin=subprocess.PIPE)
        s.check(late.stdout.readline() == "ready\n", "it has made them", way)
        # what is left is less than one object; with what the program has used before, enough for two
        outsiders = [w.start([s.CLIENTS / "cl-visit", "--mib", 634, "--ms", 600000], "opencl", sluice=False,
                             stdin=subprocess.PIPE, name="outsider") for _ in range(2)]
        for outsider in outsiders:
            s.check(outsider.stdout.readline() == "in\n", "nothing was taken for them yet", way)
        w.end(late)
        was_refused = w.status()["devices"][0]["refusals"] > 0
        for outsider in outsiders:
            w.end(outsider)
        return was_refused


def an_outsider_takes_what_was_made_and_not_used():
    ways = subprocess.run([s.CLIENTS / "cl-late"], capture_output=True, text=True).stdout.split()
    s.check("write" in ways and "map-image" in ways, "the program says what it can do", ways)
    for way in ways:
        s.check(any(used_late(way) for _ in range(20)), "its command was refused", way)
    s.note(f"{len(ways)} ways of using an object for the first time")


def real(name, words, memory, compared):
    """A real program plain, alone under the limiter, and two at once next to an endless one: short
    programs may miss each other, but both meet that one."""
    env = {"POCL_MEMORY_LIMIT": 2}
    with s.World(name, memory=memory, settings=CHECKED | {"scheduler.slice": "20ms"}) as w:
        plain = compared(w.run(words, None, sluice=False, env=env))
        s.check(len(plain) > 3, "there is something to compare", plain)
        w.start_daemon()
        alone = compared(w.run(words, "opencl", name="alone", env=env))
        s.check(alone == plain, "alone its results are the plain driver's", alone, plain)
        neighbour = w.start(fill("opencl", "--mib", memory // s.MIB, "--buffers", 8, "--rounds", 1, "--endless"), "opencl",
                            name="neighbour", stdin=subprocess.PIPE)
        s.wait_until("the neighbour runs", lambda: (w.program("neighbour") or {}).get("launches"))
        switches = s.Switches(w)
        programs = [w.start(words, "opencl", name=f"p{i}", env=env) for i in range(2)]
        for program in programs:
            out = compared(w.finish(program))
            s.check(out == plain, "next to others its results are the plain driver's", out, plain)
        n_switches = switches.look()
        w.end(neighbour)
        pids = {program.pid for program in programs}
        moved = {pid: sum(m["in_bytes"] + m["out_bytes"] for m in w.history()["moves"] if m["pid"] == pid) for pid in pids}
        s.check(n_switches > 2 and all(moved.values()), "they took turns, and bytes of both moved", n_switches, moved)
        s.note(f"{len(plain)} results are equal; {n_switches} switches, {sum(moved.values()) / s.MIB:.1f} MiB moved")


def pyopencl_gets_the_plain_drivers_results():
    if subprocess.run(["/usr/bin/python3", "-c", "import pyopencl"], capture_output=True).returncode:
        raise s.Skip("python3-pyopencl is not installed")
    real("pyopencl", ["/usr/bin/python3", HERE / "cl-pyopencl.py"], 12 * s.MIB, str.splitlines)


def clblast_xaxpy_gets_the_plain_drivers_results():
    if not shutil.which("clblast_test_xaxpy"):
        raise s.Skip("clblast-tests is not installed")

    def compared(out):
        """Its routines, a mark for each test in order, and the counts; it compares all numbers with
        CBLAS itself."""
        return re.findall(r"^(?:\* Starting tests for the '\w+'|   [:./\\Xo-]+$|   \d+ test\(s\) (?:passed|skipped|failed))",
                          re.sub(r"\x1b\[[0-9;]*m", "", out), re.MULTILINE)

    real("xaxpy", ["clblast_test_xaxpy"], s.MIB, compared)


#: contexts, and whether each is current where it was made and works
CONTEXTS = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
first, second, primary, current, memory = (ctypes.c_void_p() for _ in range(5))
assert cu.cuInit(0) == 0
print(cu.cuCtxCreate_v2(ctypes.byref(first), 0, 0))
if first:
    assert cu.cuCtxGetCurrent(ctypes.byref(current)) == 0 and current.value == first.value
    assert cu.cuMemAlloc_v2(ctypes.byref(memory), 1 << 20) == 0 and cu.cuMemsetD8_v2(memory, 7, 1 << 20) == 0 and cu.cuCtxSynchronize() == 0
    print(cu.cuCtxCreate_v2(ctypes.byref(second), 0, 0))
    assert cu.cuCtxGetCurrent(ctypes.byref(current)) == 0 and current.value == second.value
    print(cu.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0))
    assert cu.cuCtxGetCurrent(ctypes.byref(current)) == 0 and current.value == second.value
"""


def a_program_that_begins_beside_others_who_fill_the_device_gets_its_contexts():
    with s.World("cuda-begin", softgpu={"profile": "rtx5080", "context_overhead": "4M"}) as w:
        w.start_daemon()
        idle = [w.start(fill("cuda", "--mib", 40, "--rounds", 1, "--seed", i, "--wait"), "cuda", name=f"idle{i}", stdin=subprocess.PIPE)
                for i in range(2)]
        for p in idle:
            s.check(p.stdout.readline() == "ready\n", "each fills a good part of the device")
        free = w.look("softgpu0")["capacity_bytes"] - w.look("softgpu0")["true_used_bytes"]
        s.check(free < 4 * s.MIB, "together they leave less than a context takes", free)
        out = w.run([sys.executable, "-c", CONTEXTS], "cuda", name="late")
        s.check(out.split() == ["0", "0", "0"], "it gets them all", out, w.log()[-2000:])
        for p in idle:
            w.end(p)
        s.check(not w.history()["denials"], "nobody was told out of memory", w.history()["denials"])


def a_context_that_fits_nowhere_is_told_and_history_says_why():
    with s.World("cuda-nowhere", settings={"memory.capacity_patience": "100ms"},
                 softgpu={"profile": "rtx5080", "context_overhead": "4M"}) as w:
        w.start_daemon()
        outsider = w.start([s.CLIENTS / "cuda-visit", "--mib", 58, "--ms", 1000000], "cuda", sluice=False, stdin=subprocess.PIPE, name="outsider")
        s.check(outsider.stdout.readline() == "in\n", "the outsider has its memory")
        out = w.run([sys.executable, "-c", CONTEXTS], "cuda", name="late")
        s.check(out.splitlines()[0] == "2", "it is told out of memory", out, w.log()[-2000:])
        denials = w.history()["denials"]
        s.check([d["name"] for d in denials] == ["late"] and "needs" in denials[0]["reason"], "history says why", denials, w.log()[-2000:])
        w.end(outsider)


s.main(two_programs_that_do_not_fit_together_both_end_right, a_kernel_is_loaded_beside_others_who_fill_the_device,
       a_launch_that_fits_nowhere_is_told_and_history_says_why, a_module_is_loaded_beside_one_that_fills_the_device,
       a_program_that_begins_beside_others_who_fill_the_device_gets_its_contexts, a_context_that_fits_nowhere_is_told_and_history_says_why,
       cuda_programs_that_fit_together_move_nothing,
       opencl_programs_that_fit_together_move_nothing, an_opencl_program_says_nothing_while_credit_lasts, a_cuda_outsider_takes_and_frees_half_the_device,
       an_opencl_outsider_takes_and_frees_half_the_device, an_opencl_outsider_on_a_device_that_fails_late,
       a_cuda_outsider_comes_by_the_clock, an_opencl_outsider_comes_by_the_clock,
       an_opencl_outsider_comes_by_the_clock_where_drivers_fail_late, an_outsider_takes_what_was_made_and_not_used,
       pyopencl_gets_the_plain_drivers_results, clblast_xaxpy_gets_the_plain_drivers_results)
