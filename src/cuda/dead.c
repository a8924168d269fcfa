/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/dead.h"

#include "cuda/backend.h"
#include "cuda/compare.h"
#include "cuda/device.h"
#include "cuda/ledger.h"
#include "cuda/pool-list.h"
#include "cuda/pool-space.h"

/* The number of submissions until which a hint of now counts; never 0. */
static uint64_t hint_number(const struct slu_cuda_device *device)
{
	return slu_cuda_backend_n_submitted(device) + 1;
}

static bool extent_is_free_locked(const struct slu_extent *e)
{
	const struct slu_range *range = e->range;
	const struct slu_cuda_pool *pool = range->pool;
	const struct slu_allocation *a;

	if (pool)
		return !slu_pool_space_is_used(pool->space, e->address, e->bytes);
	if (range->is_slab)
		return !range->n_allocations;
	a = slu_ledger_find(slu_cuda.ledger, range->address);
	return a && a->is_ending;
}

bool slu_cuda_dead_is(const struct slu_cuda_device *device, struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;
	bool is_dead;

	slu_lock_take(&slu_cuda.lock);
	is_dead = extent_is_free_locked(e) || e->hinted == hint_number(device);
	slu_lock_give(&slu_cuda.lock);
	if (is_dead)
		slu_cuda_compare_forget(unit);
	return is_dead;
}

/* Behind an allocation that fills its range there is nothing up to the end of the range. */
static uint64_t range_end_locked(const struct slu_range *range, uint64_t end)
{
	const struct slu_allocation *a = NULL;

	if (!range->is_slab && !range->pool)
		a = slu_ledger_find(slu_cuda.ledger, range->address);
	return a && end >= a->address + a->bytes ? range->address + range->bytes : end;
}

/* The extents of @range that are in the bytes as a whole. The program's own mappings are not. */
static uint64_t range_hint_locked(struct slu_range *range, uint64_t address, uint64_t end,
				  uint64_t number)
{
	uint64_t bytes = 0;

	end = range_end_locked(range, end);
	for (size_t i = 0; i < range->n_extents && !range->handle; i++) {
		struct slu_extent *e = &range->extents[i];

		if (!e->unit || e->address < address || e->address + e->bytes > end)
			continue;
		e->hinted = number;
		bytes += e->bytes;
	}
	return bytes;
}

uint64_t slu_cuda_dead_hint(const struct slu_cuda_device *device, uint64_t address, uint64_t bytes)
{
	uint64_t end, dead_bytes = 0, from = address;
	struct slu_range *range;

	if (__builtin_add_overflow(address, bytes, &end))
		return 0;
	slu_lock_take(&slu_cuda.lock);
	while (slu_cuda.ledger && (range = slu_ledger_find_range_from(slu_cuda.ledger, from)) &&
	       range->address < end) {
		if (range->device == device)
			dead_bytes += range_hint_locked(range, address, end, hint_number(device));
		from = range->address + range->bytes;
	}
	slu_lock_give(&slu_cuda.lock);
	return dead_bytes;
}
