/* SPDX-License-Identifier: Apache-2.0 */

/* Which pool a card's allocations come from, and what pools are told by attributes. */

#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory/pool.h"

/* guarded by the pools' mutex; the first also looked at without it */
static struct dev_pool *defaults[DEV_SETTINGS_DEVICES_MAX];
static struct dev_pool *currents[DEV_SETTINGS_DEVICES_MAX];

void dev_pool_not_current_locked(const struct dev_pool *pool)
{
	for (unsigned i = 0; i < DEV_SETTINGS_DEVICES_MAX; i++)
		if (currents[i] == pool)
			currents[i] = defaults[i];
}

CUresult dev_pool_default(struct dev_card *card, struct dev_pool **ret_pool)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, (int)card->index } };
	struct dev_pool *fresh = NULL;
	CUresult result = CUDA_SUCCESS;

	if (!__atomic_load_n(&defaults[card->index], __ATOMIC_ACQUIRE))
		result = dev_pool_new(card, &props, &fresh);
	if (result)
		return result;
	dev_pool_lock();
	if (fresh && !defaults[card->index]) {
		fresh->is_default = true;
		if (!currents[card->index])
			currents[card->index] = fresh;
		__atomic_store_n(&defaults[card->index], fresh, __ATOMIC_RELEASE);
		fresh = NULL;
	}
	*ret_pool = defaults[card->index];
	dev_pool_unlock();
	/* somebody else was faster */
	if (fresh)
		dev_pool_destroy(fresh);
	return CUDA_SUCCESS;
}

CUresult dev_pool_current(struct dev_card *card, struct dev_pool **ret_pool)
{
	CUresult result = dev_pool_default(card, ret_pool);

	if (result)
		return result;
	dev_pool_lock();
	*ret_pool = currents[card->index];
	dev_pool_unlock();
	return CUDA_SUCCESS;
}

CUresult dev_pool_set_current(struct dev_card *card, struct dev_pool *pool)
{
	struct dev_pool *first;
	CUresult result = dev_pool_default(card, &first);

	if (result)
		return result;
	if (pool->card != card)
		return CUDA_ERROR_INVALID_VALUE;
	dev_pool_lock();
	currents[card->index] = pool;
	dev_pool_unlock();
	return CUDA_SUCCESS;
}

static bool is_flag(CUmemPool_attribute which)
{
	return which >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
	       which <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult dev_pool_attribute(struct dev_pool *pool, CUmemPool_attribute which, void *ret_value)
{
	if (which < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
	    which > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	dev_pool_lock();
	if (is_flag(which))
		*(int *)ret_value = (int)pool->attributes[which];
	else
		*(cuuint64_t *)ret_value = pool->attributes[which];
	dev_pool_unlock();
	return CUDA_SUCCESS;
}

CUresult dev_pool_set_attribute(struct dev_pool *pool, CUmemPool_attribute which, const void *value)
{
	CUresult result = CUDA_SUCCESS;

	dev_pool_lock();
	if (is_flag(which))
		pool->attributes[which] = *(const int *)value != 0;
	else if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		pool->attributes[which] = *(const cuuint64_t *)value;
	else if ((which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
		  which == CU_MEMPOOL_ATTR_USED_MEM_HIGH) &&
		 *(const cuuint64_t *)value == 0)
		pool->attributes[which] = pool->attributes[which - 1];
	else
		result = CUDA_ERROR_INVALID_VALUE;
	dev_pool_unlock();
	return result;
}
