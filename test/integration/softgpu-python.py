#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python programs from PyPI, unmodified, on the software GPU: tinygrad, numba, Taichi and what
monitors use.

Plain, and under Sluice: alone, and two at once next to an endless program that fills the device.
Their output is the same each time. They are installed in an environment of their own in the build
folder, which is kept for the next time. If pip cannot get them, or a program needs NVIDIA's
compiler libraries and there are none, a test is skipped and says so.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import pypi
import sluice as s

CLIENTS = s.SOURCE / "test/clients"
TOOLKIT = pathlib.Path("/usr/local/cuda")
NVML = s.BUILD / "devices/nvml"
MEMORY = 64 * s.MIB
SMALL = 8 * s.MIB
LONG = bool(os.environ.get("SLUICE_LONG"))

# what works today; newer ones may ask for more
PACKAGES = {"tinygrad": ["tinygrad==0.14.0", "numpy"], "nvml": ["nvidia-ml-py==13.615.71"],
            "taichi": ["taichi==1.7.4", "numpy"],
            "numba": ["numba-cuda==0.30.4", "cuda-core==1.2.2", "cuda-bindings==13.5.0", "numpy"]}
FRAMES = 2
EXAMPLES = ["simulation/fractal.py", "simulation/mpm88.py", "simulation/waterwave.py", "simulation/game_of_life.py", "simulation/vortex_rings.py",
            "simulation/fem99.py", "simulation/ad_gravity.py", "simulation/odop_solar.py", "algorithm/laplace.py"]


def python(name):
    """The interpreter of a private environment with the packages that `name` needs."""
    return pypi.interpreter(name, PACKAGES[name])


def toolkit(path):
    if not (TOOLKIT / path).exists():
        raise s.Skip(f"there is no {path} of a CUDA toolkit")
    return TOOLKIT / path


def start(world, interpreter, client, *words, env=None, folders=(), **more):
    # the programs' own caches stay in their world
    env = {"CACHEDB": world.folder / "tinygrad.db", "NUMBA_CACHE_DIR": world.folder, "HOME": world.folder} | (env or {})
    env["LD_LIBRARY_PATH"] = ":".join(map(str, [s.SOFTGPU, NVML, *folders]))
    return world.start([interpreter, CLIENTS / client, *words], "cuda", env=env, **({"sluice": False} | more))


def run(world, *words, **more):
    return world.finish(start(world, *words, **more))


