/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/rhythm.h"

#include "base/util.h"
#include "cuda/device.h"
#include "cuda/pool-list.h"
#include "cuda/pool-space.h"

__thread uint64_t slu_cuda_rhythm_key;

void slu_cuda_rhythm_note_unused_locked(const struct slu_cuda_device *device)
{
	const struct slu_cuda_pool *pool;
	uint64_t bytes = 0;

	LIST_FOREACH (pool, &slu_cuda_pools, link)
		if (pool->device == device)
			bytes += slu_sub_floor(slu_cuda_pool_list_reserved_locked(pool),
					       slu_pool_space_stats(pool->space)->used_bytes);
	slu_client_boundary_set_unused(device->client, bytes);
}

void slu_cuda_rhythm_meet(enum slu_cuda_rhythm_kind kind)
{
	struct slu_cuda_device *device = atomic_load(&slu_cuda_only_device);
	uint64_t key;

	if (!device || slu_gate_is_inside())
		return;
	slu_cuda_rhythm_submit((uintptr_t)kind + 1);
	key = slu_cuda_rhythm_key;
	slu_cuda_rhythm_key = 0;
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_rhythm_note_unused_locked(device);
	slu_lock_give(&slu_cuda.lock);
	slu_client_boundary_meet(device->client, key);
}
