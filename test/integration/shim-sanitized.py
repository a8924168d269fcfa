#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole shim inside real programs, built with a sanitizer (build-asan, build-tsan): its runtime is preloaded into the program.

In a build without one the same scenes run without it.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SHIM = s.BUILD / "src/cuda/libcuda.so.1"
SMALL = {"scale": 256}
SETTINGS = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
SCENE_LIST = [("contents", 40), ("graphs", 2), ("host-functions", 5), ("contexts", 1), ("exits-with-work", 1), ("maps", 20), ("runs-ahead", "host"),
              ("runs-ahead", "value"), ("runs-ahead", "node"), ("threads", 64), ("pool-rules", 1), ("pools", 60)]


def is_sanitized():
    options = json.loads((s.BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(o["value"] for o in options if o["name"] == "b_sanitize") != "none"


def runtime():
    """The sanitizer's runtime that our library was linked with; None in a build without a sanitizer."""
    needed = subprocess.run(["ldd", SHIM], capture_output=True, text=True).stdout.splitlines()
    found = next((line.split()[2] for line in needed if "libasan" in line or "libtsan" in line), None)
    s.check(bool(found) == is_sanitized(), "a build with a sanitizer has its runtime, and no other has", found, *needed)
    return found


def device():
    """The build whose software GPU and scenes are used: a build for the thread sanitizer does not
    have them."""
    for folder in (s.BUILD, s.SOURCE / "build"):
        if (folder / "devices/softgpu/libcuda.so.1").exists() and (folder / "src/cuda/cuda-scenes").exists():
            return folder
    raise s.Skip("neither this build nor build/ has a software GPU")


def environment(world):
    """For a program with a sanitizer: a finding ends it with a status that no scene has."""
    suppressions = world.folder / "suppressions"
    # the software GPU is a device: what programs race for in its memory is theirs
    suppressions.write_text("race:devices/softgpu/\nrace:devices/board/\ndeadlock:devices/softgpu/\n")
    env = {"SLUICE_SEED": s.seed(11), "LD_LIBRARY_PATH": device() / "devices/softgpu",
           "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:exitcode=77",
           "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=77",
           "TSAN_OPTIONS": f"exitcode=77:suppressions={suppressions}"}
    return env | ({"LD_PRELOAD": runtime()} if runtime() else {})


def every_scene_is_clean_while_everything_moves_between_two_calls():
    with s.World("sanitized-torture", memory=32 * s.MIB, softgpu=SMALL) as w:
        env = environment(w)
        preload = " ".join(filter(None, (env.get("LD_PRELOAD"), str(SHIM))))
        for scene, how in SCENE_LIST:
            w.run([device() / "src/cuda/cuda-scenes", scene, how], "cuda", name=scene, sluice=False,
                  env=env | {"LD_PRELOAD": preload, "SLUICE_TORTURE": 1})


def programs_that_switch_are_clean():
    with s.World("sanitized-switch", memory=24 * s.MIB, settings=SETTINGS, softgpu=SMALL) as w:
        w.start_daemon()
        env = environment(w)
        fills = [w.start([s.CLIENTS / "cuda-fill", "--mib", 14, "--rounds", 6, "--mix", "--threads", 2, "--seed", i], "cuda",
                         name=f"fill{i}", env=env) for i in range(2)]
        w.run([device() / "src/cuda/cuda-scenes", "contents", 20], "cuda", name="contents", env=env)
        w.run([device() / "src/cuda/cuda-scenes", "pools", 60], "cuda", name="pools", env=env)
        for fill in fills:
            w.finish(fill)


s.main(every_scene_is_clean_while_everything_moves_between_two_calls, programs_that_switch_are_clean)
