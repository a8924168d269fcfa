# SPDX-License-Identifier: Apache-2.0
"""numba kernels as anybody writes them, against numpy. It knows nothing of Sluice."""

import math
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
from numba import cuda, float32

N = 3000
numbers = np.random.default_rng(5)


def compare(what, found, expected):
    if not np.allclose(found, expected, rtol=1e-4, atol=1e-4):
        sys.exit(f"{what}: off by {np.abs(found - expected).max()}")


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def waves(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = math.sin(x[i]) * math.exp(-x[i]) + math.sqrt(x[i])


@cuda.jit
def block_sums(x, sums):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(sums, 0, part[0])


@cuda.jit
def multiply(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


# 2 MiB that stay from the beginning to the end
kept = numbers.random(1 << 19, dtype=np.float32)
kept_on_device = cuda.to_device(kept)

x, y = numbers.random(N, dtype=np.float32), numbers.random(N, dtype=np.float32)
on_device = cuda.to_device(y)
axpy[(N + 127) // 128, 128](np.float32(2.5), cuda.to_device(x), on_device)
compare("axpy", on_device.copy_to_host(), 2.5 * x + y)

result = np.zeros_like(x)
waves[4, 64](x, result)
compare("mathematics", result, np.sin(x) * np.exp(-x) + np.sqrt(x))

total = np.zeros(1, np.float32)
block_sums[(N + 127) // 128, 128](x, total)
compare("shared memory and atomics", total[0], x.sum())

a, b = numbers.random((20, 30), dtype=np.float32), numbers.random((30, 24), dtype=np.float32)
c = np.zeros((20, 24), np.float32)
stream = cuda.stream()
on_device = cuda.to_device(c, stream)
multiply[(3, 3), (8, 8), stream](cuda.to_device(a, stream), cuda.to_device(b, stream), on_device)
on_device.copy_to_host(c, stream)
stream.synchronize()
compare("matrix product", c, a @ b)
axpy[(kept.size + 127) // 128, 128](np.float32(2), kept_on_device, kept_on_device)
compare("what was kept", kept_on_device.copy_to_host(), 3 * kept)
print("as numpy")
