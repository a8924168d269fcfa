#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python programs from PyPI, unmodified, on the software GPU: tinygrad, numba and what monitors use.

They come into an environment of their own in the build folder, which is kept for the next time. Where pip cannot get them, or
where a program needs NVIDIA's compiler libraries and there are none, a test is skipped and says so.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

CLIENTS = s.SOURCE / "test/clients"
TOOLKIT = pathlib.Path("/usr/local/cuda")
NVML = s.BUILD / "src/nvml"
MEMORY = 64 * s.MIB
LONG = bool(os.environ.get("SLUICE_LONG"))

# what works today; newer ones may ask for more
PACKAGES = {"tinygrad": ["tinygrad==0.14.0", "numpy"], "nvml": ["nvidia-ml-py==13.615.71"],
            "numba": ["numba-cuda==0.30.4", "cuda-core==1.2.2", "cuda-bindings==13.5.0", "numpy"]}


def python(name):
    """The interpreter of a private environment that has what `name` needs."""
    folder = s.BUILD / "python" / name
    done = folder / "complete"
    if not done.exists():
        commands = [[sys.executable, "-m", "venv", "--clear", folder],
                    [folder / "bin/pip", "install", "--quiet", "--retries", "1", "--timeout", "30", *PACKAGES[name]]]
        for command in commands:
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode:
                text = (ran.stderr or ran.stdout).strip().splitlines() or ["no reason given"]
                raise s.Skip(f"{pathlib.Path(command[0]).name} cannot get {name}: {text[-1]}")
        done.touch()
    return folder / "bin/python"


def toolkit(path):
    if not (TOOLKIT / path).exists():
        raise s.Skip(f"there is no {path} of a CUDA toolkit")
    return TOOLKIT / path


def run(world, interpreter, client, *words, env=None, folders=(), **more):
    # the programs' own caches stay in their world
    env = {"CACHEDB": world.folder / "tinygrad.db", "NUMBA_CACHE_DIR": world.folder, "HOME": world.folder} | (env or {})
    env["LD_LIBRARY_PATH"] = ":".join(map(str, [s.SOFTGPU, NVML, *folders]))
    return world.run([interpreter, CLIENTS / client, *words], "cuda", env=env, sluice=False, **more)


def losses(text):
    return [float(line) for line in text.split()]


def tinygrad(device, steps, env=None, folders=()):
    interpreter = python("tinygrad")
    with s.World("tinygrad", memory=MEMORY) as w:
        return losses(run(w, interpreter, "python-tinygrad.py", steps, env={"DEV": device} | (env or {}), folders=folders))


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
        return
    same_losses(tinygrad("CUDA:PTX", 20), 20)


def tinygrad_runs_with_nvrtc():
    folder = toolkit("lib64/libnvrtc.so").parent
    if not LONG:
        raise s.Skip("it takes a minute; SLUICE_LONG=1 does it")
    same_losses(tinygrad("CUDA", 20, folders=[folder]), 20)


def numba_runs_through_the_drivers_linker():
    nvvm = toolkit("nvvm")
    if not LONG:
        raise s.Skip("it takes a minute; SLUICE_LONG=1 does it")
    interpreter = python("numba")
    with s.World("numba", memory=MEMORY) as w:
        # a toolkit without nvJitLink, which would give machine code; a file that is no library hides the one that the
        # loader knows
        home = w.folder / "toolkit"
        home.mkdir()
        (home / "nvvm").symlink_to(nvvm)
        (home / "include").symlink_to(TOOLKIT / "include")
        hidden = w.folder / "hidden"
        hidden.mkdir()
        (hidden / "libnvJitLink.so.13").write_text("none")
        text = run(w, interpreter, "python-numba.py", env={"CUDA_HOME": home, "CUDA_PATH": home}, folders=[hidden])
        s.check("as numpy" in text, "every kernel is right", text)


def monitors_see_devices_memory_and_processes():
    interpreter = python("nvml")
    with s.World("nvml", memory=MEMORY, softgpu={"devices": 2}) as w:
        fill = w.start([s.CLIENTS / "cuda-fill", "--mib", 8, "--endless"], "cuda", sluice=False, stdin=subprocess.PIPE)

        def seen():
            devices = json.loads(run(w, interpreter, "python-nvml.py"))["devices"]
            return devices if len(devices) == 2 and devices[0]["used"] >= 8 * s.MIB else None

        devices = s.wait_until("the monitor sees the program's memory", seen)
        s.check(devices[0]["total"] == MEMORY and devices[1]["used"] == 0, "each device has its own", devices)
        s.check(devices[0]["processes"] == {str(fill.pid): devices[0]["used"]}, "the process is named", devices, fill.pid)
        s.check(devices[0]["uuid"].startswith("GPU-") and devices[0]["uuid"] != devices[1]["uuid"], "devices are told apart", devices)
        s.check(devices[0]["heat"] == "not supported", "what a CPU does not have is not supported", devices)
        s.wait_until("the monitor sees that it computes",
                     lambda: json.loads(run(w, interpreter, "python-nvml.py"))["devices"][0]["gpu"] > 0)
        w.end(fill)


s.main(tinygrad_runs_with_its_own_ptx, tinygrad_runs_with_nvrtc, numba_runs_through_the_drivers_linker,
       monitors_see_devices_memory_and_processes)
