/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation on extents at addresses that never change. In a turn, with credit at hand, an
 * allocation is the driver's own calls and no message; off turn its extents begin in RAM.
 */
#include "cuda/memory.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/backend.h"
#include "cuda/bypass.h"
#include "cuda/enter.h"
#include "cuda/frozen.h"
#include "cuda/handle.h"
#include "cuda/pool-release.h"
#include "cuda/pool.h"
#include "cuda/real.h"

void slu_cuda_range_free(struct slu_range *range)
{
	uint64_t address = range->address, bytes = range->bytes;

	for (size_t i = 0; i < range->n_extents; i++) {
		struct slu_unit *unit;

		/* whoever goes through the ledger does not see a unit that ends */
		slu_lock_take(&slu_cuda.lock);
		unit = range->extents[i].unit;
		range->extents[i].unit = NULL;
		slu_lock_give(&slu_cuda.lock);
		slu_client_unit_free(unit);
		/* the client gives back only what it made */
		range->extents[i].stays = false;
		slu_cuda_backend_displace(range->device, &range->extents[i]);
	}
	/* first: as soon as the driver has the addresses, another thread may get them */
	slu_lock_take(&slu_cuda.lock);
	slu_ledger_remove(slu_cuda.ledger, range);
	slu_lock_give(&slu_cuda.lock);
	SLU_REAL(cuMemAddressFree)(address, bytes);
}

/*
 * @reserved_bytes: what is set aside for it, less by what has been used up. Nothing: it stands for
 * memory that the driver is to find free.
 */
static CUresult extent_make_unit(struct slu_cuda_device *d, struct slu_extent *e,
				 uint64_t *reserved_bytes)
{
	struct slu_unit *unit;
	int r = *reserved_bytes ? slu_client_unit_new_reserved(d->client, e->bytes, SLU_FROZEN_NO,
							       reserved_bytes, e, &unit)
				: slu_client_unit_new_spare(d->client, e->bytes, e, &unit);

	if (r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	slu_lock_take(&slu_cuda.lock);
	e->unit = unit;
	slu_lock_give(&slu_cuda.lock);
	return CUDA_SUCCESS;
}

static CUresult range_make_units(struct slu_cuda_device *d, struct slu_range *range,
				 uint64_t *reserved_bytes)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < range->n_extents && r == CUDA_SUCCESS; i++)
		r = extent_make_unit(d, &range->extents[i], reserved_bytes);
	return r;
}

/* What a range is to be. */
struct range_plan {
	CUcontext context; /* that owns it */
	enum slu_range_kind kind;
	uint64_t bytes;
	struct slu_cuda_handle *handle; /* that it stands for, or NULL */
};

static CUresult range_new(struct slu_cuda_device *d, const struct range_plan *plan,
			  uint64_t *reserved_bytes, struct slu_range **ret_range)
{
	uint64_t whole = slu_round_up(plan->bytes, d->granule_bytes);
	struct slu_range *range;
	CUdeviceptr address;
	CUresult r;
	int error;

	slu_cuda_bypass_wait(d);
	r = SLU_REAL(cuMemAddressReserve)(&address, whole, 0, 0, 0);
	if (r != CUDA_SUCCESS)
		return r;
	slu_lock_take(&slu_cuda.lock);
	error = slu_ledger_add(slu_cuda.ledger, address, plan->bytes, d->granule_bytes, plan->kind,
			       d, plan->context, &range);
	if (!error && plan->handle) {
		range->handle = plan->handle;
		plan->handle->range = range;
	}
	slu_lock_give(&slu_cuda.lock);
	if (error) {
		SLU_REAL(cuMemAddressFree)(address, whole);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r = range_make_units(d, range, reserved_bytes);
	if (r != CUDA_SUCCESS) {
		slu_cuda_range_free(range);
		return r;
	}
	slu_cuda_bypass_keep(d);
	*ret_range = range;
	return CUDA_SUCCESS;
}

CUresult slu_cuda_range_new_spare(struct slu_cuda_device *device, uint64_t bytes,
				  struct slu_range **ret_range)
{
	const struct range_plan plan = { device->service, SLU_RANGE_SLAB, bytes, NULL };
	uint64_t reserved = 0;

	return range_new(device, &plan, &reserved, ret_range);
}

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
			slab->is_open = false; /* nobody cuts it any more */
		slu_lock_give(&slu_cuda.lock);
		if (!slab)
			return;
		slu_cuda_range_free(slab);
	}
}

