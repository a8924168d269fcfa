/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation on extents at addresses that never change. In a turn, with credit at hand, an
 * allocation is the driver's own calls and no message; off turn its extents begin in RAM.
 */
#include "cuda/memory.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/frozen.h"
#include "cuda/headroom.h"
#include "cuda/pool-release.h"
#include "cuda/pool.h"
#include "cuda/range.h"
#include "cuda/real.h"
#include "cuda/rhythm.h"

/* -- slabs ----------------------------------------------------------------------------------------
 */

static bool slab_is_empty(const struct slu_cuda_device *d, const struct slu_range *range)
{
	return range->device == d && range->is_slab && range->is_open && !range->n_allocations;
}

/* An empty slab of @context, or of any where that is NULL, but for @kept. */
static struct slu_range *slab_find_empty_locked(const struct slu_cuda_device *d, CUcontext context,
						const struct slu_range *kept)
{
	struct slu_range *range;
	size_t cursor = 0;

	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor)))
		if (range != kept && slab_is_empty(d, range) &&
		    (!context || range->context == context))
			return range;
	return NULL;
}

uint64_t slu_cuda_memory_kept_bytes(const struct slu_cuda_device *device)
{
	const struct slu_range *range;
	uint64_t bytes = 0;
	size_t cursor = 0;

	slu_lock_take(&slu_cuda.lock);
	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor)))
		bytes += slab_is_empty(device, range) ? range->bytes : 0;
	slu_lock_give(&slu_cuda.lock);
	return bytes;
}

/* Gives back the slabs that are kept for later. */
static void slabs_free_empty(struct slu_cuda_device *d)
{
	struct slu_range *slab;

	for (;;) {
		slu_lock_take(&slu_cuda.lock);
		slab = slab_find_empty_locked(d, NULL, NULL);
		if (slab)
			slab->is_open = false; /* no thread cuts it any more */
		slu_lock_give(&slu_cuda.lock);
		if (!slab)
			return;
		slu_cuda_range_free(slab);
	}
}

bool slu_cuda_memory_reserve(struct slu_cuda_device *device, uint64_t bytes, uint64_t asked_bytes)
{
	CUstreamCaptureMode before;

	if (slu_client_device_reserve(device->client, bytes, 0)) {
		slu_cuda_hasher_yield_to_owned(device);
		return true;
	}
	before = slu_cuda_capture_relax();
	slabs_free_empty(device);
	slu_cuda_capture_restore(before);
	slu_cuda_hasher_yield(device);
	slu_cuda_pool_release_unused(device);
	slu_cuda_graphmem_give_idle(device);
	return slu_client_device_reserve(device->client, bytes, asked_bytes);
}

/* The driver takes a granule for small allocations; more only while there is enough. */
static CUresult slab_make(struct slu_cuda_device *d, CUcontext context, uint64_t asked_bytes)
{
	struct slu_cuda_range_plan plan = { context, SLU_RANGE_SLAB, d->slab_bytes, NULL };
	struct slu_range *slab;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (d->slab_bytes > d->granule_bytes)
		r = slu_cuda_range_new(d, &plan, 0, &slab);
	plan.bytes = d->granule_bytes;
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		r = slu_cuda_range_new(d, &plan, asked_bytes, &slab);
	if (r != CUDA_SUCCESS)
		return r;
	slu_lock_take(&slu_cuda.lock);
	slab->is_open = true;
	slu_lock_give(&slu_cuda.lock);
	return CUDA_SUCCESS;
}

