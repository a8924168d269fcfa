/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/range.h"

#include "base/util.h"
#include "cuda/backend.h"
#include "cuda/bypass.h"
#include "cuda/gate.h"
#include "cuda/handle.h"
#include "cuda/memory.h"
#include "cuda/real.h"

void slu_cuda_range_free(struct slu_range *range)
{
	uint64_t address = range->address, bytes = range->bytes;

	for (size_t i = 0; i < range->n_extents; i++) {
		struct slu_unit *unit;

		/* threads that go through the ledger must not see a unit that ends */
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
 * @reserved_bytes: the bytes set aside; the unit uses up its part. 0: the unit is headroom for the
 * driver.
 */
static int extent_new_unit(struct slu_cuda_device *d, struct slu_extent *e,
			   uint64_t *reserved_bytes, struct slu_unit **ret_unit)
{
	if (!*reserved_bytes)
		return slu_client_unit_new_spare(d->client, e->bytes, e, ret_unit);
	return slu_client_unit_new_reserved(d->client, e->bytes, SLU_FROZEN_NO, reserved_bytes, e,
					    ret_unit);
}

static CUresult extent_make_unit(struct slu_cuda_device *d, struct slu_extent *e,
				 uint64_t *reserved_bytes)
{
	struct slu_unit *unit;
	int r;

	e->compared = (struct slu_cuda_compared){ 0 };
	r = extent_new_unit(d, e, reserved_bytes, &unit);
	if (r == SLU_CLIENT_E_NO_MEMORY && slu_cuda_hasher_yield(d))
		r = extent_new_unit(d, e, reserved_bytes, &unit);
	if (r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	slu_lock_take(&slu_cuda.lock);
	e->unit = unit;
	slu_lock_give(&slu_cuda.lock);
	if (!e->range->handle)
		slu_client_unit_watch(unit);
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

static CUresult range_add(struct slu_cuda_device *d, const struct slu_cuda_range_plan *plan,
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
	const struct slu_cuda_range_plan plan = { device->service, SLU_RANGE_SLAB, bytes, NULL };
	uint64_t reserved = 0;

	return range_add(device, &plan, &reserved, ret_range);
}

/*
 * A program that owns so much has nearly all of the device, and the size of its context decides
 * whether the range fits. So the range comes to the device now: else the first launch would fail,
 * where without Sluice the allocation would.
 */
static CUresult range_prove(struct slu_cuda_device *d, struct slu_range *range)
{
	CUresult r = slu_cuda_gate_enter(d);

	if (r == CUDA_SUCCESS) {
		slu_gate_vouch();
		slu_cuda_gate_leave(d);
		return CUDA_SUCCESS;
	}
	slu_cuda_range_free(range);
	return r;
}

/* One for the program, if it may own so much. People hear of @asked_bytes if not, unless 0. */
CUresult slu_cuda_range_new(struct slu_cuda_device *d, const struct slu_cuda_range_plan *plan,
			    uint64_t asked_bytes, struct slu_range **ret_range)
{
	uint64_t whole = slu_round_up(plan->bytes, d->granule_bytes), reserved = whole;
	CUresult r;

	if (whole < plan->bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!slu_cuda_memory_reserve(d, whole, asked_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = range_add(d, plan, &reserved, ret_range);
	slu_client_device_unreserve(d->client, reserved);
	if (r == CUDA_SUCCESS &&
	    slu_client_device_owned(d->client) > slu_client_device_visible(d->client))
		r = range_prove(d, *ret_range);
	return r;
}

CUresult slu_cuda_range_new_segment(struct slu_cuda_device *device, uint64_t bytes,
				    uint64_t asked_bytes, struct slu_range **ret_range)
{
	const struct slu_cuda_range_plan plan = { NULL, SLU_RANGE_SLAB, bytes, NULL };

	return slu_cuda_range_new(device, &plan, asked_bytes, ret_range);
}

CUresult slu_cuda_range_new_handle(struct slu_cuda_device *device, uint64_t bytes, bool is_whole,
				   struct slu_cuda_handle *handle)
{
	const struct slu_cuda_range_plan plan = { NULL,
						  is_whole ? SLU_RANGE_WHOLE : SLU_RANGE_LARGE,
						  bytes, handle };
	struct slu_range *range;

	return slu_cuda_range_new(device, &plan, bytes, &range);
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
		r = slu_cuda_gate_enter(d);
		if (r == CUDA_SUCCESS) {
			slu_gate_vouch();
			slu_cuda_gate_leave(d);
		}
	}
	return r;
}
