/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation in the order of streams, from pools of ours (pool.h) where that can be. What is
 * allocated in a capture becomes a node of the graph, and what comes from other pools is the
 * driver's: both are charged. And the calls that wait: there pools give back what they do not use.
 */
#include "cuda/bypass.h"
#include "cuda/frozen.h"
#include "cuda/memory.h"
#include "cuda/pool-release.h"
#include "cuda/pool-stream.h"
#include "cuda/pool.h"
#include "cuda/real.h"
#include "cuda/rhythm.h"
#include "cuda/headroom.h"

/* Whether an allocation of the program is ours; then *ret_result is the answer. */
static bool pool_alloc(struct slu_cuda_device *d, CUdeviceptr *ret_address, size_t bytes,
		       CUmemoryPool pool, CUstream stream, CUresult *ret_result)
{
	return bytes && !slu_cuda_graphmem_is_captured(d, stream) &&
	       slu_cuda_pool_alloc(ret_address, bytes, pool, stream, ret_result);
}

static bool stream_is_captured(CUstream stream)
{
	struct slu_cuda_device *d = slu_cuda_device_here();

	return d && slu_cuda_graphmem_is_captured(d, stream);
}

/* Sets @bytes aside. What is allocated in a capture is a graph's, and comes with the launch. */
static bool stream_reserve(struct slu_cuda_device *d, CUstream stream, uint64_t bytes,
			   bool *ret_is_captured)
{
	*ret_is_captured = slu_cuda_graphmem_is_captured(d, stream);
	return *ret_is_captured ? slu_cuda_graphmem_may_own(d, bytes)
				: slu_cuda_memory_reserve(d, bytes, bytes);
}

/* Charges what was allocated, and gives back the rest. @address: NULL where that is nothing. */
static void stream_charge(struct slu_cuda_device *d, const CUdeviceptr *address, uint64_t bytes,
			  bool is_captured)
{
	uint64_t reserved = bytes;

	if (is_captured) {
		if (address)
			slu_cuda_graphmem_made(d);
		return;
	}
	if (address)
		slu_cuda_frozen_add(d, *address, bytes, SLU_FROZEN_POOL, &reserved);
	slu_client_device_unreserve(d->client, reserved);
}

/* Each try is counted by itself: between two of them others may need us to come to rest. */
#define ALLOCATE(call)                   \
	({                               \
		CUresult r_;             \
                                         \
		slu_cuda_bypass_begin(); \
		r_ = call;               \
		slu_cuda_bypass_end();   \
		r_;                      \
	})

#define ALLOCATE_ASYNC(name, stream_meant)                                               \
	CUresult name(CUdeviceptr *ret_address, size_t bytes, CUstream stream)           \
	{                                                                                \
		struct slu_cuda_device *d = ret_address ? slu_cuda_device_here() : NULL; \
		bool is_captured;                                                        \
		CUresult r;                                                              \
                                                                                         \
		if (d && pool_alloc(d, ret_address, bytes, NULL, stream_meant, &r))      \
			return r;                                                        \
		if (d && !stream_reserve(d, stream_meant, bytes, &is_captured))          \
			return CUDA_ERROR_OUT_OF_MEMORY;                                 \
		r = ALLOCATE(SLU_REAL(name)(ret_address, bytes, stream));                \
		SLU_CUDA_HEADROOM_RETRY (d, bytes, r)                                    \
			r = ALLOCATE(SLU_REAL(name)(ret_address, bytes, stream));        \
		if (d)                                                                   \
			stream_charge(d, r == CUDA_SUCCESS ? ret_address : NULL, bytes,  \
				      is_captured);                                      \
		return r;                                                                \
	}

#define ALLOCATE_FROM_POOL(name, stream_meant)                                                    \
	CUresult name(CUdeviceptr *ret_address, size_t bytes, CUmemoryPool pool, CUstream stream) \
	{                                                                                         \
		struct slu_cuda_device *d = ret_address ? slu_cuda_device_here() : NULL;          \
		bool is_captured;                                                                 \
		CUresult r;                                                                       \
                                                                                                  \
		if (d && pool && pool_alloc(d, ret_address, bytes, pool, stream_meant, &r))       \
			return r;                                                                 \
		if (d && !stream_reserve(d, stream_meant, bytes, &is_captured))                   \
			return CUDA_ERROR_OUT_OF_MEMORY;                                          \
		r = ALLOCATE(SLU_REAL(name)(ret_address, bytes, pool, stream));                   \
		SLU_CUDA_HEADROOM_RETRY (d, bytes, r)                                             \
			r = ALLOCATE(SLU_REAL(name)(ret_address, bytes, pool, stream));           \
		if (d)                                                                            \
			stream_charge(d, r == CUDA_SUCCESS ? ret_address : NULL, bytes,           \
				      is_captured);                                               \
		return r;                                                                         \
	}

#define FREE_ASYNC(name, stream_meant)                               \
	CUresult name(CUdeviceptr address, CUstream stream)          \
	{                                                            \
		CUresult r;                                          \
                                                                     \
		if (!stream_is_captured(stream_meant) &&             \
		    slu_cuda_pool_free(address, stream_meant, &r)) { \
			slu_cuda_rhythm_meet(SLU_CUDA_RHYTHM_FREE);  \
			return r;                                    \
		}                                                    \
		slu_cuda_bypass_begin();                             \
		r = SLU_REAL(name)(address, stream);                 \
		slu_cuda_bypass_end();                               \
		if (r == CUDA_SUCCESS)                               \
			slu_cuda_frozen_remove(address);             \
		return r;                                            \
	}

#define MINE (stream ? stream : SLU_STREAM_PER_THREAD)

ALLOCATE_ASYNC(cuMemAllocAsync, stream)
ALLOCATE_ASYNC(cuMemAllocAsync_ptsz, MINE)
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync, stream)
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, MINE)
FREE_ASYNC(cuMemFreeAsync, stream)
FREE_ASYNC(cuMemFreeAsync_ptsz, MINE)

/* -- waiting ------------------------------------------------------------------------------------
 */

#define SYNCHRONIZE(name, stream_meant)                                      \
	CUresult name(CUstream stream)                                       \
	{                                                                    \
		uint64_t n_frees = atomic_load(&slu_pool_stream_n_frees);    \
		CUresult r = SLU_REAL(name)(stream);                         \
                                                                             \
		if (r == CUDA_SUCCESS && n_frees)                            \
			slu_cuda_pool_release_stream(stream_meant, n_frees); \
		slu_cuda_rhythm_meet(SLU_CUDA_RHYTHM_WAIT);                  \
		return r;                                                    \
	}

SYNCHRONIZE(cuStreamSynchronize, stream)
SYNCHRONIZE(cuStreamSynchronize_ptsz, MINE)

CUresult cuEventSynchronize(CUevent event)
{
	CUresult r = SLU_REAL(cuEventSynchronize)(event);

	if (r == CUDA_SUCCESS && atomic_load(&slu_pool_stream_n_frees))
		slu_cuda_pool_release_event();
	slu_cuda_rhythm_meet(SLU_CUDA_RHYTHM_WAIT);
	return r;
}