def under_sluice(name, *words, alone=True, prepare=None, memory=SMALL, **more):
    """What the program prints alone, and what two copies print that run at once on a device that
    another program fills."""
    settings = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
    with s.World(name, memory=memory, settings=settings, softgpu={"scale": 256}) as w:
        w.start_daemon()
        more = more | (prepare(w) if prepare else {})
        out = [w.finish(start(w, *words, sluice=True, name="alone", **more), seconds=900)] if alone else []
        with w.full_of(memory // s.MIB * 7 // 8):
            both = [start(w, *words, sluice=True, name=f"p{i}", **more) for i in range(2)]
            out += [w.finish(p, seconds=900) for p in both]
        moved = sum(m["in_bytes"] + m["out_bytes"] for m in w.history()["moves"])
        s.check(moved, "something moved")
        s.note(f"{name}: {moved / s.MIB:.1f} MiB moved")
    return out


def losses(text):
    return [float(line) for line in text.split()]


def tinygrad(device, steps, env=None, folders=()):
    interpreter = python("tinygrad")
    with s.World("tinygrad", memory=MEMORY) as w:
        return losses(run(w, interpreter, "python-tinygrad.py", steps, env={"DEV": device} | (env or {}), folders=folders))


def same_under_sluice(device, steps, found, **more):
    """Both the operations, which the program itself compares with numpy, and each loss."""
    for text in under_sluice("tinygrad", python("tinygrad"), "python-tinygrad.py", steps, env={"DEV": device}, alone=LONG, **more):
        s.check(losses(text) == found, "each loss under Sluice is the one without it", text, found)


def same_losses(found, steps):
    s.check(len(found) == steps and found[-1] < found[0], "the network learns", found)
    expected = tinygrad("CPU", steps)
    worst = max(abs(a - b) for a, b in zip(found, expected))
    s.check(worst < 2e-3, "each loss is the CPU's", found, expected)
    s.note(f"{steps} steps, losses from {found[0]:.4f} to {found[-1]:.4f}, at most {worst:.1e} off")


def tinygrad_runs_with_its_own_ptx():
    if not LONG:
        found = tinygrad("CUDA:PTX", 3)
        s.check(len(found) == 3 and found[-1] < found[0], "the network learns", found)
    else:
        found = tinygrad("CUDA:PTX", 20)
        same_losses(found, 20)
    same_under_sluice("CUDA:PTX", len(found), found)


def launches_of_tinygrad_touch_only_what_is_predicted():
    """Without its graphs, of which nothing is predicted. It looks for the driver by its name, so the shim is in the path."""
    with s.World("tinygrad-predict", memory=MEMORY, softgpu={"scale": 256}) as w:
        env = {"CACHEDB": w.folder / "tinygrad.db", "HOME": w.folder, "DEV": "CUDA:PTX", "JIT": 0,
               "LD_LIBRARY_PATH": s.BUILD / "src/cuda", "SLUICE_CUDA_DRIVER": s.SOFTGPU / "libcuda.so.1"}
        rows = w.compare_predictions([python("tinygrad"), CLIENTS / "python-tinygrad.py", 3], env=env)
        s.check(rows and all(row["known_writes"] == row["launches"] for row in rows), "all launches are proven", rows)


def tinygrad_runs_with_nvrtc():
    folder = toolkit("lib64/libnvrtc.so").parent
    if not LONG:
        raise s.Skip("it takes a minute; SLUICE_LONG=1 does it")
    found = tinygrad("CUDA", 20, folders=[folder])
    same_losses(found, 20)
    same_under_sluice("CUDA", 20, found, folders=[folder])


def toolkit_without_linker(w):
    """A toolkit without nvJitLink, which would give machine code; a file that is no library hides
    the one that the loader knows."""
    toolkit, hidden = w.folder / "toolkit", w.folder / "hidden"
    toolkit.mkdir()
    for name in ("nvvm", "include"):
        (toolkit / name).symlink_to(TOOLKIT / name)
    hidden.mkdir()
    (hidden / "libnvJitLink.so.13").write_text("none")
    return {"env": {"CUDA_HOME": toolkit, "CUDA_PATH": toolkit}, "folders": [hidden]}


def numba_runs_through_the_drivers_linker():
    toolkit("nvvm")
    if not LONG:
        raise s.Skip("it takes a minute; SLUICE_LONG=1 does it")
    interpreter = python("numba")
    with s.World("numba", memory=MEMORY) as w:
        out = [run(w, interpreter, "python-numba.py", **toolkit_without_linker(w))]
    out += under_sluice("numba", interpreter, "python-numba.py", prepare=toolkit_without_linker)
    for text in out:
        s.check("as numpy" in text, "every kernel is right", text)


def examples_of_taichi_draw_the_same():
    if not LONG:
        raise s.Skip("it takes minutes; SLUICE_LONG=1 does it")
    interpreter, env = python("taichi"), {"TI_ARCH": "cuda", "TI_DEVICE_MEMORY_GB": "0.03", "TI_OFFLINE_CACHE": "0"}
    words = [interpreter, "python-taichi.py", FRAMES, *EXAMPLES]
    with s.World("taichi", memory=MEMORY) as w:
        plain = drawn(run(w, *words, env=env))
    s.check(len(plain) > 2 * len(EXAMPLES), "each example draws or prints something", *plain)
    for text in under_sluice("taichi", *words, env=env, memory=MEMORY):
        s.check(drawn(text) == plain, "what an example draws under Sluice is what it draws without it", *plain, "", *drawn(text))
    s.note(f"{len(EXAMPLES)} examples, {len(plain)} lines are equal")


def drawn(text):
    """Without the lines in which Taichi describes itself."""
    return [line for line in text.splitlines() if line and not line.startswith("[")]


def monitors_see_devices_memory_and_processes():
    interpreter = python("nvml")
    with s.World("nvml", memory=MEMORY, softgpu={"devices": 2}) as w:
        fill = w.start([s.CLIENTS / "cuda-fill", "--mib", 8, "--endless"], "cuda", sluice=False, stdin=subprocess.PIPE)

        def seen():
            devices = json.loads(run(w, interpreter, "python-nvml.py"))["devices"]
            return devices if len(devices) == 2 and devices[0]["used"] >= 8 * s.MIB else None

        devices = s.wait_until("the monitor sees the program's memory", seen)
        s.check(devices[0]["total"] == MEMORY and devices[1]["used"] == 0, "each device has its own", devices)
        held = devices[0]["processes"]
        s.check(list(held) == [str(fill.pid)] and 8 * s.MIB <= held[str(fill.pid)] <= devices[0]["used"],
                "the process is named", devices, fill.pid)
        s.check(devices[0]["uuid"].startswith("GPU-") and devices[0]["uuid"] != devices[1]["uuid"], "devices are told apart", devices)
        s.check(devices[0]["heat"] == "not supported", "what a CPU does not have is not supported", devices)
        s.wait_until("the monitor sees that it computes",
                     lambda: json.loads(run(w, interpreter, "python-nvml.py"))["devices"][0]["gpu"] > 0)
        w.end(fill)


s.main(tinygrad_runs_with_its_own_ptx, launches_of_tinygrad_touch_only_what_is_predicted, tinygrad_runs_with_nvrtc, numba_runs_through_the_drivers_linker,
       examples_of_taichi_draw_the_same, monitors_see_devices_memory_and_processes)
