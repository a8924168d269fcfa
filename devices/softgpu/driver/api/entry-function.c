/* SPDX-License-Identifier: Apache-2.0 */

/* Functions: a kernel in a context, what can be asked of it, and how many blocks fit. */

#include "base/util.h"
#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/images/module.h"

CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute which, CUfunction handle)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_traits_get(function->module->program->ptx, function->kernel, &function->wishes,
			      which, ret_value);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	return dev_traits_set(function->kernel, &function->wishes, which, value);
}

/* A wish about a cache that is not there can be granted. */
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	DEV_TRY(dev_driver_enter());
	if (!dev_module_function_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
							     : CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *ret_module, CUfunction handle)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)(void *)function->module;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **ret_name, CUfunction handle)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_name = function->kernel->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *ret_offset, size_t *ret_size)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_offset || index >= function->kernel->n_params)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_offset = function->kernel->params[index]->offset;
	if (ret_size)
		*ret_size = function->kernel->params[index]->size;
	return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle)
{
	struct dev_context *context;
	struct dev_function *function;

	DEV_TRY(dev_context_enter(&context));
	function = dev_module_function_get(handle);
	return function ? dev_module_function_load(function) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *ret_state, CUfunction handle)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function || !ret_state)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_state = __atomic_load_n(&function->is_loaded, __ATOMIC_ACQUIRE)
			     ? CU_FUNCTION_LOADING_STATE_LOADED
			     : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return CUDA_SUCCESS;
}

/* -- occupancy: by threads and shared memory of a multiprocessor ---------------------------- */

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_n, CUfunction handle,
							      int block, size_t dynamic_bytes,
							      unsigned int flags)
{
	struct dev_function *function;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_n || block <= 0 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_n = (int)dev_module_function_n_resident(function, (unsigned)block, dynamic_bytes);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_n, CUfunction handle, int block,
						     size_t dynamic_bytes)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_n, handle, block,
								    dynamic_bytes, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_min_grid, int *ret_block,
						   CUfunction handle, CUoccupancyB2DSize shared_of,
						   size_t dynamic_bytes, int limit,
						   unsigned int flags)
{
	int best_block = 0, best_threads = 0, best_n = 0;
	struct dev_function *function;
	int block;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_min_grid || !ret_block)
		return CUDA_ERROR_INVALID_VALUE;
	block = (int)dev_traits_max_threads(function->kernel);
	if (limit > 0)
		block = SLU_MIN(block, limit);
	for (; block > 0; block = (block - 1) / 32 * 32) {
		int n;

		DEV_TRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&n, handle, block, shared_of ? shared_of(block) : dynamic_bytes, flags));
		if (n * block > best_threads) {
			best_threads = n * block;
			best_block = block;
			best_n = n;
		}
	}
	*ret_block = best_block;
	*ret_min_grid = best_n * (int)dev_driver.settings.n_multiprocessors;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *ret_min_grid, int *ret_block, CUfunction handle,
					  CUoccupancyB2DSize shared_of, size_t dynamic_bytes,
					  int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(ret_min_grid, ret_block, handle, shared_of,
							 dynamic_bytes, limit, 0);
}

/* What is left of a multiprocessor's shared memory where @n blocks share it. */
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, CUfunction handle, int n,
						 int block)
{
	const struct dev_limits *limits = dev_driver.settings.limits;
	struct dev_function *function;
	uint64_t each;

	DEV_TRY(dev_driver_enter());
	function = dev_module_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_bytes || n <= 0 || block <= 0 || block > DEV_LIMITS_BLOCK_THREADS ||
	    (unsigned)n > dev_limits_fit(limits, (unsigned)block, 0))
		return CUDA_ERROR_INVALID_VALUE;
	each = limits->shared_bytes / (unsigned)n;
	each -= each % limits->shared_unit_bytes;
	each = SLU_MIN(slu_sub_floor(each, (uint64_t)limits->shared_bytes_reserved),
		       (uint64_t)limits->shared_bytes_optin);
	*ret_bytes = slu_sub_floor(each, function->kernel->shared_bytes);
	return CUDA_SUCCESS;
}
