/* SPDX-License-Identifier: Apache-2.0 */

/* Pools and memory that is allocated in the order of streams. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/graph-memory.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/memory/pool.h"

static CUmemoryPool handle_of(struct dev_pool *pool)
{
	return (CUmemoryPool)(void *)pool;
}

static CUresult pool_find(CUmemoryPool handle, struct dev_pool **ret_pool)
{
	DEV_TRY(dev_driver_enter());
	*ret_pool = dev_pool_get(handle);
	return *ret_pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult card_at(const CUmemLocation *location, CUmemAllocationType type,
			struct dev_card **ret_card)
{
	if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return dev_driver_card(location->id, ret_card);
}

CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *props)
{
	struct dev_card *card;
	struct dev_pool *pool;

	DEV_TRY(dev_driver_enter());
	if (!ret_pool || !props)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->usage ||
	    (props->handleTypes && props->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return CUDA_ERROR_NOT_SUPPORTED;
	DEV_TRY(card_at(&props->location, props->allocType, &card));
	DEV_TRY(dev_pool_new(card, props, &pool));
	*ret_pool = handle_of(pool);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
	struct dev_pool *pool;

	DEV_TRY(pool_find(handle, &pool));
	if (pool->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	dev_pool_destroy(pool);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes)
{
	struct dev_pool *pool;

	DEV_TRY(pool_find(handle, &pool));
	DEV_TRY(dev_capture_unsafe());
	dev_pool_trim(pool, keep_bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void *ret_value)
{
	struct dev_pool *pool;

	DEV_TRY(pool_find(handle, &pool));
	return ret_value ? dev_pool_attribute(pool, which, ret_value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void *value)
{
	struct dev_pool *pool;

	DEV_TRY(pool_find(handle, &pool));
	return value ? dev_pool_set_attribute(pool, which, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descs, size_t n)
{
	struct dev_card *card;
	struct dev_pool *pool;

	DEV_TRY(pool_find(handle, &pool));
	if (n && !descs)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (descs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    (descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		     descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
			return CUDA_ERROR_INVALID_VALUE;
		DEV_TRY(dev_driver_card(descs[i].location.id, &card));
		DEV_TRY(dev_pool_set_access(pool, card, (uint8_t)descs[i].flags));
	}
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *ret_flags, CUmemoryPool handle,
			    CUmemLocation *location)
{
	struct dev_card *card;
	struct dev_pool *pool;

	DEV_TRY(pool_find(handle, &pool));
	if (!ret_flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_driver_card(location->id, &card));
	*ret_flags = (CUmemAccess_flags)pool->access[card->index];
	return CUDA_SUCCESS;
}

/* -- between processes ---------------------------------------------------------------------- */

CUresult cuMemPoolExportToShareableHandle(void *ret_shareable, CUmemoryPool handle,
					  CUmemAllocationHandleType type, unsigned long long flags)
{
	struct dev_pool *pool;
	int fd;

	DEV_TRY(pool_find(handle, &pool));
	if (!ret_shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_pool_export(pool, &fd));
	*(int *)ret_shareable = fd;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *ret_pool, void *shareable,
					    CUmemAllocationHandleType type,
					    unsigned long long flags)
{
	struct dev_pool *pool;

	DEV_TRY(dev_driver_enter());
	if (!ret_pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_pool_import((int)(intptr_t)shareable, &pool));
	*ret_pool = handle_of(pool);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *ret_data, CUdeviceptr address)
{
	DEV_TRY(dev_driver_enter());
	return ret_data ? dev_pool_export_block(address, ret_data) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ret_address, CUmemoryPool handle,
				CUmemPoolPtrExportData *data)
{
	struct dev_pool *pool;
	uint64_t address;

	DEV_TRY(pool_find(handle, &pool));
	if (!ret_address || !data)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_pool_import_block(pool, data, &address));
	*ret_address = address;
	return CUDA_SUCCESS;
}

/* -- which pool serves a device ------------------------------------------------------------- */

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
	struct dev_card *card;
	struct dev_pool *pool;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_pool_default(card, &pool));
	*ret_pool = handle_of(pool);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
	struct dev_card *card;
	struct dev_pool *pool;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_pool_current(card, &pool));
	*ret_pool = handle_of(pool);
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
	struct dev_card *card;
	struct dev_pool *pool;

	DEV_TRY(dev_driver_card(device, &card));
	DEV_TRY(pool_find(handle, &pool));
	if (pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_pool_set_current(card, pool);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *ret_pool, CUmemLocation *location,
				CUmemAllocationType type)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(card_at(location, type, &card));
	return cuDeviceGetDefaultMemPool(ret_pool, (CUdevice)card->index);
}

CUresult cuMemGetMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, CUmemAllocationType type)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(card_at(location, type, &card));
	return cuDeviceGetMemPool(ret_pool, (CUdevice)card->index);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(card_at(location, type, &card));
	return cuDeviceSetMemPool((CUdevice)card->index, pool);
}

/* -- allocations ---------------------------------------------------------------------------- */

static CUresult pool_alloc(CUdeviceptr *ret_address, size_t bytes, struct dev_pool *pool,
			   struct dev_stream *stream)
{
	uint64_t address;

	if (!ret_address || !bytes || pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > pool->card->capacity_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (stream->capture)
		DEV_TRY(dev_graph_memory_capture_alloc(stream, &pool->props, bytes, &address));
	else if (dev_fault_refuses(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	else
		DEV_TRY(dev_pool_alloc(pool, bytes, stream, &address));
	*ret_address = address;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream handle)
{
	struct dev_context *context;
	struct dev_stream *stream;
	struct dev_pool *pool;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	DEV_TRY(dev_pool_current(context->card, &pool));
	return pool_alloc(ret_address, bytes, pool, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret_address, size_t bytes, CUmemoryPool handle,
				 CUstream stream_handle)
{
	struct dev_context *context;
	struct dev_stream *stream;
	struct dev_pool *pool;

	DEV_TRY(dev_entry_stream(stream_handle, &context, &stream));
	DEV_TRY(pool_find(handle, &pool));
	return pool_alloc(ret_address, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
	struct dev_context *context;
	struct dev_stream *stream;
	CUresult result;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (!address)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return dev_graph_memory_capture_free(stream, address);
	result = dev_graph_memory_free_outside(address, stream);
	if (result == CUDA_ERROR_NOT_FOUND)
		result = dev_pool_free(address, stream);
	return result == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_INVALID_VALUE : result;
}
