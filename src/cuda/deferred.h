/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory from cuMemAlloc() that the program freed in the order of a stream. The shim gives it back
 * when the stream has passed the free, at the next call that waits or needs memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"

struct slu_cuda_device;

/* Return: whether the free is noted: the host may be out of memory. */
bool slu_cuda_deferred_add_locked(struct slu_cuda_device *device, uint64_t address, uint64_t stream,
				  uint64_t position);

/* Gives back the memory whose streams have passed its frees. Not with a lock. */
void slu_cuda_deferred_finish(void);

/* The memory of @context on @device (NULL: of all) is about to be given back with its context. */
void slu_cuda_deferred_forget(const struct slu_cuda_device *device, CUcontext context);
