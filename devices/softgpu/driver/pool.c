/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/util.h"
#include "softgpu/driver/command.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory.h"

static struct slu_objects objects = SLU_OBJECTS_INIT(struct slu_pool);

/*
 * Guards all pools and what follows; taken before the driver's lock and the queues', and not held
 * while anybody waits for a stream.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, slu_pool) pools = LIST_HEAD_INITIALIZER(pools);

static unsigned n_idle; /* blocks of all pools; atomic: lets most synchronisations pass */

void slu_pool_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void slu_pool_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

CUresult slu_pool_new(struct slu_card *card, const CUmemPoolProps *props,
		      struct slu_pool **ret_pool)
{
	struct slu_pool *pool = slu_objects_new(&objects);

	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* a number that no other process has drawn */
	if (props->handleTypes &&
	    getrandom(&pool->share_id, sizeof(pool->share_id), 0) != sizeof(pool->share_id)) {
		slu_objects_free(&objects, pool);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	pool->card = card;
	pool->props = *props;
	TAILQ_INIT(&pool->used);
	TAILQ_INIT(&pool->idle);
	for (unsigned i = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
	     i <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; i++)
		pool->attributes[i] = 1;
	pool->access[card->index] = SLU_WINDOW_READ | SLU_WINDOW_WRITE;
	slu_pool_lock();
	LIST_INSERT_HEAD(&pools, pool, all);
	slu_pool_unlock();
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

struct slu_pool *slu_pool_get(CUmemoryPool handle)
{
	struct slu_pool *pool = slu_objects_get(&objects, handle);

	return pool && !pool->is_destroyed ? pool : NULL;
}

/* -- blocks --------------------------------------------------------------------------------- */

static void count_locked(struct slu_pool *pool, CUmemPool_attribute current, int64_t bytes)
{
	uint64_t *now = &pool->attributes[current], *high = &pool->attributes[current + 1];

	*now += (uint64_t)bytes;
	*high = SLU_MAX(*high, *now);
}

static void release_locked(struct slu_block *block)
{
	struct slu_pool *pool = block->pool;

	TAILQ_REMOVE(&pool->idle, block, link);
	__atomic_sub_fetch(&n_idle, 1, __ATOMIC_RELAXED);
	count_locked(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, -(int64_t)block->bytes);
	slu_memory_free(block->address);
	slu_point_drop(&block->freed);
	free(block);
}

static void discard_if_empty_locked(struct slu_pool *pool)
{
	if (!pool->is_destroyed || !TAILQ_EMPTY(&pool->used) || !TAILQ_EMPTY(&pool->idle))
		return;
	LIST_REMOVE(pool, all);
	slu_objects_free(&objects, pool);
}

static void trim_locked(struct slu_pool *pool, uint64_t keep_bytes)
{
	struct slu_block *block, *next;

	for (block = TAILQ_FIRST(&pool->idle); block; block = next) {
		next = TAILQ_NEXT(block, link);
		if (pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] <= keep_bytes)
			break;
		if (slu_point_is_done(&block->freed))
			release_locked(block);
	}
}

/* Return: an idle block that is not too large for @bytes, the best by cost. */
static struct slu_block *find_idle_locked(struct slu_pool *pool, uint64_t bytes,
					  struct slu_stream *stream, bool *ret_must_wait)
{
	struct slu_block *block, *later = NULL;

	TAILQ_FOREACH (block, &pool->idle, link) {
		if (block->bytes < bytes || block->bytes / 2 > bytes)
			continue;
		*ret_must_wait = false;
		if (block->freed.timeline == stream->timeline)
			return block;
		if (slu_point_is_done(&block->freed)) {
			if (pool->attributes[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC])
				return block;
		} else if (!later) {
			later = block;
		}
	}
	*ret_must_wait = true;
	return pool->attributes[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] ? later : NULL;
}

/* @ret_freed: where it was freed, and what the stream must wait for; takes over the point. */
static CUresult reuse_locked(struct slu_pool *pool, uint64_t bytes, struct slu_stream *stream,
			     bool may_wait, uint64_t *ret_address, struct slu_point *ret_freed)
{
	bool must_wait;
	struct slu_block *block = find_idle_locked(pool, bytes, stream, &must_wait);

	if (!block || (must_wait && !may_wait))
		return CUDA_ERROR_NOT_FOUND;
	if (must_wait)
		*ret_freed = block->freed;
	else
		slu_point_drop(&block->freed);
	block->freed = (struct slu_point){ 0 };
	block->is_idle = false;
	TAILQ_REMOVE(&pool->idle, block, link);
	__atomic_sub_fetch(&n_idle, 1, __ATOMIC_RELAXED);
	TAILQ_INSERT_TAIL(&pool->used, block, link);
	count_locked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, (int64_t)block->bytes);
	*ret_address = block->address;
	return CUDA_SUCCESS;
}

