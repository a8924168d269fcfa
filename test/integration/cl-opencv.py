#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary OpenCV program on UMat: filters, a matrix product, a transform, a resize. Prints
checksums that do not depend on where its arrays were. A number on the command line repeats it that
often.
"""

import hashlib
import sys

import cv2
import numpy


def show(name, array):
    values = numpy.ascontiguousarray(array.get())
    print(name, values.shape, values.dtype, hashlib.sha256(values.tobytes()).hexdigest()[:16])


def work():
    random = numpy.random.default_rng(3)
    picture = cv2.UMat(random.integers(0, 256, (720, 1280, 3), numpy.uint8))
    layers = [cv2.GaussianBlur(picture, (2 * k + 3, 2 * k + 3), 0) for k in range(4)]
    for k, layer in enumerate(layers):
        show(f"blur {k}", layer)
    grey = cv2.cvtColor(layers[1], cv2.COLOR_BGR2GRAY)
    show("grey", grey)
    show("half", cv2.resize(grey, (640, 360), interpolation=cv2.INTER_LINEAR))
    # not Canny: its kernel follows edges from block to block, and which pixel is seen first differs from run to run
    show("edges", cv2.Laplacian(grey, cv2.CV_16S))
    show("darker", cv2.erode(grey, cv2.getStructuringElement(cv2.MORPH_RECT, (5, 5))))
    show("bits", cv2.threshold(grey, 127, 255, cv2.THRESH_BINARY)[1])
    # integers in floats: sums are exact in any order
    a = cv2.UMat(random.integers(0, 8, (256, 256)).astype(numpy.float32))
    b = cv2.UMat(random.integers(0, 8, (256, 256)).astype(numpy.float32))
    show("product", cv2.gemm(a, b, 1, None, 0))
    show("sum", cv2.add(a, b))


def main():
    cv2.ocl.setUseOpenCL(True)
    print("OpenCL", cv2.ocl.useOpenCL())
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        work()


main()
