/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls about pools. The driver is asked all of them, for it has the handles, keeps what is set
 * and knows what is wrong; of its answers only those about memory are ours.
 */
#include "cuda/pool-list.h"
#include "cuda/pool-release.h"
#include "cuda/pool-space.h"
#include "cuda/real.h"

CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *props)
{
	CUresult r = SLU_REAL(cuMemPoolCreate)(ret_pool, props);

	if (r == CUDA_SUCCESS)
		slu_cuda_pool_list_made(*ret_pool, props);
	return r;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
	CUresult r = SLU_REAL(cuMemPoolDestroy)(handle);

	if (r != CUDA_SUCCESS)
		return r;
	slu_cuda_pool_list_destroyed(handle);
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_pool_release_look_locked(NULL);
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_pool_release_excess(NULL);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes)
{
	CUresult r = SLU_REAL(cuMemPoolTrimTo)(handle, keep_bytes);
	struct slu_cuda_pool *pool = r == CUDA_SUCCESS ? slu_cuda_pool_list_get(handle) : NULL;

	if (pool)
		slu_cuda_pool_release_trim(pool, keep_bytes);
	return r;
}

static bool pool_find_stat_locked(const struct slu_cuda_pool *pool, CUmemPool_attribute which,
				  cuuint64_t *ret_value)
{
	const struct slu_pool_space_stats *stats = slu_pool_space_stats(pool->space);

	switch (which) {
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*ret_value = slu_cuda_pool_list_reserved_locked(pool);
		return true;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*ret_value = pool->reserved_bytes_high;
		return true;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*ret_value = stats->used_bytes;
		return true;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*ret_value = stats->used_bytes_high;
		return true;
	default:
		return false;
	}
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void *ret_value)
{
	CUresult r = SLU_REAL(cuMemPoolGetAttribute)(handle, which, ret_value);
	struct slu_cuda_pool *pool = r == CUDA_SUCCESS ? slu_cuda_pool_list_get(handle) : NULL;
	cuuint64_t value;

	if (!pool)
		return r;
	slu_lock_take(&slu_cuda.lock);
	if (pool_find_stat_locked(pool, which, &value))
		*(cuuint64_t *)ret_value = value;
	slu_lock_give(&slu_cuda.lock);
	return r;
}

static void pool_set_locked(struct slu_cuda_pool *pool, CUmemPool_attribute which,
			    const void *value)
{
	switch (which) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->threshold_bytes = *(const cuuint64_t *)value;
		return;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		pool->is_opportunistic = *(const int *)value;
		return;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		pool->reserved_bytes_high = slu_cuda_pool_list_reserved_locked(pool);
		return;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		slu_pool_space_reset_used_high(pool->space);
		return;
	default:
		return;
	}
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void *value)
{
	CUresult r = SLU_REAL(cuMemPoolSetAttribute)(handle, which, value);
	struct slu_cuda_pool *pool = r == CUDA_SUCCESS ? slu_cuda_pool_list_get(handle) : NULL;

	if (!pool)
		return r;
	slu_lock_take(&slu_cuda.lock);
	pool_set_locked(pool, which, value);
	slu_lock_give(&slu_cuda.lock);
	return r;
}

/* There is no peer access to memory that moves (peer.c). */
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descs, size_t n)
{
	const struct slu_cuda_pool *pool = descs ? slu_cuda_pool_list_get(handle) : NULL;

	for (size_t i = 0; pool && i < n; i++)
		if (descs[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		    descs[i].location.id != pool->device->ordinal &&
		    descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	return SLU_REAL(cuMemPoolSetAccess)(handle, descs, n);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
	CUresult r = SLU_REAL(cuDeviceSetMemPool)(ordinal, handle);

	slu_cuda_pool_list_chosen();
	return r;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle)
{
	CUresult r = SLU_REAL(cuMemSetMemPool)(location, type, handle);

	slu_cuda_pool_list_chosen();
	return r;
}