static void apply_access(const struct slu_pool *pool, const struct slu_block *block, unsigned card)
{
	uint64_t granule = pool->card->granule_bytes;

	slu_driver_lock();
	/* small blocks share a granule, and with it the rights */
	slu_window_set_access(&slu_driver.window, block->address / granule * granule,
			      slu_round_up(block->bytes, granule), (int)card, pool->access[card]);
	slu_driver_unlock();
}

static void adopt_locked(struct slu_pool *pool, struct slu_block *block)
{
	for (unsigned i = 0; i < slu_driver.n_cards; i++)
		if (pool->access[i] && i != pool->card->index)
			apply_access(pool, block, i);
	TAILQ_INSERT_TAIL(&pool->used, block, link);
	count_locked(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, (int64_t)block->bytes);
	count_locked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, (int64_t)block->bytes);
}

void slu_pool_adopt(struct slu_pool *pool, struct slu_block *block)
{
	slu_pool_lock();
	adopt_locked(pool, block);
	slu_pool_unlock();
}

static CUresult make_locked(struct slu_pool *pool, uint64_t bytes, uint64_t *ret_address)
{
	struct slu_block *block;
	int r;

	if (pool->props.maxSize &&
	    pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] + bytes > pool->props.maxSize)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block = calloc(1, sizeof(*block));
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->pool = pool;
	block->bytes = bytes;
	r = slu_memory_alloc_block(pool->card, bytes, block, &block->address);
	if (r) {
		free(block);
		return r == SLU_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : slu_driver_result(r);
	}
	adopt_locked(pool, block);
	*ret_address = block->address;
	return CUDA_SUCCESS;
}

static CUresult alloc_locked(struct slu_pool *pool, uint64_t bytes, struct slu_stream *stream,
			     uint64_t *ret_address, struct slu_point *ret_freed)
{
	struct slu_pool *other;
	CUresult result;

	result = reuse_locked(pool, bytes, stream, false, ret_address, ret_freed);
	if (result == CUDA_ERROR_NOT_FOUND)
		result = make_locked(pool, bytes, ret_address);
	if (result == CUDA_ERROR_OUT_OF_MEMORY) {
		LIST_FOREACH (other, &pools, all)
			if (other->card == pool->card)
				trim_locked(other, 0);
		result = make_locked(pool, bytes, ret_address);
	}
	if (result == CUDA_ERROR_OUT_OF_MEMORY &&
	    !reuse_locked(pool, bytes, stream, true, ret_address, ret_freed))
		result = CUDA_SUCCESS;
	return result;
}

static struct slu_block *find_locked(uint64_t address)
{
	struct slu_alloc *a;
	struct slu_block *block = NULL;

	slu_driver_lock();
	a = slu_memory_find_locked(address);
	if (a)
		block = a->block;
	slu_driver_unlock();
	return block;
}

/* @freed: where in a stream; takes nothing over. */
static CUresult free_at(uint64_t address, const struct slu_point *freed)
{
	struct slu_block *block;
	struct slu_pool *pool;

	slu_pool_lock();
	block = find_locked(address);
	if (!block || block->address != address || block->is_idle) {
		slu_pool_unlock();
		return block ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
	}
	pool = block->pool;
	TAILQ_REMOVE(&pool->used, block, link);
	TAILQ_INSERT_TAIL(&pool->idle, block, link);
	__atomic_add_fetch(&n_idle, 1, __ATOMIC_RELAXED);
	block->is_idle = true;
	count_locked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, -(int64_t)block->bytes);
	block->freed = slu_point_copy(freed);
	if (pool->is_destroyed)
		trim_locked(pool, 0);
	else if (!freed->timeline)
		trim_locked(pool, pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
	discard_if_empty_locked(pool);
	slu_pool_unlock();
	return CUDA_SUCCESS;
}

