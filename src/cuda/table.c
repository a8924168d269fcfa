/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/table.h"

#include "cuda/device.h"

int slu_cuda_table_add(struct slu_cuda_table *table, struct slu_ref ref)
{
	int r;

	slu_lock_take(&slu_cuda.lock);
	r = slu_refs_add(&table->refs, ref);
	slu_lock_give(&slu_cuda.lock);
	return r;
}

int slu_cuda_table_add_alone(struct slu_cuda_table *table, struct slu_ref ref)
{
	int r = SLU_CUDA_TABLE_E_TAKEN;

	slu_lock_take(&slu_cuda.lock);
	if (!slu_refs_overlaps(&table->refs, ref.at, ref.n))
		r = slu_refs_add(&table->refs, ref);
	slu_lock_give(&slu_cuda.lock);
	return r;
}

bool slu_cuda_table_find(struct slu_cuda_table *table, uint64_t at, struct slu_ref *ret_ref)
{
	const struct slu_ref *found;

	slu_lock_take(&slu_cuda.lock);
	found = slu_refs_find(&table->refs, at);
	if (found) {
		*ret_ref = *found;
		if (found->target && table->hold_locked)
			table->hold_locked(found->target);
	}
	slu_lock_give(&slu_cuda.lock);
	return found;
}

bool slu_cuda_table_overlaps(struct slu_cuda_table *table, uint64_t at, uint64_t n)
{
	bool does;

	slu_lock_take(&slu_cuda.lock);
	does = slu_refs_overlaps(&table->refs, at, n);
	slu_lock_give(&slu_cuda.lock);
	return does;
}

void slu_cuda_table_retarget(struct slu_cuda_table *table, uint64_t at, void *target)
{
	slu_lock_take(&slu_cuda.lock);
	slu_refs_retarget(&table->refs, at, target);
	slu_lock_give(&slu_cuda.lock);
}

bool slu_cuda_table_take(struct slu_cuda_table *table, uint64_t at, uint64_t n,
			 struct slu_ref *ret_ref)
{
	bool was_there;

	slu_lock_take(&slu_cuda.lock);
	was_there = slu_refs_take(&table->refs, at, n, ret_ref);
	slu_lock_give(&slu_cuda.lock);
	return was_there;
}
