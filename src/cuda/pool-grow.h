/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How a pool gets more memory: a segment of its own, or extents for parts of a segment that are
 * absent. The lock is slu_cuda.lock, which is given up meanwhile. @asked_bytes is 0, or what the
 * program asked for if a denial is final and is to be logged.
 */

#include "cuda/pool-list.h"

/*
 * Makes a segment for an allocation of @bytes. One thread makes it, and the threads that wait for
 * it share it, so the caller looks for a block again.
 */
CUresult slu_cuda_pool_grow_locked(struct slu_cuda_pool *pool, uint64_t bytes,
				   uint64_t asked_bytes);

/* Gives extents that are absent to the block at @address, which the caller has taken. */
CUresult slu_cuda_pool_grow_fill_locked(struct slu_cuda_pool *pool, uint64_t address,
					uint64_t bytes, uint64_t asked_bytes);
