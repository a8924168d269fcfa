/* SPDX-License-Identifier: Apache-2.0 */

/* Contexts. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/pool.h"

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device)
{
	struct dev_context *context;
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_context_retain_primary(card, &context));
	*ret_context = dev_context_handle(context);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	return dev_context_release_primary(card);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	return dev_context_reset_primary(card);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_context_set_primary_flags(card, flags);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *ret_flags, int *ret_active)
{
	struct dev_card *card;
	bool is_active;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_flags || !ret_active)
		return CUDA_ERROR_INVALID_VALUE;
	dev_context_primary_state(card, ret_flags, &is_active);
	*ret_active = is_active;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
	struct dev_context *context;
	struct dev_card *card;
	CUresult result;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_context || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_context_new(card, flags, false, &context));
	result = dev_context_push(context);
	if (result) {
		dev_context_free(context);
		return result;
	}
	*ret_context = dev_context_handle(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
	return cuCtxCreate_v2(ret_context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext *ret_context, CUexecAffinityParam *affinities, int n_affinities,
			unsigned int flags, CUdevice device)
{
	if (affinities || n_affinities)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return cuCtxCreate_v2(ret_context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *ret_context, CUctxCreateParams *params, unsigned int flags,
			CUdevice device)
{
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return cuCtxCreate_v3(ret_context, params ? params->execAffinityParams : NULL,
			      params ? params->numExecAffinityParams : 0, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle)
{
	struct dev_context *context;
	bool was_there;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle);
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (dev_context_current() == handle)
		dev_context_pop(&was_there);
	dev_context_free(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext handle)
{
	return cuCtxDestroy_v2(handle);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
	struct dev_context *context;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle);
	return context ? dev_context_push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
	return cuCtxPushCurrent_v2(handle);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ret_context)
{
	CUcontext context;
	bool was_there;

	DEV_TRY(dev_driver_enter());
	context = dev_context_pop(&was_there);
	if (!was_there)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ret_context)
		*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *ret_context)
{
	return cuCtxPopCurrent_v2(ret_context);
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
	struct dev_context *context = NULL;

	DEV_TRY(dev_driver_enter());
	if (handle) {
		context = dev_context_get(handle);
		if (!context)
			return CUDA_ERROR_INVALID_CONTEXT;
	}
	dev_context_set(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
	DEV_TRY(dev_driver_enter());
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_context = dev_context_current();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *ret_device)
{
	struct dev_context *context;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(dev_context_current());
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_device = (CUdevice)context->card->index;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext handle)
{
	struct dev_context *context;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle ? handle : dev_context_current());
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_device = (CUdevice)context->card->index;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *ret_flags)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	*ret_flags = context->flags;
	dev_driver_unlock();
	return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	dev_context_lock(context);
	dev_driver_lock();
	context->flags = flags;
	dev_driver_unlock();
	dev_context_unlock(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *ret_id)
{
	struct dev_context *context;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle ? handle : dev_context_current());
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ret_id)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_id = context->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *ret_version)
{
	DEV_TRY(dev_driver_enter());
	if (!dev_context_get(handle ? handle : dev_context_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ret_version)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_version = 3020;
	return CUDA_SUCCESS;
}

static CUresult context_synchronize(struct dev_context *context)
{
	DEV_TRY(dev_capture_unsafe());
	dev_stream_drain(context);
	dev_managed_notice();
	dev_pool_synchronized();
	return dev_context_error(context);
}

CUresult cuCtxSynchronize(void)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	return context_synchronize(context);
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct dev_context *context;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle ? handle : dev_context_current());
	return context ? context_synchronize(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct dev_context *context;
	bool is_late;

	DEV_TRY(dev_context_enter(&context));
	if (limit < 0 || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	/* the heap has its size by now */
	dev_context_lock(context);
	is_late = limit == CU_LIMIT_MALLOC_HEAP_SIZE && context->heap;
	dev_context_unlock(context);
	if (is_late)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	context->limits[limit] = value;
	dev_driver_unlock();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *ret_value, CUlimit limit)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit < 0 || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	dev_driver_lock();
	*ret_value = context->limits[limit];
	dev_driver_unlock();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *ret_config)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_config)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	*ret_config = context->cache_config;
	dev_driver_unlock();
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	context->cache_config = config;
	dev_driver_unlock();
	return CUDA_SUCCESS;
}

/* Priorities are accepted and kept; this device gives all streams the same. */
CUresult cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (ret_least)
		*ret_least = 0;
	if (ret_greatest)
		*ret_greatest = -5;
	return CUDA_SUCCESS;
}