/* A piece of a slab. One thread makes a new slab, and the threads that wait for it share it. */
static CUresult slab_alloc(struct slu_cuda_device *d, CUcontext context, uint64_t bytes,
			   CUdeviceptr *ret_address)
{
	CUresult r = CUDA_SUCCESS;
	uint64_t address;
	int found;

	if (slu_client_device_is_unfit(d->client))
		return CUDA_ERROR_OUT_OF_MEMORY;
	slu_lock_take(&slu_cuda.lock);
	while ((found = slu_ledger_cut(slu_cuda.ledger, bytes, d, context, &address)) > 0 &&
	       r == CUDA_SUCCESS) {
		if (d->is_making_slab) {
			slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
			continue;
		}
		d->is_making_slab = true;
		slu_lock_give(&slu_cuda.lock);
		r = slab_make(d, context, bytes);
		slu_lock_take(&slu_cuda.lock);
		d->is_making_slab = false;
		pthread_cond_broadcast(&slu_cuda.changed);
	}
	slu_lock_give(&slu_cuda.lock);
	if (found < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (found)
		return r;
	*ret_address = address;
	return CUDA_SUCCESS;
}

/* A dead context fails every call; a piece of a slab makes none that could fail. */
static CUresult context_status(const struct slu_cuda_device *d, CUcontext context)
{
	CUresult r = context == d->service ? SLU_REAL(cuStreamQuery)(d->streams[0]) : CUDA_SUCCESS;

	return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r;
}

/*
 * Memory that another process may open later (cuIpcGetMemHandle) must be the driver's own: extents
 * have no such handle. It stays put.
 */
static CUresult driver_alloc(struct slu_cuda_device *d, CUdeviceptr *ret_address, size_t bytes)
{
	uint64_t reserved = bytes;
	CUresult r;

	if (!slu_cuda_memory_reserve(d, bytes, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = SLU_REAL(cuMemAlloc_v2)(ret_address, bytes);
	SLU_CUDA_HEADROOM_RETRY (d, bytes, r)
		r = SLU_REAL(cuMemAlloc_v2)(ret_address, bytes);
	if (r == CUDA_SUCCESS)
		slu_cuda_frozen_add(d, *ret_address, bytes, SLU_FROZEN_EXPORTED, &reserved);
	slu_client_device_unreserve(d->client, reserved);
	return r;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	CUcontext context = d ? slu_cuda_contexts_current() : NULL;
	struct slu_range *range;
	CUresult r;
	int saved = errno;

	if (!context || !bytes || !ret_address)
		return SLU_REAL(cuMemAlloc_v2)(ret_address, bytes);
	if (slu_client_device_is_exportable(d->client)) {
		r = driver_alloc(d, ret_address, bytes);
	} else if (bytes < d->granule_bytes) {
		r = context_status(d, context);
		if (r == CUDA_SUCCESS)
			r = slab_alloc(d, context, bytes, ret_address);
	} else {
		const struct slu_cuda_range_plan plan = { context, SLU_RANGE_LARGE, bytes, NULL };

		r = slu_cuda_range_new(d, &plan, bytes, &range);
		if (r == CUDA_SUCCESS)
			*ret_address = range->address;
	}
	errno = saved;
	return r;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width,
			    size_t height, unsigned int element_bytes)
{
	size_t pitch = slu_round_up(width, SLU_LEDGER_ALIGN), bytes;
	CUresult r;

	if (!slu_cuda_device_here() || !ret_pitch || !width || !height ||
	    (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) ||
	    __builtin_mul_overflow(pitch, height, &bytes))
		return SLU_REAL(cuMemAllocPitch_v2)(ret_address, ret_pitch, width, height,
						    element_bytes);
	r = cuMemAlloc_v2(ret_address, bytes);
	if (r == CUDA_SUCCESS)
		*ret_pitch = pitch;
	return r;
}

/* The genuine call waits for work that may use the memory, and programs rely on it. */
static CUresult context_wait(CUcontext owner)
{
	CUcontext popped;
	CUresult r;

	if (slu_cuda_contexts_current() == owner)
		return SLU_REAL(cuCtxSynchronize)();
	r = SLU_REAL(cuCtxPushCurrent_v2)(owner);
	if (r != CUDA_SUCCESS)
		return r;
	r = SLU_REAL(cuCtxSynchronize)();
	SLU_REAL(cuCtxPopCurrent_v2)(&popped);
	return r;
}

/* Whether an allocation of ours begins at @address, and its owner. */
static bool allocation_find_owner(CUdeviceptr address, CUcontext *ret_owner)
{
	const struct slu_allocation *a = NULL;

	if (!slu_cuda.ledger)
		return false;
	slu_lock_take(&slu_cuda.lock);
	a = slu_ledger_find(slu_cuda.ledger, address);
	if (a && (a->address != address || a->is_ending))
		a = NULL;
	if (a)
		*ret_owner = a->range->context;
	slu_lock_give(&slu_cuda.lock);
	return a != NULL;
}

CUresult slu_cuda_memory_end(CUdeviceptr address)
{
	struct slu_range *empty = NULL;
	int found;

	slu_lock_take(&slu_cuda.lock);
	found = slu_ledger_end(slu_cuda.ledger, address, &empty);
	/* one empty slab is kept for the next small allocation: making one costs a mapping */
	if (empty && empty->is_slab) {
		if (slab_find_empty_locked(empty->device, empty->context, empty))
			empty->is_open = false;
		else
			empty = NULL;
	}
	slu_lock_give(&slu_cuda.lock);
	if (found)
		return CUDA_ERROR_INVALID_VALUE;
	if (empty)
		slu_cuda_range_free(empty);
	return CUDA_SUCCESS;
}

/* What is not ours is the driver's, or unknown to it as well. */
static CUresult driver_free(CUdeviceptr address)
{
	CUresult r;

	if (slu_cuda_pool_free_now(address, &r))
		return r;
	r = SLU_REAL(cuMemFree_v2)(address);
	if (r == CUDA_SUCCESS)
		slu_cuda_frozen_remove(address);
	return r;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	int saved = errno;
	CUcontext owner;
	CUresult r;

	if (!allocation_find_owner(address, &owner)) {
		r = driver_free(address);
	} else {
		r = context_wait(owner);
		/* another thread may have been faster with the same address */
		if (r == CUDA_SUCCESS)
			r = slu_cuda_memory_end(address);
		errno = saved;
	}
	slu_cuda_rhythm_meet(SLU_CUDA_RHYTHM_FREE);
	return r;
}

void slu_cuda_memory_forget(struct slu_cuda_device *device, CUcontext context)
{
	for (;;) {
		struct slu_range *range;
		size_t cursor = 0;

		slu_lock_take(&slu_cuda.lock);
		do {
			range = slu_ledger_next(slu_cuda.ledger, &cursor);
		} while (range && (range->device != device || range->handle ||
				   (context && range->context != context)));
		slu_lock_give(&slu_cuda.lock);
		if (!range)
			return;
		slu_cuda_range_free(range);
	}
}
