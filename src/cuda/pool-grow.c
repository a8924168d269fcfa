/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-grow.h"

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/pool-release.h"
#include "cuda/pool-space.h"
#include "cuda/range.h"

#define SHARE 64 /* of a device, for a segment of small allocations */

/* Whether the program lets @pool have so much. */
static bool pool_may_grow(const struct slu_cuda_pool *pool, uint64_t bytes)
{
	uint64_t reserved;

	slu_lock_take(&slu_cuda.lock);
	reserved = slu_cuda_pool_list_reserved_locked(pool);
	slu_lock_give(&slu_cuda.lock);
	return !pool->max_bytes ||
	       (bytes <= pool->max_bytes && reserved <= pool->max_bytes - bytes);
}

/* Makes a segment. This thread changes @pool: it stays. */
static CUresult pool_add_segment(struct slu_cuda_pool *pool, uint64_t bytes, uint64_t asked_bytes)
{
	struct slu_range *range;
	CUresult r;
	int error;

	if (!pool_may_grow(pool, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* what pools keep without need goes before the last of the device is taken */
	if (slu_client_device_owned(pool->device->client) + bytes >
	    slu_client_device_visible(pool->device->client))
		slu_cuda_pool_release_unused(pool->device);
	r = slu_cuda_range_new_segment(pool->device, bytes, asked_bytes, &range);
	if (r != CUDA_SUCCESS)
		return r;
	slu_lock_take(&slu_cuda.lock);
	error = slu_pool_space_add(pool->space, range->address, range->bytes, range);
	if (!error)
		range->pool = pool;
	slu_lock_give(&slu_cuda.lock);
	if (!error)
		return CUDA_SUCCESS;
	slu_cuda_range_free(range);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * How large a segment for small allocations is: an extent, as with the driver, but little of a
 * small device, and nothing of what its context may take.
 */
static uint64_t segment_habit_bytes(const struct slu_cuda_device *d)
{
	uint64_t visible = slu_client_device_visible(d->client);
	uint64_t bytes = SLU_MIN(d->granule_bytes * SLU_LEDGER_EXTENT_GRANULES_MAX,
				 visible / SHARE / d->granule_bytes * d->granule_bytes);

	return slu_client_device_owned(d->client) + bytes <= visible ? bytes : 0;
}

/* No larger than it must be where memory is short. */
static CUresult pool_make_segment(struct slu_cuda_pool *pool, uint64_t bytes, uint64_t asked_bytes)
{
	uint64_t whole = slu_round_up(bytes, pool->device->granule_bytes);
	uint64_t habit = segment_habit_bytes(pool->device);
	CUstreamCaptureMode before;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (whole < bytes)
		return r;
	before = slu_cuda_capture_relax();
	if (whole < habit)
		r = pool_add_segment(pool, habit, 0);
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		r = pool_add_segment(pool, whole, asked_bytes);
	slu_cuda_capture_restore(before);
	return r;
}

CUresult slu_cuda_pool_grow_locked(struct slu_cuda_pool *pool, uint64_t bytes, uint64_t asked_bytes)
{
	CUresult r;
	bool was;

	if (!slu_cuda_pool_list_change_locked(pool, &was)) {
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
		return CUDA_SUCCESS;
	}
	slu_lock_give(&slu_cuda.lock);
	r = pool_make_segment(pool, bytes, asked_bytes);
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_pool_list_changed_locked(pool, was);
	return r;
}

CUresult slu_cuda_pool_grow_fill_locked(struct slu_cuda_pool *pool, uint64_t address,
					uint64_t bytes, uint64_t asked_bytes)
{
	struct slu_range *range = slu_ledger_find_range(slu_cuda.ledger, address);
	CUresult r = CUDA_SUCCESS;
	uint64_t absent;
	bool was;

	while (r == CUDA_SUCCESS &&
	       (absent = slu_cuda_range_absent_locked(range, address, bytes))) {
		if (!slu_cuda_pool_list_change_locked(pool, &was)) {
			slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
			continue;
		}
		slu_lock_give(&slu_cuda.lock);
		r = pool_may_grow(pool, absent)
			    ? slu_cuda_range_fill(range, address, bytes, asked_bytes)
			    : CUDA_ERROR_OUT_OF_MEMORY;
		slu_lock_take(&slu_cuda.lock);
		pool->absent_bytes -= absent - slu_cuda_range_absent_locked(range, address, bytes);
		slu_cuda_pool_list_changed_locked(pool, was);
	}
	return r;
}
