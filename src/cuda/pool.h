/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory pools, from which the program allocates in the order of streams. The handle of a pool is
 * the driver's own, so that every call about pools, and every graph, knows it; but nothing is
 * allocated from it. The memory of a pool is ours: segments of extents at addresses that never
 * change, which move as all other memory does, cut by pool-space.h.
 *
 * The shim leaves pools to the driver that are made to be shared with other processes, that came
 * from another process, or that have host memory. Their allocations are charged and do not move
 * (frozen.h). The same holds for allocations in a capture, which belong to the graph (graphmem.h).
 *
 * An allocation takes no turn and makes no call of the driver as long as the pool has memory that
 * the stream may have. Else it looks how far other streams have come past their frees, then makes
 * a segment, and where the program may not own more it waits for frees that are under way. What a
 * pool has beyond its release threshold and does not use goes when the program synchronises; all
 * that it does not use goes when an allocation of any kind would be refused.
 */

#include "cuda/device.h"
#include "cuda/ledger.h"

/* An allocation from a pool, as the program sees it. */
struct slu_cuda_pooled {
	uint64_t address, bytes, id;
	CUmemoryPool pool; /* NULL: it has been destroyed */
};

/*
 * Allocates in @stream, from @pool (NULL: the one that is current for the stream's device).
 * Return: whether it is our business; then *ret_result is the answer.
 */
bool slu_cuda_pool_alloc(CUdeviceptr *ret_address, size_t bytes, CUmemoryPool pool, CUstream stream,
			 CUresult *ret_result);

/* Frees in @stream, also what cuMemAlloc() gave. Return: the same. */
bool slu_cuda_pool_free(CUdeviceptr address, CUstream stream, CUresult *ret_result);

/* Frees at once: waits for what may use it. Return: the same; only memory from a pool is. */
bool slu_cuda_pool_free_now(CUdeviceptr address, CUresult *ret_result);

/* What is allocated around @address in @range, a segment. */
bool slu_cuda_pool_find_locked(const struct slu_range *range, CUdeviceptr address,
			       struct slu_cuda_pooled *ret_pooled);

/* Whether memory from a pool of @device is in use. */
bool slu_cuda_pool_is_used_locked(const struct slu_cuda_device *device);

/*
 * @context of @device ends, and where @takes_all is set all memory of the device with it: its
 * streams are past their frees. Not with a lock.
 */
void slu_cuda_pool_context_ending(struct slu_cuda_device *device, CUcontext context,
				  bool takes_all);

/* In a child: there is none. */
void slu_cuda_pool_forked(void);
