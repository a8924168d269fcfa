/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool.h"

#include "cuda/contexts.h"
#include "cuda/deferred.h"
#include "cuda/memory.h"
#include "cuda/pool-grow.h"
#include "cuda/pool-list.h"
#include "cuda/pool-release.h"
#include "cuda/pool-space.h"
#include "cuda/pool-stream.h"
#include "cuda/pool-wait.h"
#include "cuda/real.h"
#include "cuda/rhythm.h"

/* -- allocation -----------------------------------------------------------------------------------
 */

static int pool_take_locked(struct slu_cuda_pool *pool, uint64_t bytes, uint64_t stream,
			    CUdeviceptr *ret_address)
{
	uint64_t address;
	int r = slu_pool_space_take(pool->space, bytes, stream, slu_ledger_next_id(slu_cuda.ledger),
				    &address);

	if (!r)
		*ret_address = address;
	return r;
}

/* Whether other streams may have come past frees: then it is worth trying again. */
static bool pool_look_locked(struct slu_cuda_pool *pool)
{
	return pool->is_opportunistic &&
	       slu_pool_space_is_pending(pool->space, SLU_POOL_SPACE_NO_STREAM) &&
	       slu_cuda_pool_release_look_locked(pool->device).is_more;
}

/* A block that was taken in vain: what was there before may have been the stream's only. */
static void pool_untake_locked(struct slu_cuda_pool *pool, uint64_t address, uint64_t stream)
{
	struct slu_pool_stream *s = slu_pool_stream_next_locked(stream - 1);

	if (!s || s->id != stream ||
	    slu_pool_space_end(pool->space, address, stream, slu_pool_stream_free_locked(s)) < 0)
		slu_pool_space_end(pool->space, address, SLU_POOL_SPACE_NO_STREAM, 0);
}

