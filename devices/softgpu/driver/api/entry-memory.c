/* SPDX-License-Identifier: Apache-2.0 */

/* Allocations of device and host memory. */

#include <errno.h>

#include "base/util.h"
#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/graph-memory.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/pool.h"

#define PITCH_ALIGN 512

static CUresult memory_fault(enum dev_fault_kind kind)
{
	uint64_t extra_ns;

	return dev_fault_next(kind, &extra_ns) == DEV_FAULT_FAIL ? CUDA_ERROR_OUT_OF_MEMORY
								 : CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
	struct dev_context *context;
	uint64_t address;
	int r;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	if (dev_fault_refuses(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	dev_context_lock(context);
	r = dev_memory_alloc(context, bytes, &address);
	dev_context_unlock(context);
	if (r == DEV_CARD_E_FULL && dev_pool_trim_card(context->card)) {
		dev_context_lock(context);
		r = dev_memory_alloc(context, bytes, &address);
		dev_context_unlock(context);
	}
	if (r)
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	*ret_address = address;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width,
			    size_t height, unsigned int element_bytes)
{
	size_t pitch = slu_round_up(width, PITCH_ALIGN);

	DEV_TRY(dev_driver_enter());
	if (!ret_pitch || !width || !height || pitch < width || pitch > SIZE_MAX / height)
		return CUDA_ERROR_INVALID_VALUE;
	if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(cuMemAlloc_v2(ret_address, pitch * height));
	*ret_pitch = pitch;
	return CUDA_SUCCESS;
}

/* Memory of a pool or of a graph, which belongs to no context. */
static CUresult free_ordered(uint64_t address)
{
	struct dev_context *context;
	CUresult result;

	DEV_TRY(dev_context_enter(&context));
	dev_stream_drain(context);
	result = dev_graph_memory_free_outside(address, NULL);
	if (result == CUDA_ERROR_NOT_FOUND)
		result = dev_pool_free(address, NULL);
	return result == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_INVALID_VALUE : result;
}

static CUresult free_managed(uint64_t address)
{
	struct dev_managed_view view;

	if (!dev_managed_look(address, &view) || view.base != address)
		return CUDA_ERROR_INVALID_VALUE;
	if (view.context)
		dev_stream_drain(view.context);
	dev_managed_notice();
	return dev_managed_free(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/*
 * Waits until the context's work is done, and keeps everybody else out meanwhile: programs rely on
 * the first, and the genuine driver does the second.
 */
CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct dev_context *context = NULL;
	bool is_ours, is_ordered = false;
	struct dev_alloc *a;
	int r;

	DEV_TRY(dev_driver_enter());
	if (!address)
		return CUDA_SUCCESS;
	DEV_TRY(dev_capture_unsafe());
	dev_driver_lock();
	a = dev_memory_find_locked(address);
	is_ours = a && a->base == address;
	if (is_ours) {
		context = a->context;
		is_ordered = !context;
	}
	dev_driver_unlock();
	if (!is_ours)
		return free_managed(address);
	if (is_ordered)
		return free_ordered(address);
	DEV_TRY(dev_context_error(context));
	dev_context_lock(context);
	dev_stream_drain(context);
	r = dev_memory_free(address);
	dev_context_unlock(context);
	return dev_driver_result(r);
}

CUresult cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_free || !ret_total)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_free = dev_card_free_bytes(context->card);
	*ret_total = context->card->capacity_bytes;
	return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **ret_pointer, size_t bytes, unsigned int flags)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_pointer || !bytes ||
	    (flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
				 CU_MEMHOSTALLOC_WRITECOMBINED)))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(memory_fault(DEV_FAULT_HOST));
	return dev_driver_result(dev_memory_host_alloc(context, bytes, flags, ret_pointer));
}

CUresult cuMemAllocHost_v2(void **ret_pointer, size_t bytes)
{
	return cuMemHostAlloc(ret_pointer, bytes, 0);
}

static CUresult drop_host(void *pointer, bool is_ours, CUresult error)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_capture_unsafe());
	/* work that uses it must have ended: the memory may be gone afterwards */
	dev_stream_drain(context);
	return dev_memory_host_drop(pointer, is_ours) ? error : CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *pointer)
{
	return pointer ? drop_host(pointer, true, CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned int flags)
{
	struct dev_context *context;
	int r;

	DEV_TRY(dev_context_enter(&context));
	if (!pointer || !bytes || (flags & CU_MEMHOSTREGISTER_IOMEMORY) ||
	    dev_window_has(&dev_driver.window, (uintptr_t)pointer))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(memory_fault(DEV_FAULT_HOST));
	r = dev_memory_host_register(context, pointer, bytes, flags);
	return r == -EEXIST ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : dev_driver_result(r);
}

CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
	return cuMemHostRegister_v2(pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void *pointer)
{
	return drop_host(pointer, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret_address, void *pointer, unsigned int flags)
{
	struct dev_context *context;
	struct dev_host *h;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_address || flags)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	h = dev_memory_find_host_locked((uintptr_t)pointer);
	dev_driver_unlock();
	if (!h)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = (uintptr_t)pointer;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *ret_flags, void *pointer)
{
	struct dev_context *context;
	CUresult result = CUDA_SUCCESS;
	struct dev_host *h;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	h = dev_memory_find_host_locked((uintptr_t)pointer);
	if (!h || !h->is_ours)
		result = CUDA_ERROR_INVALID_VALUE;
	else
		*ret_flags = h->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	dev_driver_unlock();
	return result;
}
