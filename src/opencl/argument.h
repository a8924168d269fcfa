/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a kernel declares that it does to the object behind an argument. Drivers answer where the
 * program was built for it (build.c). Without an answer the layer assumes a write.
 *
 *   image, read_only          READ    its type cannot be cast, so nothing in the kernel writes it
 *   pointer to const          SUSPECT a cast can remove const
 *   pointer into __constant   SUSPECT the same by way of a number
 *   anything else             WRITE
 */

#include "opencl/layer.h"
#include "opencl/proxy.h"

/* @type: of the object that the driver has accepted there. */
enum slu_access slu_argument_access(cl_kernel kernel, cl_uint index, cl_mem_object_type type);
