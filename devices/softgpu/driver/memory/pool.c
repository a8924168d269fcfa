/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/command.h"
#include "softgpu/driver/memory/memory.h"

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_pool);

/*
 * Guards all pools and what follows; taken before the driver's lock and the queues', and not held
 * while anybody waits for a stream.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, dev_pool) pools = LIST_HEAD_INITIALIZER(pools);

static unsigned n_idle; /* blocks of all pools; atomic: lets most synchronisations pass */

void dev_pool_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void dev_pool_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

CUresult dev_pool_new(struct dev_card *card, const CUmemPoolProps *props,
		      struct dev_pool **ret_pool)
{
	struct dev_pool *pool = dev_object_new(&objects);

	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* a number that no other process has drawn */
	if (props->handleTypes &&
	    getrandom(&pool->share_id, sizeof(pool->share_id), 0) != sizeof(pool->share_id)) {
		dev_object_free(&objects, pool);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	pool->card = card;
	pool->props = *props;
	TAILQ_INIT(&pool->used);
	TAILQ_INIT(&pool->idle);
	for (unsigned i = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
	     i <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; i++)
		pool->attributes[i] = 1;
	pool->access[card->index] = DEV_WINDOW_READ | DEV_WINDOW_WRITE;
	dev_pool_lock();
	LIST_INSERT_HEAD(&pools, pool, all);
	dev_pool_unlock();
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

struct dev_pool *dev_pool_get(CUmemoryPool handle)
{
	struct dev_pool *pool = dev_object_get(&objects, handle);

	return pool && !pool->is_destroyed ? pool : NULL;
}

/* -- blocks --------------------------------------------------------------------------------- */

static void count_locked(struct dev_pool *pool, CUmemPool_attribute current, int64_t bytes)
{
	uint64_t *now = &pool->attributes[current], *high = &pool->attributes[current + 1];

	*now += (uint64_t)bytes;
	*high = SLU_MAX(*high, *now);
}

static void release_locked(struct dev_block *block)
{
	struct dev_pool *pool = block->pool;

	TAILQ_REMOVE(&pool->idle, block, link);
	__atomic_sub_fetch(&n_idle, 1, __ATOMIC_RELAXED);
	count_locked(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, -(int64_t)block->bytes);
	dev_memory_free(block->address);
	dev_timeline_point_drop(&block->freed);
	free(block);
}

static void discard_if_empty_locked(struct dev_pool *pool)
{
	if (!pool->is_destroyed || !TAILQ_EMPTY(&pool->used) || !TAILQ_EMPTY(&pool->idle))
		return;
	LIST_REMOVE(pool, all);
	dev_object_free(&objects, pool);
}

static void trim_locked(struct dev_pool *pool, uint64_t keep_bytes)
{
	struct dev_block *block, *next;

	for (block = TAILQ_FIRST(&pool->idle); block; block = next) {
		next = TAILQ_NEXT(block, link);
		if (pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] <= keep_bytes)
			break;
		if (dev_timeline_point_is_done(&block->freed))
			release_locked(block);
	}
}

/* Return: an idle block that is not too large for @bytes, the best by cost. */
static struct dev_block *find_idle_locked(struct dev_pool *pool, uint64_t bytes,
					  struct dev_stream *stream, bool *ret_must_wait)
{
	struct dev_block *block, *later = NULL;

