#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of the runtime API, compiled by nvcc if there is one, on the software GPU with our own
runtime.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s

SOURCE = s.SOURCE / "test/clients/cudart-scenes.cu"
ALGORITHMS = s.SOURCE / "test/clients/cudart-algorithms.cu"
TEXTURES = s.SOURCE / "test/clients/cudart-textures.cu"
CHURN = s.SOURCE / "test/clients/cudart-churn.cu"
CUDART = s.BUILD / "devices/cudart"
SHIM = s.BUILD / "src/cuda/libcuda.so.1"
LONG = bool(os.environ.get("SLUICE_LONG"))
LIBRARIES = {"LD_LIBRARY_PATH": f"{s.SOFTGPU}:{CUDART}"}
SCENES = ["vector-add", "streams", "threads", "graphs", "conditions", "cooperative", "pools", "managed", "vmm", "print", "calls", "errors"]
# what each way of compiling changes in the images; the first one is the compiler's own choice
WAYS = {
    "as nvcc does it": [],
    "LZ4": ["--compress-mode=speed"],
    "zstd for everything": ["--compress-mode=size"],
    "not compressed": ["--no-compress"],
    "separate compilation": ["-rdc=true"],
    "debugging": ["-G"],
    "fast mathematics": ["-use_fast_math"],
    "a stream a thread": ["--default-stream", "per-thread"],
    "PTX alone": ["-gencode", "arch=compute_75,code=compute_75"],
}


def nvcc():
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not found:
        raise s.Skip("there is no nvcc")
    return found


def compile(folder, *words):
    done = subprocess.run([nvcc(), "-std=c++17", *map(str, words)], cwd=folder, capture_output=True, text=True)
    s.check(done.returncode == 0, "nvcc compiles", done.stdout, done.stderr)


def scenes(w, program, names=SCENES, env=None, sluice=False):
    """Runs each scene to its right end: no function that they use is missing. Returns what they
    printed."""
    return {name: w.finish(w.start([program, name], "cuda", name=name, sluice=sluice, env=LIBRARIES | (env or {}))) for name in names}


class Program:
    """The scenes, compiled once for all tests of this run."""

    folder = None

    @classmethod
    def path(cls):
        compiler = nvcc()
        if not cls.folder:
            cls.folder = tempfile.TemporaryDirectory(prefix="sluice-nvcc-")
            compile(cls.folder.name, "-c", SOURCE, "-o", "scenes.o")
            compile(cls.folder.name, "-cudart", "shared", "scenes.o", "-o", "scenes")
        return pathlib.Path(cls.folder.name)


def programs_of_nvcc_run_on_our_runtime():
    program = Program.path() / "scenes"
    with s.World("programs", memory=64 * s.MIB) as w:
        text = scenes(w, program)
        s.check(text["print"].splitlines() == [f"thread {i} of block 0 says hello {0.25 * i:.2f}" for i in range(3)],
                "a kernel prints", text["print"])


def they_run_linked_with_our_archive():
    folder = Program.path()
    compile(folder, "-cudart", "static", f"-L{CUDART}", "scenes.o", "-o", "static")
    needed = subprocess.run(["readelf", "-d", folder / "static"], capture_output=True, text=True).stdout
    s.check("libcudart.so" not in needed, "the runtime is linked in", needed)
    with s.World("programs-static", memory=64 * s.MIB) as w:
        scenes(w, folder / "static", ["vector-add", "streams", "graphs", "errors"])


def they_run_through_the_shim_while_everything_moves():
    program = Program.path() / "scenes"
    with s.World("programs-shim", memory=64 * s.MIB, softgpu={"scale": 256}) as w:
        env = {"LD_PRELOAD": SHIM, "SLUICE_TORTURE": 1}
        scenes(w, program, ["vector-add", "streams", "threads", "graphs", "calls"], env=env)


def launches_touch_only_what_is_predicted():
    program = Program.path() / "scenes"
    known = []
    with s.World("programs-predict", memory=64 * s.MIB, softgpu={"scale": 256}) as w:
        for name in "vector-add", "streams", "threads", "cooperative", "pools", "managed", "vmm", "calls":
            rows = w.compare_predictions([program, name], env=LIBRARIES)
            known += [row["kernel"] for row in rows if row["known_writes"] == row["launches"]]
    s.check(any("scale" in kernel for kernel in known), "plain kernels are proven", known)


