#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each device operation of a switch fails once, at every place: the program ends right, or with the
error that its own call would have got alone; the program next to it ends right.

For each kind of operation the 1st, 2nd, 3rd … fails, until a run meets no fault. By default later
ones are taken with gaps; SLUICE_LONG takes all.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

LONG = bool(s.scaled("SLUICE_LONG", 0))
SETTINGS = {"scheduler.slice": "5ms", "scheduler.slice_min_switches": 1, "memory.checksum_moves": "on",
            "memory.reserve_percent": 0}

#: of each kind: the calls of the program that would meet it without Sluice too. That memory could not be made, mapped
#: or unmapped once is our affair: it is tried again, in an allocation as well as at a switch.
CUDA = {
    "create": "cuDevicePrimaryCtxRetain|cuModuleLoadData",
    "map": None,
    "access": None,
    "unmap": None,
    "copy": "cuMemcpy",
    "launch": "cuLaunchKernel",
    "host": "cuMemAllocHost|cuDevicePrimaryCtxRetain",
}
#: a program that maps its memory itself meets these in its own calls
OWN = {
    "create": "cuDevicePrimaryCtxRetain|cuModuleLoadData|cuMemCreate",
    "map": "cuMemMap",
    "access": "cuMemSetAccess",
    "unmap": "cuMemUnmap",
}
OPENCL = {
    "create": None,
    "write": "clEnqueueWriteBuffer|clEnqueueUnmapMemObject",
    "read": "clEnqueueReadBuffer|clEnqueueMapBuffer",
    "enqueue": "clEnqueueNDRangeKernel|clEnqueueCopyBuffer",
}


def one_fault(w, api, kind, number, own_calls, *words, mib=1, scene=None):
    """Returns whether the fault occurred. The program fills memory, or plays a scene."""
    log = w.folder / "faults"
    log.unlink(missing_ok=True)
    stand_in = {"cuda": "SOFTGPU", "opencl": "LIMITER"}[api]
    fill = [s.CLIENTS / {"cuda": "cuda-fill", "opencl": "cl-fill"}[api], "--mib", mib, "--buffers", 3, "--rounds", 2, *words]
    victim = w.start([s.BUILD / "src/cuda/cuda-scenes", *scene] if scene else fill, api, name="victim", env={
        f"SLUICE_{stand_in}_FAULT": f"{kind}:{number}", f"SLUICE_{stand_in}_FAULT_LOG": log,
        "SLUICE_LOG": w.folder / "victim.log", "SCENE_BYTES": mib * s.MIB})
    out = w.finish(victim, exits=(0, 3, 4))
    w.programs.remove(victim)
    if victim.returncode:
        s.check(own_calls and re.search(own_calls, out), f"{kind}:{number} is no error of the program's own call", out)
    return log.exists()


def every_number(w, api, kind, own_calls, *words, **more):
    n_met, number, step = 0, 1, 1
    while one_fault(w, api, kind, number, own_calls, *words, **more):
        n_met += 1
        if not LONG and number >= 4:
            step = number
        number += step
    s.check(n_met, f"a {kind} failed at least once", number)
    s.note(f"{kind}: {n_met} faults, the last one before {number}")


