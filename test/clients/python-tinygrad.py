# SPDX-License-Identifier: Apache-2.0
"""tinygrad as anybody uses it, on the device that DEV names: operations against numpy, then a small training loop.

Prints the losses of the loop, one a line, so that two devices can be compared. It knows nothing of Sluice.
"""

import sys

import numpy as np
from tinygrad import Context, Tensor, nn

numbers = np.random.default_rng(7)


def random(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def compare(what, found, expected, tolerance=1e-4):
    found = found.numpy()
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=tolerance, atol=tolerance):
        sys.exit(f"{what}: off by {np.abs(found - expected).max()}")


def convolve(image, kernel):
    n, _, h, w = image.shape
    out = np.zeros((n, kernel.shape[0], h - 2, w - 2), np.float32)
    for y in range(h - 2):
        for x in range(w - 2):
            out[:, :, y, x] = np.einsum("ncyx,kcyx->nk", image[:, :, y:y + 3, x:x + 3], kernel)
    return out


def operations():
    a, b = random(48, 40), random(48, 40)
    compare("elementwise", (Tensor(a) * 3 + Tensor(b).relu()).exp(), np.exp(a * 3 + np.maximum(b, 0)), 1e-3)
    compare("sum", Tensor(a).sum(axis=1), a.sum(axis=1))
    compare("maximum", Tensor(a).max(axis=0), a.max(axis=0))
    compare("matrix product", Tensor(a) @ Tensor(b).T, a @ b.T, 1e-3)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    compare("softmax", Tensor(a).softmax(), e / e.sum(axis=1, keepdims=True))
    image, kernel = random(2, 3, 10, 10), random(4, 3, 3, 3)
    compare("convolution", Tensor(image).conv2d(Tensor(kernel)), convolve(image, kernel), 1e-3)
    compare("integers", Tensor(np.arange(300, dtype=np.int32)) * 7 // 3, np.arange(300, dtype=np.int32) * 7 // 3)


def train(steps):
    x, w = random(64, 16), random(16, 4)
    y = np.argmax(x @ w, axis=1).astype(np.int32)
    one, two = Tensor(random(16, 32) * 0.2), Tensor(random(32, 4) * 0.2)
    data, labels = Tensor(x), Tensor(y)
    optimizer = nn.optim.SGD([one, two], lr=0.5)
    with Context(TRAINING=1):
        for _ in range(steps):
            loss = (data @ one).relu().matmul(two).sparse_categorical_crossentropy(labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"{loss.item():.6f}", flush=True)


# 2 MiB that stay from the beginning to the end
numbers_kept = random(512, 1024)
kept = (Tensor(numbers_kept) * 2).realize()
operations()
train(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
compare("what was kept", kept + 1, numbers_kept * 2 + 1)