bool slu_cuda_memory_reserve(struct slu_cuda_device *device, uint64_t bytes, uint64_t asked_bytes)
{
	CUstreamCaptureMode before;

	if (slu_client_device_reserve(device->client, bytes, 0))
		return true;
	before = slu_cuda_relax();
	slabs_free_empty(device);
	slu_cuda_unrelax(before);
	slu_cuda_pool_reclaim(device);
	return slu_client_device_reserve(device->client, bytes, asked_bytes);
}

/*
 * With this much a program owns nearly all of the device, and what its context takes decides
 * whether the rest is there. So it is brought there now: else the first launch would fail, where
 * the allocation would have without us.
 */
static CUresult range_prove(struct slu_cuda_device *d, struct slu_range *range)
{
	CUresult r = slu_cuda_enter(d);

	if (r == CUDA_SUCCESS) {
		slu_cuda_leave(d);
		return CUDA_SUCCESS;
	}
	slu_cuda_range_free(range);
	return r;
}

/* One for the program, if it may own so much. People hear of @asked_bytes if not, unless 0. */
static CUresult range_make(struct slu_cuda_device *d, const struct range_plan *plan,
			   uint64_t asked_bytes, struct slu_range **ret_range)
{
	uint64_t whole = slu_round_up(plan->bytes, d->granule_bytes), reserved = whole;
	CUresult r;

	if (whole < plan->bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!slu_cuda_memory_reserve(d, whole, asked_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = range_new(d, plan, &reserved, ret_range);
	slu_client_device_unreserve(d->client, reserved);
	if (r == CUDA_SUCCESS &&
	    slu_client_device_owned(d->client) > slu_client_device_visible(d->client))
		r = range_prove(d, *ret_range);
	return r;
}

CUresult slu_cuda_range_new_segment(struct slu_cuda_device *device, uint64_t bytes,
				    uint64_t asked_bytes, struct slu_range **ret_range)
{
	const struct range_plan plan = { NULL, SLU_RANGE_SLAB, bytes, NULL };

	return range_make(device, &plan, asked_bytes, ret_range);
}

static bool extent_is_absent(const struct slu_extent *e, uint64_t address, uint64_t bytes)
{
	return !e->unit && e->address < address + bytes && address < e->address + e->bytes;
}

uint64_t slu_cuda_range_absent_locked(const struct slu_range *range, uint64_t address,
				      uint64_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; range->n_absent && i < range->n_extents; i++)
		if (extent_is_absent(&range->extents[i], address, bytes))
			sum += range->extents[i].bytes;
	return sum;
}

CUresult slu_cuda_range_fill(struct slu_range *range, uint64_t address, uint64_t bytes,
			     uint64_t asked_bytes)
{
	struct slu_cuda_device *d = range->device;
	CUresult r = CUDA_SUCCESS;
	uint64_t reserved;

	slu_cuda_bypass_wait(d);
	slu_lock_take(&slu_cuda.lock);
	reserved = slu_cuda_range_absent_locked(range, address, bytes);
	slu_lock_give(&slu_cuda.lock);
	if (!slu_cuda_memory_reserve(d, reserved, asked_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < range->n_extents && r == CUDA_SUCCESS; i++) {
		if (!extent_is_absent(&range->extents[i], address, bytes))
			continue;
		r = extent_make_unit(d, &range->extents[i], &reserved);
		slu_lock_take(&slu_cuda.lock);
		range->n_absent -= r == CUDA_SUCCESS;
		slu_lock_give(&slu_cuda.lock);
	}
	slu_client_device_unreserve(d->client, reserved);
	slu_cuda_bypass_keep(d);
	if (r == CUDA_SUCCESS &&
	    slu_client_device_owned(d->client) > slu_client_device_visible(d->client)) {
		r = slu_cuda_enter(d);
		if (r == CUDA_SUCCESS)
			slu_cuda_leave(d);
	}
	return r;
}

/* The driver takes a granule for small allocations; more only while there is enough. */
static CUresult slab_make(struct slu_cuda_device *d, CUcontext context, uint64_t asked_bytes)
{
	struct range_plan plan = { context, SLU_RANGE_SLAB, d->slab_bytes, NULL };
	struct slu_range *slab;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (d->slab_bytes > d->granule_bytes)
		r = range_make(d, &plan, 0, &slab);
	plan.bytes = d->granule_bytes;
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		r = range_make(d, &plan, asked_bytes, &slab);
	if (r != CUDA_SUCCESS)
		return r;
	slu_lock_take(&slu_cuda.lock);
	slab->is_open = true;
	slu_lock_give(&slu_cuda.lock);
	return CUDA_SUCCESS;
}

CUresult slu_cuda_range_new_handle(struct slu_cuda_device *device, uint64_t bytes, bool is_whole,
				   struct slu_cuda_handle *handle)
{
	const struct range_plan plan = { NULL, is_whole ? SLU_RANGE_WHOLE : SLU_RANGE_LARGE, bytes,
					 handle };
	struct slu_range *range;

	return range_make(device, &plan, bytes, &range);
}

/* A piece of a slab. One thread makes a new one, and the others who need it share it. */
static CUresult slab_alloc(struct slu_cuda_device *d, CUcontext context, uint64_t bytes,
			   CUdeviceptr *ret_address)
{
	CUresult r = CUDA_SUCCESS;
	uint64_t address;
	int found;

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

/* A dead context says so in every call; a piece of a slab would not even ask it. */
static CUresult context_status(const struct slu_cuda_device *d, CUcontext context)
{
	CUresult r = context == d->service ? SLU_REAL(cuStreamQuery)(d->streams[0]) : CUDA_SUCCESS;

	return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	CUcontext context = d ? slu_cuda_context_here() : NULL;
	struct slu_range *range;
	CUresult r;
	int saved = errno;

	if (!context || !bytes || !ret_address)
		return SLU_REAL(cuMemAlloc_v2)(ret_address, bytes);
	if (bytes < d->granule_bytes) {
		r = context_status(d, context);
		if (r == CUDA_SUCCESS)
			r = slab_alloc(d, context, bytes, ret_address);
	} else {
		const struct range_plan plan = { context, SLU_RANGE_LARGE, bytes, NULL };

		r = range_make(d, &plan, bytes, &range);
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

	if (slu_cuda_context_here() == owner)
		return SLU_REAL(cuCtxSynchronize)();
	r = SLU_REAL(cuCtxPushCurrent_v2)(owner);
	if (r != CUDA_SUCCESS)
		return r;
	r = SLU_REAL(cuCtxSynchronize)();
	SLU_REAL(cuCtxPopCurrent_v2)(&popped);
	return r;
}

/* Whether an allocation of ours begins at @address, and whose it is. */
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
		slu_cuda_thaw(address);
	return r;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	int saved = errno;
	CUcontext owner;
	CUresult r;

	if (!allocation_find_owner(address, &owner))
		return driver_free(address);
	r = context_wait(owner);
	/* another thread may have been faster with the same address */
	if (r == CUDA_SUCCESS)
		r = slu_cuda_memory_end(address);
	errno = saved;
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
