#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice selftest` on the software GPU: what it finds, what it stores, and drivers that fail,
crash or hang.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

SPY = s.BUILD / "src/cuda/libcuda-spy.so"
TROUBLE = 123
ASSUMPTIONS = {"lookup", "link.overlap", "map.address", "map.access_run", "together", "reach", "overlap", "queue", "capture",
               "overhead.returns", "suspend"}
FIGURES = {"link.in", "link.out", "link.both", "link.in.pageable", "link.out.pageable", "pin.ns_per_gib", "map.granule",
           "map.create_ns", "map.map_ns", "map.access_ns", "map.unmap_ns", "map.release_ns", "reach.rate", "queue.depth",
           "overhead.context", "lookup.n", "suspend.away_ns", "suspend.back_ns"}


def world(name):
    return s.World(name, softgpu={"profile": "rtx5080", "scale": 256})


def selftest(w, *words, exits=(0,), env=None):
    return w.finish(w.start([s.SLUICE, "selftest", *words], "cuda", sluice=False, env=env), exits=exits)


def findings(w, *words, **more):
    reply = json.loads(selftest(w, "--json", *words, **more))
    s.check(reply["ok"] == all(f["verdict"] in ("figure", "holds") for f in reply["findings"]), "ok says whether all holds", reply)
    return {f["key"]: f for f in reply["findings"]}


def every_assumption_holds_and_every_figure_has_a_value():
    with world("selftest") as w:
        found = findings(w, "--no-store")
        s.check(set(found) == ASSUMPTIONS | FIGURES, "each is reported once", set(found) ^ (ASSUMPTIONS | FIGURES))
        for key in ASSUMPTIONS:
            s.check(found[key]["verdict"] == "holds", f"{key} holds", found[key])
        for key in FIGURES:
            s.check(found[key]["verdict"] == "figure" and found[key]["value"] > 0 and found[key]["unit"], f"{key} is a figure",
                    found[key])
        # by the profile, not by the clock: the software GPU's queue, granule and contexts
        s.check(found["map.granule"]["value"] == (2 << 20) / 256, "the granule is the card's", found["map.granule"])
        s.check(not list(w.folder.rglob("selftest-*.json")), "--no-store keeps nothing")


def the_figures_are_kept_for_this_driver():
    with world("selftest-kept") as w:
        state = {"SLUICE_STATE": w.folder / "state"}
        (w.folder / "state").mkdir(mode=0o700)
        out = selftest(w, env=state)
        file, = (w.folder / "state").glob("selftest-*.json")
        s.check("Everything that Sluice relies on holds here." in out and str(file) in out, "people are told where", out)
        kept = json.loads(file.read_text())
        s.check(file.name == f"selftest-{kept['driver_version']}-{kept['gpu']}.json" and kept["gpu"].startswith("GPU-"),
                "by the driver's version and the GPU", file)
        s.check(kept["driver"] == os.path.realpath(s.SOFTGPU / "libcuda.so.1") and {f["key"] for f in kept["findings"]}
                == ASSUMPTIONS | FIGURES, "all of it is kept", kept)
        doctor = w.finish(w.start([s.SLUICE, "doctor"], "cuda", sluice=False, env=state), exits=(0, TROUBLE))
        s.check(f"self-test of {kept['gpu']}: " in doctor and "/s to the device" in doctor, "doctor shows the figures", doctor)


def each_gpu_has_findings_of_its_own():
    with s.World("selftest-two", softgpu={"profile": "rtx5080", "scale": 256, "devices": 2}) as w:
        state = {"SLUICE_STATE": w.folder / "state"}
        (w.folder / "state").mkdir(mode=0o700)
        for gpu in (0, 1):
            selftest(w, "--gpu", gpu, env=state)
        doctor = w.finish(w.start([s.SLUICE, "doctor"], "cuda", sluice=False, env=state), exits=(0, TROUBLE))
        s.check(doctor.count("self-test of GPU-") == 2, "doctor shows both", doctor)


