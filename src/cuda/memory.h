/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The program's device memory. memory.c has the allocating calls, query.c those that only ask. */

#include "cuda/device.h"

/* Gives back everything that @context owns on @device (NULL: whoever does): the context ends, and
 * its memory with it. */
void slu_cuda_memory_forget(struct slu_cuda_device *device, CUcontext context);