CUresult slu_pool_free(uint64_t address, struct slu_stream *stream)
{
	struct slu_point here = { 0 };
	CUresult result;

	if (stream)
		here = slu_stream_point(stream);
	result = free_at(address, &here);
	slu_point_drop(&here);
	return result;
}

/* From here on the stream waits for the one that freed the block. */
static CUresult wait_in(struct slu_stream *stream, const struct slu_point *freed)
{
	struct slu_command *command = slu_command_new(SLU_COMMAND_EMPTY);
	struct slu_point point = slu_point_copy(freed);

	if (!command || slu_command_depend(command, point)) {
		slu_command_free(command);
		slu_point_drop(&point);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return slu_stream_submit(stream, command);
}

CUresult slu_pool_alloc(struct slu_pool *pool, uint64_t bytes, struct slu_stream *stream,
			uint64_t *ret_address)
{
	struct slu_point freed = { 0 };
	uint64_t address;
	CUresult result;

	slu_pool_lock();
	result = alloc_locked(pool, slu_round_up(bytes, UINT64_C(512)), stream, &address, &freed);
	slu_pool_unlock();
	if (result)
		return result;
	/* without the lock: while this stream takes no more commands, others may allocate */
	if (freed.timeline)
		result = wait_in(stream, &freed);
	if (result)
		free_at(address, &freed);
	else
		*ret_address = address;
	slu_point_drop(&freed);
	return result;
}

struct slu_pool *slu_pool_of(uint64_t address)
{
	struct slu_block *block;
	struct slu_pool *pool;

	slu_pool_lock();
	block = find_locked(address);
	pool = block && !block->is_idle ? block->pool : NULL;
	slu_pool_unlock();
	return pool;
}

/* -- pools ---------------------------------------------------------------------------------- */

void slu_pool_destroy(struct slu_pool *pool)
{
	slu_pool_lock();
	slu_pool_not_current_locked(pool);
	pool->is_destroyed = true;
	trim_locked(pool, 0);
	discard_if_empty_locked(pool);
	slu_pool_unlock();
}

void slu_pool_trim(struct slu_pool *pool, uint64_t keep_bytes)
{
	slu_pool_lock();
	trim_locked(pool, keep_bytes);
	slu_pool_unlock();
}

bool slu_pool_trim_card(struct slu_card *card)
{
	unsigned before = __atomic_load_n(&n_idle, __ATOMIC_RELAXED);
	struct slu_pool *pool;

	slu_pool_lock();
	LIST_FOREACH (pool, &pools, all)
		if (pool->card == card)
			trim_locked(pool, 0);
	slu_pool_unlock();
	return __atomic_load_n(&n_idle, __ATOMIC_RELAXED) < before;
}

void slu_pool_synchronized(void)
{
	struct slu_pool *pool, *next;

	if (!__atomic_load_n(&n_idle, __ATOMIC_RELAXED))
		return;
	slu_pool_lock();
	for (pool = LIST_FIRST(&pools); pool; pool = next) {
		next = LIST_NEXT(pool, all);
		trim_locked(pool, pool->is_destroyed
					  ? 0
					  : pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
		discard_if_empty_locked(pool);
	}
	slu_pool_unlock();
}

CUresult slu_pool_set_access(struct slu_pool *pool, struct slu_card *card, uint8_t access)
{
	struct slu_block *block;

	if (card == pool->card && access != (SLU_WINDOW_READ | SLU_WINDOW_WRITE))
		return CUDA_ERROR_INVALID_VALUE;
	slu_pool_lock();
	pool->access[card->index] = access;
	TAILQ_FOREACH (block, &pool->used, link)
		apply_access(pool, block, card->index);
	TAILQ_FOREACH (block, &pool->idle, link)
		apply_access(pool, block, card->index);
	slu_pool_unlock();
	return CUDA_SUCCESS;
}
