/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The program's device memory. memory.c has the allocating calls, query.c those that only ask. */

#include "cuda/device.h"

/*
 * A new range with its addresses and units, in the ledger. A slab cannot be cut yet: nothing in it
 * is the program's.
 */
CUresult slu_cuda_range_new(struct slu_cuda_device *device, CUcontext context, uint64_t bytes,
			    bool is_slab, struct slu_range **ret_range);

/* Gives back its extents and addresses. Not called with a lock, nor while work uses it. */
void slu_cuda_range_free(struct slu_range *range);

/* Gives back everything that @context owns on @device (NULL: whoever does): the context ends, and
 * its memory with it. */
void slu_cuda_memory_forget(struct slu_cuda_device *device, CUcontext context);