	TAILQ_FOREACH (block, &pool->idle, link) {
		if (block->bytes < bytes || block->bytes / 2 > bytes)
			continue;
		*ret_must_wait = false;
		if (block->freed.timeline == stream->timeline)
			return block;
		if (dev_timeline_point_is_done(&block->freed)) {
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
static CUresult reuse_locked(struct dev_pool *pool, uint64_t bytes, struct dev_stream *stream,
			     bool may_wait, uint64_t *ret_address, struct dev_point *ret_freed)
{
	bool must_wait;
	struct dev_block *block = find_idle_locked(pool, bytes, stream, &must_wait);

	if (!block || (must_wait && !may_wait))
		return CUDA_ERROR_NOT_FOUND;
	if (must_wait)
		*ret_freed = block->freed;
	else
		dev_timeline_point_drop(&block->freed);
	block->freed = (struct dev_point){ 0 };
	block->is_idle = false;
	TAILQ_REMOVE(&pool->idle, block, link);
	__atomic_sub_fetch(&n_idle, 1, __ATOMIC_RELAXED);
	TAILQ_INSERT_TAIL(&pool->used, block, link);
	count_locked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, (int64_t)block->bytes);
	*ret_address = block->address;
	return CUDA_SUCCESS;
}

static void apply_access(const struct dev_pool *pool, const struct dev_block *block, unsigned card)
{
	uint64_t granule = pool->card->granule_bytes;

	dev_driver_lock();
	/* small blocks share a granule, and with it the rights */
	dev_window_set_access(&dev_driver.window, block->address / granule * granule,
			      slu_round_up(block->bytes, granule), (int)card, pool->access[card]);
	dev_driver_unlock();
}

static void adopt_locked(struct dev_pool *pool, struct dev_block *block)
{
	for (unsigned i = 0; i < dev_driver.n_cards; i++)
		if (pool->access[i] && i != pool->card->index)
			apply_access(pool, block, i);
	TAILQ_INSERT_TAIL(&pool->used, block, link);
	count_locked(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, (int64_t)block->bytes);
	count_locked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, (int64_t)block->bytes);
}

void dev_pool_adopt(struct dev_pool *pool, struct dev_block *block)
{
	dev_pool_lock();
	adopt_locked(pool, block);
	dev_pool_unlock();
}

static CUresult make_locked(struct dev_pool *pool, uint64_t bytes, uint64_t *ret_address)
{
	struct dev_block *block;
	int r;

	if (pool->props.maxSize &&
	    pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] + bytes > pool->props.maxSize)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block = calloc(1, sizeof(*block));
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->pool = pool;
	block->bytes = bytes;
	r = dev_memory_alloc_block(pool->card, bytes, block, &block->address);
	if (r) {
		free(block);
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	}
	adopt_locked(pool, block);
	*ret_address = block->address;
	return CUDA_SUCCESS;
}

static CUresult alloc_locked(struct dev_pool *pool, uint64_t bytes, struct dev_stream *stream,
			     uint64_t *ret_address, struct dev_point *ret_freed)
{
	struct dev_pool *other;
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

static struct dev_block *find_locked(uint64_t address)
{
	struct dev_alloc *a;
	struct dev_block *block = NULL;

	dev_driver_lock();
	a = dev_memory_find_locked(address);
	if (a)
		block = a->block;
	dev_driver_unlock();
	return block;
}

/* @freed: where in a stream; takes nothing over. */
static CUresult free_at(uint64_t address, const struct dev_point *freed)
{
	struct dev_block *block;
	struct dev_pool *pool;

	dev_pool_lock();
	block = find_locked(address);
	if (!block || block->address != address || block->is_idle) {
		dev_pool_unlock();
		return block ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
	}
	pool = block->pool;
	TAILQ_REMOVE(&pool->used, block, link);
	TAILQ_INSERT_TAIL(&pool->idle, block, link);
	__atomic_add_fetch(&n_idle, 1, __ATOMIC_RELAXED);
	block->is_idle = true;
	count_locked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, -(int64_t)block->bytes);
	block->freed = dev_timeline_point_copy(freed);
	if (pool->is_destroyed)
		trim_locked(pool, 0);
	else if (!freed->timeline)
		trim_locked(pool, pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
	discard_if_empty_locked(pool);
	dev_pool_unlock();
	return CUDA_SUCCESS;
}

CUresult dev_pool_free(uint64_t address, struct dev_stream *stream)
{
	struct dev_point here = { 0 };
	CUresult result;

	if (stream)
		here = dev_timeline_stream_point(stream);
	result = free_at(address, &here);
	dev_timeline_point_drop(&here);
	return result;
}

/* From here on the stream waits for the one that freed the block. */
static CUresult wait_in(struct dev_stream *stream, const struct dev_point *freed)
{
	struct dev_command *command = dev_command_new(DEV_COMMAND_EMPTY);
	struct dev_point point = dev_timeline_point_copy(freed);

	if (!command || dev_command_depend(command, point)) {
		dev_command_free(command);
		dev_timeline_point_drop(&point);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return dev_stream_submit(stream, command);
}

CUresult dev_pool_alloc(struct dev_pool *pool, uint64_t bytes, struct dev_stream *stream,
			uint64_t *ret_address)
{
	struct dev_point freed = { 0 };
	uint64_t address;
	CUresult result;

	dev_pool_lock();
	result = alloc_locked(pool, slu_round_up(bytes, UINT64_C(512)), stream, &address, &freed);
	dev_pool_unlock();
	if (result)
		return result;
	/* without the lock: while this stream takes no more commands, others may allocate */
	if (freed.timeline)
		result = wait_in(stream, &freed);
	if (result)
		free_at(address, &freed);
	else
		*ret_address = address;
	dev_timeline_point_drop(&freed);
	return result;
}

struct dev_pool *dev_pool_of(uint64_t address)
{
	struct dev_block *block;
	struct dev_pool *pool;

	dev_pool_lock();
	block = find_locked(address);
	pool = block && !block->is_idle ? block->pool : NULL;
	dev_pool_unlock();
	return pool;
}

/* -- pools ---------------------------------------------------------------------------------- */

void dev_pool_destroy(struct dev_pool *pool)
{
	dev_pool_lock();
	dev_pool_not_current_locked(pool);
	pool->is_destroyed = true;
	trim_locked(pool, 0);
	discard_if_empty_locked(pool);
	dev_pool_unlock();
}

void dev_pool_trim(struct dev_pool *pool, uint64_t keep_bytes)
{
	dev_pool_lock();
	trim_locked(pool, keep_bytes);
	dev_pool_unlock();
}

bool dev_pool_trim_card(struct dev_card *card)
{
	unsigned before = __atomic_load_n(&n_idle, __ATOMIC_RELAXED);
	struct dev_pool *pool;

	dev_pool_lock();
	LIST_FOREACH (pool, &pools, all)
		if (pool->card == card)
			trim_locked(pool, 0);
	dev_pool_unlock();
	return __atomic_load_n(&n_idle, __ATOMIC_RELAXED) < before;
}

void dev_pool_synchronized(void)
{
	struct dev_pool *pool, *next;

	if (!__atomic_load_n(&n_idle, __ATOMIC_RELAXED))
		return;
	dev_pool_lock();
	for (pool = LIST_FIRST(&pools); pool; pool = next) {
		next = LIST_NEXT(pool, all);
		trim_locked(pool, pool->is_destroyed
					  ? 0
					  : pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
		discard_if_empty_locked(pool);
	}
	dev_pool_unlock();
}

CUresult dev_pool_set_access(struct dev_pool *pool, struct dev_card *card, uint8_t access)
{
	struct dev_block *block;

	if (card == pool->card && access != (DEV_WINDOW_READ | DEV_WINDOW_WRITE))
		return CUDA_ERROR_INVALID_VALUE;
	dev_pool_lock();
	pool->access[card->index] = access;
	TAILQ_FOREACH (block, &pool->used, link)
		apply_access(pool, block, card->index);
	TAILQ_FOREACH (block, &pool->idle, link)
		apply_access(pool, block, card->index);
	dev_pool_unlock();
	return CUDA_SUCCESS;
}
