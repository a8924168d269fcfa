/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls of the first years. Launches as programs made them before cuLaunchKernel: the shape of a
 * block and the parameters are set one after the other and stay with the function until they are
 * set again. And contexts with a count of users.
 */

#include <string.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/images/module.h"

static CUresult legacy_look(CUfunction handle, struct dev_function **ret_function)
{
	DEV_TRY(dev_driver_enter());
	*ret_function = dev_module_function_get(handle);
	return *ret_function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
	struct dev_function *function;

	DEV_TRY(legacy_look(handle, &function));
	if (x < 1 || y < 1 || z < 1)
		return CUDA_ERROR_INVALID_VALUE;
	function->legacy.block[0] = (unsigned)x;
	function->legacy.block[1] = (unsigned)y;
	function->legacy.block[2] = (unsigned)z;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction handle, unsigned int bytes)
{
	struct dev_function *function;

	DEV_TRY(legacy_look(handle, &function));
	function->legacy.shared_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction handle, unsigned int bytes)
{
	struct dev_function *function;

	DEV_TRY(legacy_look(handle, &function));
	if (bytes > sizeof(function->legacy.params))
		return CUDA_ERROR_INVALID_VALUE;
	function->legacy.param_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction handle, int offset, void *value, unsigned int bytes)
{
	struct dev_function *function;

	DEV_TRY(legacy_look(handle, &function));
	if (!value || offset < 0 || bytes > sizeof(function->legacy.params) ||
	    (unsigned)offset > sizeof(function->legacy.params) - bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(function->legacy.params + offset, value, bytes);
	return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction handle, int offset, unsigned int value)
{
	return cuParamSetv(handle, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction handle, int offset, float value)
{
	return cuParamSetv(handle, offset, &value, sizeof(value));
}

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
	struct dev_function *function;
	const unsigned *block;
	size_t bytes;

	DEV_TRY(legacy_look(handle, &function));
	block = function->legacy.block;
	bytes = function->legacy.param_bytes;
	if (width < 1 || height < 1 || !block[0])
		return CUDA_ERROR_INVALID_VALUE;
	return cuLaunchKernel(handle, (unsigned)width, (unsigned)height, 1, block[0], block[1],
			      block[2], function->legacy.shared_bytes, stream, NULL,
			      (void *[]){ CU_LAUNCH_PARAM_BUFFER_POINTER, function->legacy.params,
					  CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
					  CU_LAUNCH_PARAM_END });
}

CUresult cuLaunchGrid(CUfunction handle, int width, int height)
{
	return cuLaunchGridAsync(handle, width, height, NULL);
}

CUresult cuLaunch(CUfunction handle)
{
	return cuLaunchGrid(handle, 1, 1);
}

/* -- contexts ------------------------------------------------------------------------------- */

CUresult cuCtxAttach(CUcontext *ret_context, unsigned int flags)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_context || flags)
		return CUDA_ERROR_INVALID_VALUE;
	__atomic_add_fetch(&context->n_attached, 1, __ATOMIC_RELAXED);
	*ret_context = dev_context_handle(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle)
{
	struct dev_context *context;
	unsigned n;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle);
	if (!context || dev_context_current() != handle)
		return CUDA_ERROR_INVALID_CONTEXT;
	n = __atomic_load_n(&context->n_attached, __ATOMIC_RELAXED);
	while (n && !__atomic_compare_exchange_n(&context->n_attached, &n, n - 1, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return n ? CUDA_SUCCESS : cuCtxDestroy_v2(handle);
}
