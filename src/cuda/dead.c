/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/dead.h"

#include "cuda/compare.h"
#include "cuda/device.h"
#include "cuda/ledger.h"
#include "cuda/pool-list.h"
#include "cuda/pool-space.h"

static bool extent_is_dead_locked(const struct slu_extent *e)
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

bool slu_cuda_dead_is(struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;
	bool is_dead;

	slu_lock_take(&slu_cuda.lock);
	is_dead = extent_is_dead_locked(e);
	slu_lock_give(&slu_cuda.lock);
	if (is_dead)
		slu_cuda_compare_forget(unit);
	return is_dead;
}