def they_share_a_device_with_others():
    program = Program.path() / "scenes"
    settings = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
    with s.World("programs-share", memory=24 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
        w.start_daemon()
        with w.full_of(22):
            scenes(w, program, SCENES if LONG else ["vector-add", "streams", "graphs", "vmm", "pools"], sluice=True)


def under_sluice(words):
    """What a program prints alone, and what three copies print that run at once on a device that
    another program fills."""
    settings = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
    with s.World("programs-sluice", memory=8 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
        w.start_daemon()
        out = [w.run(words, "cuda", name="alone", env=LIBRARIES)]
        with w.full_of(7):
            three = [w.start(words, "cuda", name=f"p{i}", env=LIBRARIES) for i in range(3)]
            out += [w.finish(p) for p in three]
        moved = sum(m["in_bytes"] + m["out_bytes"] for m in w.history()["moves"])
        s.check(moved, "something moved")
        s.note(f"{moved / s.MIB:.1f} MiB moved")
    return out


def every_way_of_compiling_gives_a_program_that_runs():
    if not LONG:
        nvcc()
        raise s.Skip("compiling takes minutes; SLUICE_LONG=1 does it")
    for way, flags in WAYS.items():
        with tempfile.TemporaryDirectory(prefix="sluice-nvcc-") as folder, s.World("programs-ways", memory=64 * s.MIB) as w:
            compile(folder, "-cudart", "shared", *flags, SOURCE, "-o", "scenes")
            s.note(f"compiled with {' '.join(flags) or 'nothing else'}: {way}")
            plain = scenes(w, pathlib.Path(folder) / "scenes")
            w.start_daemon()
            s.check(scenes(w, pathlib.Path(folder) / "scenes", sluice=True) == plain, "each scene prints the same under Sluice")


APART = {"kernel.cu": """
#include <cstdio>
extern __device__ int twice(int);
extern __device__ int table[4];
void other();
__global__ void both(int *out) { out[threadIdx.x] = twice(threadIdx.x) + table[threadIdx.x % 4]; }
int main()
{
    int *device, host[8];
    cudaMalloc(&device, sizeof(host));
    both<<<1, 8>>>(device);
    cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 8; i++)
        printf("%d ", host[i]);
    other();
    puts(cudaGetErrorName(cudaGetLastError()));
}
""", "part.cu": """
#include <cstdio>
__device__ int table[4] = { 0, 10, 20, 30 };
__device__ int twice(int x) { return 2 * x; }
__global__ void last(int *out) { *out = table[3]; }
void other()
{
    int *device, host = 0;
    cudaMalloc(&device, sizeof(host));
    last<<<1, 1>>>(device);
    cudaMemcpy(&host, device, sizeof(host), cudaMemcpyDeviceToHost);
    printf("%d ", host);
}
"""}


def objects_that_were_compiled_apart_run_together():
    nvcc()
    with tempfile.TemporaryDirectory(prefix="sluice-nvcc-") as folder, s.World("programs-apart", memory=64 * s.MIB) as w:
        for name, text in APART.items():
            (pathlib.Path(folder) / name).write_text(text)
        compile(folder, "-rdc=true", "-cudart", "shared", *APART, "-o", "apart")
        out = w.run([pathlib.Path(folder) / "apart"], "cuda", sluice=False, env=LIBRARIES)
        s.check(out.split() == "0 12 24 36 8 20 32 44 30 cudaSuccess".split(), "both objects see the same table", out)


def algorithms_of_cub_and_thrust_are_as_on_the_cpu():
    compiler = nvcc()
    if not LONG:
        raise s.Skip("compiling takes minutes; SLUICE_LONG=1 does it")
    with tempfile.TemporaryDirectory(prefix="sluice-nvcc-") as folder, s.World("algorithms", memory=64 * s.MIB) as w:
        s.note(f"{compiler} compiles")
        compile(folder, "-arch=compute_75", "-DALL_TYPES", "-cudart", "shared", ALGORITHMS, "-o", "algorithms")
        words = [pathlib.Path(folder) / "algorithms", s.seed(3)]
        out = [w.run(words, "cuda", sluice=False, env=LIBRARIES)]
        w.compare_predictions(words, env=LIBRARIES)
        out += under_sluice(words)
        for text in out:
            s.check(text.count("as on the CPU") == 6, "six types are right", text)


def textures_and_surfaces_are_as_on_the_cpu():
    nvcc()
    settings = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
    with tempfile.TemporaryDirectory(prefix="sluice-nvcc-") as folder:
        compile(folder, "-arch=compute_75", "-Wno-deprecated-declarations", "-cudart", "shared", TEXTURES, "-o", "textures")
        words = [pathlib.Path(folder) / "textures", s.seed(3)]
        with s.World("textures", memory=64 * s.MIB, softgpu={"scale": 256}) as w:
            out = [w.run(words, "cuda", sluice=False, env=LIBRARIES | env) for env in ({}, {"LD_PRELOAD": SHIM, "SLUICE_TORTURE": 1})]
        with s.World("textures-share", memory=24 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
            w.start_daemon()
            with w.full_of(22):
                both = [w.start(words, "cuda", name=f"textures{i}", env=LIBRARIES) for i in range(2)]
                out += [w.finish(p) for p in both]
        for text in out:
            s.check(text.strip() == "75280 reads as on the CPU", "every read is right", text)


def threads_that_sort_and_scan_in_a_loop_are_right_alone_and_together():
    compiler = nvcc()
    if not os.environ.get("SLUICE_LONG"):
        raise s.Skip("compiling takes minutes; SLUICE_LONG=1 does it")
    with tempfile.TemporaryDirectory(prefix="sluice-nvcc-") as folder:
        s.note(f"{compiler} compiles")
        compile(folder, "-arch=compute_75", "-cudart", "shared", CHURN, "-o", "churn")
        program, seed = pathlib.Path(folder) / "churn", s.seed(1)
        with s.World("churn", memory=40 * s.MIB) as w:
            for i in range(20):
                w.run([program, 3, 4, 20000, seed + i], "cuda", sluice=False, env=LIBRARIES)
        settings = {"scheduler.slice": "50ms", "memory.checksum_moves": "on"}
        with s.World("churn-share", memory=24 * s.MIB, settings=settings, softgpu={"scale": 256}) as w:
            w.start_daemon()
            for i in range(5):
                both = [w.start([program, 2, 4, 40000, seed + i + 100 * k], "cuda", name=f"churn{k}", env=LIBRARIES) for k in range(2)]
                for one in both:
                    w.finish(one)


def a_program_without_ptx_is_told_so():
    compiler = nvcc()
    with tempfile.TemporaryDirectory(prefix="sluice-nvcc-") as folder, s.World("programs-cubin", memory=64 * s.MIB) as w:
        source = pathlib.Path(folder) / "cubin.cu"
        source.write_text("#include <cstdio>\n__global__ void k() {}\n"
                          "int main() { k<<<1, 1>>>(); puts(cudaGetErrorName(cudaGetLastError())); }\n")
        compile(folder, "-cudart", "shared", "-gencode", "arch=compute_75,code=sm_75", source, "-o", "cubin")
        out = w.run([pathlib.Path(folder) / "cubin"], "cuda", sluice=False, env=LIBRARIES)
        s.check(out.strip() == "cudaErrorNoKernelImageForDevice", f"{compiler} without PTX gives the proper error", out)


s.main(programs_of_nvcc_run_on_our_runtime, they_run_linked_with_our_archive,
       they_run_through_the_shim_while_everything_moves,
       launches_touch_only_what_is_predicted, they_share_a_device_with_others,
       objects_that_were_compiled_apart_run_together, a_program_without_ptx_is_told_so,
       textures_and_surfaces_are_as_on_the_cpu,
       algorithms_of_cub_and_thrust_are_as_on_the_cpu, threads_that_sort_and_scan_in_a_loop_are_right_alone_and_together,
       every_way_of_compiling_gives_a_program_that_runs)
