#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary pyopencl program: arrays, reductions, a scan, a sort and kernels of its own. Prints
checksums that do not depend on where its arrays were."""

import hashlib

import numpy
import pyopencl
import pyopencl.algorithm
import pyopencl.array
import pyopencl.scan

SOURCE = """
kernel void saxpy(global const float *x, global float *y, float a)
{ size_t i = get_global_id(0); y[i] = a * x[i] + y[i]; }
kernel void turn(global const uint *in, global uint *out, uint n)
{ size_t i = get_global_id(0); out[n - 1 - i] = in[i] * 2654435761u; }
"""


def show(name, values):
    values = numpy.ascontiguousarray(values)
    print(name, values.shape, hashlib.sha256(values.tobytes()).hexdigest()[:16])


def main():
    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    flags = pyopencl.mem_flags
    program = pyopencl.Program(context, SOURCE).build()
    random = numpy.random.default_rng(5)
    n = 1 << 18

    # integers in floats: sums are exact in any order
    x = random.integers(0, 64, n).astype(numpy.float32)
    arrays = [pyopencl.array.to_device(queue, x + i) for i in range(6)]
    total = pyopencl.array.zeros(queue, n, numpy.float32)
    for array in arrays:
        total += array * 2
        program.saxpy(queue, (n,), None, array.data, total.data, numpy.float32(3))
    show("total", total.get())
    print("sum", float(pyopencl.array.sum(total).get()), float(pyopencl.array.max(total).get()))

    words = random.integers(0, 1 << 32, n, dtype=numpy.uint32)
    first = pyopencl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=words)
    second = pyopencl.Buffer(context, flags.READ_WRITE, words.nbytes)
    program.turn(queue, (n,), None, first, second, numpy.uint32(n))
    half = second.get_sub_region(words.nbytes // 2, words.nbytes // 2)
    pyopencl.enqueue_fill_buffer(queue, second, numpy.uint32(7), 0, words.nbytes // 4)
    result = numpy.empty_like(words)
    pyopencl.enqueue_copy(queue, result, second)
    show("turned", result)
    part = numpy.empty(n // 2, numpy.uint32)
    pyopencl.enqueue_copy(queue, part, half)
    show("half", part)
    mapped, _ = pyopencl.enqueue_map_buffer(queue, second, pyopencl.map_flags.READ, 0, (n,),
                                            numpy.uint32)
    show("mapped", mapped)
    mapped.base.release(queue)

    device = pyopencl.array.to_device(queue, words)
    scan = pyopencl.scan.GenericScanKernel(
        context, numpy.uint32, arguments="__global uint *ary", input_expr="ary[i]",
        scan_expr="a+b", neutral="0", output_statement="ary[i] = item;")
    scan(device)
    show("scanned", device.get())
    chosen, count, _ = pyopencl.algorithm.copy_if(device, "ary[i] % 3 == 0", queue=queue)
    print("chosen", int(count.get()))
    show("chosen", chosen.get()[:int(count.get())])
    image = pyopencl.image_from_array(context, words.view(numpy.uint8).reshape(512, 512, 4), 4)
    back = numpy.empty((512, 512, 4), numpy.uint8)
    pyopencl.enqueue_copy(queue, back, image, origin=(0, 0), region=(512, 512))
    show("image", back)


main()
