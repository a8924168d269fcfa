/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory from cuMemAlloc() that the program has freed in the order of a stream: it is given back
 * when the stream has come past the free, at the next call that waits or needs memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"

struct slu_cuda_device;

/* Return: whether it is noted; there may be no memory for that. */
bool slu_cuda_deferred_add_locked(struct slu_cuda_device *device, uint64_t address, uint64_t stream,
				  uint64_t position);

/* Gives back what can be. Not with a lock. */
void slu_cuda_deferred_finish(void);

/* The memory of @context on @device (NULL: of all) is about to be given back with its context. */
void slu_cuda_deferred_forget(const struct slu_cuda_device *device, CUcontext context);
