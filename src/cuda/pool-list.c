/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-list.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/util.h"
#include "cuda/pool-space.h"
#include "cuda/real.h"

struct slu_cuda_pool_list slu_cuda_pools = LIST_HEAD_INITIALIZER(slu_cuda_pools);

/* By the number of the device; guarded by the front lock. */
static struct {
	CUmemoryPool first;	       /* the pool that it began with; NULL: not asked for yet */
	bool is_known;		       /* the next one is right */
	struct slu_cuda_pool *current; /* NULL: one that is left to the driver */
} choices[SLU_CUDA_DEVICES_MAX];
static uint64_t n_choices; /* how often what is current changed */

uint64_t slu_cuda_pool_list_reserved_locked(const struct slu_cuda_pool *pool)
{
	return slu_pool_space_stats(pool->space)->reserved_bytes - pool->absent_bytes;
}

bool slu_cuda_pool_list_change_locked(struct slu_cuda_pool *pool, bool *ret_was)
{
	static __thread char me __attribute__((__tls_model__("initial-exec")));

	*ret_was = pool->changer == &me;
	if (pool->changer && !*ret_was)
		return false;
	pool->changer = &me;
	return true;
}

void slu_cuda_pool_list_changed_locked(struct slu_cuda_pool *pool, bool was)
{
	pool->reserved_bytes_high =
		SLU_MAX(pool->reserved_bytes_high, slu_cuda_pool_list_reserved_locked(pool));
	if (was)
		return;
	pool->changer = NULL;
	pthread_cond_broadcast(&slu_cuda.changed);
}

void slu_cuda_pool_list_discard_locked(struct slu_cuda_pool *pool)
{
	LIST_REMOVE(pool, link);
	slu_pool_space_free(pool->space);
	free(pool);
}

static struct slu_cuda_pool *pool_find_locked(CUmemoryPool handle)
{
	struct slu_cuda_pool *pool;

	LIST_FOREACH (pool, &slu_cuda_pools, link)
		if (pool->handle == handle)
			break;
	return pool;
}

/* A record for @handle, unless there is one. What cannot be noted is left to the driver. */
static void pool_note(CUmemoryPool handle, struct slu_cuda_device *device, uint64_t max_bytes)
{
	struct slu_cuda_pool *pool = calloc(1, sizeof(*pool));

	if (!pool || slu_pool_space_new(&pool->space)) {
		free(pool);
		return;
	}
	pool->device = device;
	pool->handle = handle;
	pool->max_bytes = max_bytes;
	pool->is_opportunistic = true;
	slu_lock_take(&slu_cuda.lock);
	if (!pool_find_locked(handle)) {
		LIST_INSERT_HEAD(&slu_cuda_pools, pool, link);
		pool = NULL;
	}
	slu_lock_give(&slu_cuda.lock);
	if (pool)
		slu_pool_space_free(pool->space);
	free(pool);
}

/* The device that began with @handle, or NULL. */
static struct slu_cuda_device *device_of_default_pool(CUmemoryPool handle)
{
	for (unsigned i = 0; i < slu_cuda.n_devices; i++) {
		struct slu_cuda_device *d = &slu_cuda.devices[i];
		CUmemoryPool first;

		slu_lock_take(&slu_cuda.lock);
		first = choices[i].first;
		slu_lock_give(&slu_cuda.lock);
		if (!first &&
		    SLU_REAL(cuDeviceGetDefaultMemPool)(&first, d->ordinal) != CUDA_SUCCESS)
			continue;
		slu_lock_take(&slu_cuda.lock);
		choices[i].first = first;
		slu_lock_give(&slu_cuda.lock);
		if (first == handle)
			return d;
	}
	return NULL;
}

struct slu_cuda_pool *slu_cuda_pool_list_get(CUmemoryPool handle)
{
	struct slu_cuda_pool *pool;
	struct slu_cuda_device *d;
	int saved = errno;

	if (!handle)
		return NULL;
	slu_lock_take(&slu_cuda.lock);
	pool = pool_find_locked(handle);
	slu_lock_give(&slu_cuda.lock);
	if (pool)
		return pool;
	d = device_of_default_pool(handle);
	if (!d)
		return NULL;
	pool_note(handle, d, 0);
	slu_lock_take(&slu_cuda.lock);
	pool = pool_find_locked(handle);
	slu_lock_give(&slu_cuda.lock);
	errno = saved;
	return pool;
}

void slu_cuda_pool_list_made(CUmemoryPool handle, const CUmemPoolProps *props)
{
	struct slu_cuda_device *d;
	int saved = errno;

	if (props->handleTypes || props->usage ||
	    props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return;
	d = slu_cuda_device_find(props->location.id);
	if (d)
		pool_note(handle, d, props->maxSize);
	errno = saved;
}

void slu_cuda_pool_list_chosen(void)
{
	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < SLU_CUDA_DEVICES_MAX; i++)
		choices[i].is_known = false;
	n_choices++;
	slu_lock_give(&slu_cuda.lock);
}

bool slu_cuda_pool_list_current_locked(const struct slu_cuda_device *device,
				       struct slu_cuda_pool **ret_pool)
{
	ptrdiff_t i = device - slu_cuda.devices;

	*ret_pool = choices[i].current;
	return choices[i].is_known;
}

void slu_cuda_pool_list_choose(struct slu_cuda_device *d)
{
	struct slu_cuda_pool *pool;
	CUmemoryPool handle;
	uint64_t n;

	slu_lock_take(&slu_cuda.lock);
	n = n_choices;
	slu_lock_give(&slu_cuda.lock);
	if (SLU_REAL(cuDeviceGetMemPool)(&handle, d->ordinal) != CUDA_SUCCESS)
		handle = NULL;
	pool = slu_cuda_pool_list_get(handle);
	slu_lock_take(&slu_cuda.lock);
	if (n == n_choices) {
		choices[d - slu_cuda.devices].current = pool;
		choices[d - slu_cuda.devices].is_known = true;
	}
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_pool_list_destroyed(CUmemoryPool handle)
{
	struct slu_cuda_pool *pool;

	slu_lock_take(&slu_cuda.lock);
	pool = pool_find_locked(handle);
	if (pool)
		pool->handle = NULL;
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_pool_list_chosen();
}