/* Takes a block, or makes memory for one. Return: CUDA_ERROR_NOT_READY: to be tried again. */
static CUresult pool_try_locked(struct slu_cuda_pool *pool, uint64_t bytes, uint64_t stream,
				uint64_t asked_bytes, CUdeviceptr *ret_address)
{
	CUdeviceptr address;
	CUresult r;
	int found;

	do {
		found = pool_take_locked(pool, bytes, stream, &address);
	} while (found > 0 && pool_look_locked(pool));
	if (found < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (found) {
		r = slu_cuda_pool_grow_locked(pool, bytes, asked_bytes);
		return r == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : r;
	}
	r = pool->absent_bytes ? slu_cuda_pool_grow_fill_locked(pool, address, bytes, asked_bytes)
			       : CUDA_SUCCESS;
	if (r == CUDA_SUCCESS)
		*ret_address = address;
	else
		pool_untake_locked(pool, address, stream);
	return r;
}

/* The pool has nothing at hand that the stream may have. */
static CUresult pool_take_slow(struct slu_cuda_pool *pool, uint64_t bytes, uint64_t stream,
			       CUdeviceptr *ret_address)
{
	bool is_last = false;
	CUresult r;

	slu_lock_take(&slu_cuda.lock);
	for (;;) {
		r = pool_try_locked(pool, bytes, stream, is_last ? bytes : 0, ret_address);
		if (r == CUDA_ERROR_NOT_READY)
			continue;
		if (r != CUDA_ERROR_OUT_OF_MEMORY || is_last)
			break;
		slu_lock_give(&slu_cuda.lock);
		/* only the last denial is logged */
		is_last = !slu_cuda_pool_wait_device(pool->device);
		slu_lock_take(&slu_cuda.lock);
	}
	slu_cuda_rhythm_note_unused_locked(pool->device);
	slu_lock_give(&slu_cuda.lock);
	return r;
}

/* Whether Sluice allocates from @pool: it is one of ours, on a device that is SERVED. */
static bool pool_is_served_locked(const struct slu_cuda_pool *pool)
{
	return pool && pool->device->service && pool->device->client;
}

bool slu_cuda_pool_alloc(CUdeviceptr *ret_address, size_t bytes, CUmemoryPool handle,
			 CUstream stream, CUresult *ret_result)
{
	CUcontext context = slu_pool_stream_is_special(stream) ? slu_cuda_contexts_current() : NULL;
	struct slu_cuda_pool *pool = handle ? slu_cuda_pool_list_get(handle) : NULL;
	struct slu_pool_stream *s;
	uint64_t id;
	int r;

	if ((handle && !pool) || (slu_pool_stream_is_special(stream) && !context))
		return false;
	for (;;) {
		struct slu_cuda_device *d = NULL;

		slu_lock_take(&slu_cuda.lock);
		s = slu_pool_stream_here_locked(context, stream);
		if (s && (handle || slu_cuda_pool_list_current_locked(s->device, &pool)))
			break;
		d = s ? s->device : NULL;
		slu_lock_give(&slu_cuda.lock);
		if (d)
			slu_cuda_pool_list_choose(d);
		else if (!slu_pool_stream_meet(context, stream))
			return false;
	}
	if (!pool_is_served_locked(pool)) {
		slu_lock_give(&slu_cuda.lock);
		return false;
	}
	id = s->id;
	r = pool->absent_bytes ? SLU_POOL_SPACE_E_FULL
			       : pool_take_locked(pool, bytes, id, ret_address);
	slu_cuda_rhythm_note_unused_locked(pool->device);
	slu_lock_give(&slu_cuda.lock);
	*ret_result = r ? pool_take_slow(pool, bytes, id, ret_address) : CUDA_SUCCESS;
	return true;
}

/* -- frees ----------------------------------------------------------------------------------------
 */

/* Memory that cuMemAlloc() gave. */
static CUresult allocation_free_locked(const struct slu_range *range, CUdeviceptr address,
				       struct slu_pool_stream *s)
{
	if (!slu_ledger_begin_end(slu_cuda.ledger, address))
		return CUDA_ERROR_INVALID_VALUE;
	if (!slu_cuda_deferred_add_locked(range->device, address, s->id,
					  slu_pool_stream_free_locked(s)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

static CUresult block_free_locked(const struct slu_range *range, CUdeviceptr address,
				  struct slu_pool_stream *s)
{
	struct slu_cuda_pool *pool = range->pool;
	int r = slu_pool_space_end(pool->space, address, s->id, slu_pool_stream_free_locked(s));

	if (r < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return r ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* The free cannot be noted: it is made at once, behind the stream. */
static CUresult address_free_behind(CUdeviceptr address, CUstream stream)
{
	CUresult r = SLU_REAL(cuStreamSynchronize)(stream);

	if (r == CUDA_SUCCESS && !slu_cuda_pool_free_now(address, &r))
		r = slu_cuda_memory_end(address);
	return r;
}

bool slu_cuda_pool_free(CUdeviceptr address, CUstream stream, CUresult *ret_result)
{
	CUcontext context = slu_pool_stream_is_special(stream) ? slu_cuda_contexts_current() : NULL;
	const struct slu_range *range;
	struct slu_pool_stream *s = NULL;

	if (!slu_cuda.ledger || (slu_pool_stream_is_special(stream) && !context))
		return false;
	for (;;) {
		slu_lock_take(&slu_cuda.lock);
		range = slu_ledger_find_range(slu_cuda.ledger, address);
		s = range ? slu_pool_stream_here_locked(context, stream) : NULL;
		if (!range || s)
			break;
		slu_lock_give(&slu_cuda.lock);
		if (!slu_pool_stream_meet(context, stream)) {
			*ret_result = address_free_behind(address, stream);
			return true;
		}
	}
	if (range)
		*ret_result = range->pool ? block_free_locked(range, address, s)
					  : allocation_free_locked(range, address, s);
	slu_lock_give(&slu_cuda.lock);
	if (range && *ret_result == CUDA_ERROR_OUT_OF_MEMORY)
		*ret_result = address_free_behind(address, stream);
	return range;
}

static bool address_is_pooled(CUdeviceptr address)
{
	const struct slu_range *range = NULL;
	bool is;

	if (!slu_cuda.ledger)
		return false;
	slu_lock_take(&slu_cuda.lock);
	range = slu_ledger_find_range(slu_cuda.ledger, address);
	is = range && range->pool;
	slu_lock_give(&slu_cuda.lock);
	return is;
}

bool slu_cuda_pool_free_now(CUdeviceptr address, CUresult *ret_result)
{
	uint64_t position = atomic_load(&slu_pool_stream_n_frees);
	CUcontext context = slu_cuda_contexts_current();
	const struct slu_range *range;
	struct slu_cuda_pool *pool;

	if (!address_is_pooled(address))
		return false;
	*ret_result = SLU_REAL(cuCtxSynchronize)();
	if (*ret_result != CUDA_SUCCESS)
		return true;
	slu_lock_take(&slu_cuda.lock);
	/* another thread may have been faster with the same address */
	range = slu_ledger_find_range(slu_cuda.ledger, address);
	pool = range ? range->pool : NULL;
	if (!pool || slu_pool_space_end(pool->space, address, SLU_POOL_SPACE_NO_STREAM, 0))
		*ret_result = CUDA_ERROR_INVALID_VALUE;
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_pool_release_context(context, position);
	return true;
}

/* -- looking, and the end -------------------------------------------------------------------------
 */

bool slu_cuda_pool_find_locked(const struct slu_range *range, CUdeviceptr address,
			       struct slu_cuda_pooled *ret_pooled)
{
	const struct slu_cuda_pool *pool = range->pool;
	struct slu_pool_space_block block;

	if (!pool || !slu_pool_space_find(pool->space, address, &block))
		return false;
	*ret_pooled = (struct slu_cuda_pooled){
		.address = block.address,
		.bytes = block.bytes,
		.id = block.id,
		.pool = pool->handle,
	};
	return true;
}

bool slu_cuda_pool_is_used_locked(const struct slu_cuda_device *device)
{
	const struct slu_cuda_pool *pool;

	LIST_FOREACH (pool, &slu_cuda_pools, link)
		if (pool->device == device && slu_pool_space_stats(pool->space)->used_bytes)
			return true;
	return false;
}

/* The segments, which are given back next, belong to no pool from now on. */
static void segments_leave_locked(const struct slu_cuda_device *device)
{
	struct slu_range *range;
	size_t cursor = 0;

	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor)))
		if (range->device == device)
			range->pool = NULL;
}

/* What is used ends with its context; pools of the driver outlive it, and so do their records. */
static void pools_clear(const struct slu_cuda_device *device)
{
	struct slu_cuda_pool *pool, *next;

	slu_lock_take(&slu_cuda.lock);
	segments_leave_locked(device);
	for (pool = LIST_FIRST(&slu_cuda_pools); pool; pool = next) {
		next = LIST_NEXT(pool, link);
		if (pool->device != device)
			continue;
		slu_pool_space_clear(pool->space);
		pool->absent_bytes = 0;
		if (pool->handle)
			continue;
		slu_cuda_pool_list_discard_locked(pool);
	}
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_pool_context_ending(struct slu_cuda_device *device, CUcontext context, bool takes_all)
{
	if (!takes_all)
		slu_cuda_pool_wait_context(context);
	slu_pool_stream_forget(device, takes_all ? NULL : context);
	slu_cuda_deferred_forget(device, takes_all ? NULL : context);
	if (takes_all)
		pools_clear(device);
	else
		slu_cuda_pool_release_excess(device);
}

void slu_cuda_pool_forked(void)
{
	LIST_INIT(&slu_cuda_pools);
	slu_pool_stream_forked();
}