def a_full_device_leaves_what_is_kept():
    with world("selftest-full") as w:
        state = {"SLUICE_STATE": w.folder / "state"}
        (w.folder / "state").mkdir(mode=0o700)
        selftest(w, env=state)
        file, = (w.folder / "state").glob("selftest-*.json")
        kept = file.read_text()
        other = w.start([s.CLIENTS / "cuda-fill", "--mib", 52, "--wait"], "cuda", sluice=False, stdin=subprocess.PIPE)
        s.check(other.stdout.readline() == "ready\n", "the device is full")
        out = selftest(w, exits=(TROUBLE,), env=state)
        s.check("of free memory, and the self-test needs" in out and "End what else uses the device" in out, "it says why", out)
        s.check(file.read_text() == kept, "what was found before is kept")
        w.end(other)
        # it may also become full later
        out = selftest(w, exits=(TROUBLE,), env=state | {"SLUICE_SOFTGPU_FAULT": "create:2"})
        s.check("memory was short" in out and file.read_text() == kept, "findings for lack of memory are not kept", out)


def a_folder_that_cannot_be_written_loses_the_figures_only():
    with world("selftest-lost") as w:
        (w.folder / "state").write_text("in the way")
        out = selftest(w, env={"SLUICE_STATE": w.folder / "state"})
        s.check("cannot keep the figures" in out and "Everything that Sluice relies on holds here." in out, "both are said", out)


def a_driver_that_differs_is_told():
    """The spy refuses to map host memory, and the software GPU behind it answers cuGetProcAddress() with its own functions."""
    with world("selftest-host") as w:
        env = {"SLUICE_CUDA_DRIVER": SPY, "SLUICE_SPY_DRIVER": s.SOFTGPU / "libcuda.so.1", "SLUICE_SPY_LOG": w.folder / "calls",
               "SLUICE_SPY_NO_HOST": 1}
        found = findings(w, "--no-store", exits=(TROUBLE,), env=env)
        reach, lookup = found.pop("reach"), found.pop("lookup")
        del found["lookup.n"]
        s.check(reach["verdict"] == "unproven" and reach["error"] and reach["then"], "host memory, with the consequence", reach)
        s.check(lookup["verdict"] == "differs" and lookup["then"], "the functions, with the consequence", lookup)
        s.check(all(f["verdict"] in ("figure", "holds") for f in found.values()), "and nothing else", found)


def each_operation_that_fails_is_a_finding():
    """One fault in each process, so each part meets it; whatever fails, every part reports
    something."""
    with world("selftest-faults") as w:
        for fault in ("create:1", "map:1", "access:1", "unmap:1", "copy:1", "set:1", "launch:1", "host:1", "suspend:1"):
            found = findings(w, "--no-store", exits=(TROUBLE,), env={"SLUICE_SOFTGPU_FAULT": fault})
            bad = [f for f in found.values() if f["verdict"] in ("differs", "unproven")]
            s.check(bad and all(f["then"] for f in bad), f"{fault}: each has its consequence", bad)
            s.check(found["lookup"]["verdict"] == "holds", f"{fault}: what needs no memory is not disturbed", found["lookup"])


def what_is_no_driver_is_told():
    with world("selftest-none") as w:
        library = next(path for path in ("/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6") if os.path.exists(path))
        out = selftest(w, "--no-store", exits=(TROUBLE,), env={"SLUICE_CUDA_DRIVER": library})
        s.check("the driver lacks cuInit()" in out, "with the reason", out)
        out = selftest(w, "--gpu", "7", "--no-store", exits=(TROUBLE,))
        s.check("(error 101)" in out, "a GPU that is not there", out)
        out = selftest(w, "--gpu", "x", exits=(120,))
        s.check("GPUs are numbered from 0" in out, "no number", out)


if __name__ == "__main__":
    s.main(every_assumption_holds_and_every_figure_has_a_value, the_figures_are_kept_for_this_driver, each_gpu_has_findings_of_its_own, a_full_device_leaves_what_is_kept,
           a_folder_that_cannot_be_written_loses_the_figures_only, a_driver_that_differs_is_told,
           each_operation_that_fails_is_a_finding, what_is_no_driver_is_told)