def every_fault(api, kind, own_calls, *words):
    with s.World(f"{api}-{kind}", memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        program = {"cuda": "cuda-fill", "opencl": "cl-fill"}[api]
        other = w.start([s.CLIENTS / program, "--mib", 1, "--buffers", 6, "--rounds", 1, "--endless"], api, name="other",
                        stdin=subprocess.PIPE)
        s.wait_until("the other one runs", lambda: (w.program("other") or {}).get("launches"))
        every_number(w, api, kind, own_calls, "--mix", *words)
        s.wait_until("the other one is alone", lambda: [p["name"] for p in w.status()["programs"]] == ["other"])
        w.end(other)


def every_alloc(api, kind, own_calls):
    """Alone and in its turn, so that each allocation runs on the program's own thread."""
    with s.World(f"{api}-{kind}-alloc", memory=4 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        every_number(w, api, kind, own_calls, "--renew")


def each_create_of_memory_that_can_be_exported_fails_once():
    """Such an allocation is the driver's own: the program gets its refusal if no other program can
    give way."""
    with s.World("exported", memory=4 * s.MIB, settings=SETTINGS | {"memory.exportable": "on"}, softgpu={"scale": 256}) as w:
        w.start_daemon()
        every_number(w, "cuda", "create", "cuDevicePrimaryCtxRetain|cuModuleLoadData|cuMemAlloc_v2", "--renew")


def every_pooled(kind, own_calls):
    """Next to another program, with memory from pools that is renewed in the order of streams."""
    with s.World(f"pooled-{kind}", memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        other = w.start([s.CLIENTS / "cuda-fill", "--async", "--mib", 1, "--buffers", 6, "--rounds", 1, "--endless"], "cuda",
                        name="other", stdin=subprocess.PIPE)
        s.wait_until("the other one runs", lambda: (w.program("other") or {}).get("launches"))
        every_number(w, "cuda", kind, own_calls, "--async", "--renew")
        w.end(other)


def every_graph(kind, own_calls):
    """Next to another program, with memory of a graph that is given up at every rest."""
    with s.World(f"graph-{kind}", memory=2 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as w:
        w.start_daemon()
        other = w.start([s.CLIENTS / "cuda-fill", "--mib", 1, "--buffers", 6, "--rounds", 1, "--endless"], "cuda",
                        name="other", stdin=subprocess.PIPE)
        s.wait_until("the other one runs", lambda: (w.program("other") or {}).get("launches"))
        every_number(w, "cuda", kind, own_calls, scene=["graph-keeps", 8])
        w.end(other)


def every_mapped(kind, own_calls):
    """Alone and larger than the device: the rest is mapped, each operation of that fails once."""
    settings = SETTINGS | {"memory.allow_mapped": "on", "memory.visible_memory": "8M"}
    with s.World(f"mapped-{kind}", memory=2 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
        w.start_daemon()
        every_number(w, "cuda", kind, own_calls, mib=3)
        s.check("bytes mapped" in (w.folder / "victim.log").read_text(), "the program ran with units mapped")


def test_of(api, kind, own_calls):
    def test():
        every_fault(api, kind, own_calls)
    test.__name__ = f"each_{kind}_of_{api}_fails_once"
    return test


def own_test_of(kind, own_calls):
    def test():
        every_fault("cuda", kind, own_calls, "--own", 3)
    test.__name__ = f"each_{kind}_of_a_program_that_maps_its_memory_fails_once"
    return test


def alloc_test_of(api, kind, own_calls):
    def test():
        every_alloc(api, kind, own_calls)
    test.__name__ = f"each_{kind}_at_an_allocation_of_{api}_fails_once"
    return test


def pooled_test_of(kind, own_calls):
    def test():
        every_pooled(kind, own_calls)
    test.__name__ = f"each_{kind}_of_a_program_with_pools_fails_once"
    return test


def graph_test_of(kind, own_calls):
    def test():
        every_graph(kind, own_calls)
    test.__name__ = f"each_{kind}_of_a_program_with_memory_of_graphs_fails_once"
    return test


def mapped_test_of(kind, own_calls):
    def test():
        every_mapped(kind, own_calls)
    test.__name__ = f"each_{kind}_of_a_mapped_program_fails_once"
    return test


ALLOCS = [("cuda", kind) for kind in ("create", "map", "access")] + [("opencl", "create")]

s.main(*[test_of("cuda", *row) for row in CUDA.items()], *[own_test_of(*row) for row in OWN.items()],
       *[test_of("opencl", *row) for row in OPENCL.items()],
       *[pooled_test_of(kind, CUDA[kind]) for kind in ("create", "map", "access", "unmap", "copy")],
       graph_test_of("create", "cuCtxCreate|cuDevicePrimaryCtxRetain|cuModuleLoadData"),
       graph_test_of("copy", "cuMemcpy|cuGraphLaunch"), graph_test_of("unmap", None),
       *[mapped_test_of(kind, CUDA[kind]) for kind in ("map", "access", "unmap", "host")],
       *[alloc_test_of(api, kind, {"cuda": CUDA, "opencl": OPENCL}[api][kind]) for api, kind in ALLOCS],
       each_create_of_memory_that_can_be_exported_fails_once)
