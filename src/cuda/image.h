/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much device memory the variables of a module take, counted from its image: the sections
 * .nv.global* and .nv.constant3 of machine code, and the declarations of PTX. A fat binary has one
 * image for each of several architectures; the largest one counts. Of a list of fat binaries, all
 * count.
 *
 * Nothing else tells it. The driver has no call that lists the variables of a module, and the
 * change of free memory around a load contains what other processes do meanwhile. What is packed in
 * a fat binary is not counted: libraries that unpack it are not for a guest in a program.
 *
 * Pure. An image is read only after the driver has accepted it.
 */

#include <stdint.h>

/* @size: how much of @image may be read, where that is known, else UINT64_MAX. */
uint64_t slu_cuda_image_variable_bytes(const void *image, uint64_t size);
