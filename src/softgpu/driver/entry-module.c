/* SPDX-License-Identifier: Apache-2.0 */

/* Modules and functions. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "softgpu/driver/entry.h"
#include "softgpu/driver/module.h"

/* The options that we obey; a compiler's others have no meaning here and are taken silently. */
struct options {
	char *error_log, *info_log;
	size_t error_size, info_size;
	void **error_used, **info_used; /* where the sizes are given back */
};

static struct options read_options(unsigned n, const CUjit_option *options, void **values)
{
	struct options o = { 0 };

	for (unsigned i = 0; i < n; i++) {
		switch (options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			o.error_log = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			o.error_size = (unsigned)(uintptr_t)values[i];
			o.error_used = &values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			o.info_log = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			o.info_size = (unsigned)(uintptr_t)values[i];
			o.info_used = &values[i];
			break;
		default:
			break;
		}
	}
	return o;
}

static CUresult load(CUmodule *ret_module, const void *image, char *log, size_t log_size)
{
	struct slu_context *context;
	struct slu_module *module;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	SLU_TRY(slu_capture_unsafe());
	SLU_TRY(slu_module_load(context, image, log, log_size, &module));
	*ret_module = (CUmodule)(void *)module;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int n,
			    CUjit_option *options, void **values)
{
	struct options o = { 0 };
	CUresult result;

	SLU_TRY(slu_driver_enter());
	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	o = read_options(n, options, values);
	if (o.error_log && o.error_size)
		*o.error_log = '\0';
	if (o.info_log && o.info_size)
		*o.info_log = '\0';
	result = load(ret_module, image, o.error_log, o.error_size);
	if (o.error_used)
		*o.error_used = (void *)(uintptr_t)(o.error_log && o.error_size
							    ? strnlen(o.error_log, o.error_size)
							    : 0);
	if (o.info_used)
		*o.info_used = NULL;
	return result;
}

CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	return load(ret_module, image, NULL, 0);
}

CUresult cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
	return load(ret_module, image, NULL, 0);
}

CUresult cuModuleLoad(CUmodule *ret_module, const char *path)
{
	slu_cleanup(slu_freep) char *text = NULL;
	struct slu_context *context;
	CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
	FILE *file;
	long size;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	file = fopen(path, "re");
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0) {
		rewind(file);
		text = calloc(1, (size_t)size + 8);
		if (!text)
			result = CUDA_ERROR_OUT_OF_MEMORY;
		else if (fread(text, 1, (size_t)size, file) == (size_t)size)
			result = load(ret_module, text, NULL, 0);
	}
	fclose(file);
	return result;
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct slu_context *context;
	struct slu_module *module;

	SLU_TRY(slu_context_enter(&context));
	SLU_TRY(slu_capture_unsafe());
	module = slu_module_get(handle);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	context = module->context;
	slu_lock_take(&context->lock);
	slu_stream_drain(context);
	slu_module_free(module);
	slu_lock_give(&context->lock);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
	SLU_TRY(slu_driver_enter());
	if (!ret_mode)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule handle, const char *name)
{
	struct slu_context *context;
	struct slu_function *function;
	struct slu_module *module;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	module = slu_module_get(handle);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	SLU_TRY(slu_module_function(module, name, &function));
	*ret_function = (CUfunction)(void *)function;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *ret_n, CUmodule handle)
{
	struct slu_module *module;

	SLU_TRY(slu_driver_enter());
	module = slu_module_get(handle);
	if (!ret_n || !module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_n = 0;
	for (unsigned i = 0; i < module->ptx->n_functions; i++)
		*ret_n += module->ptx->functions[i]->is_kernel;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule handle,
			      const char *name)
{
	struct slu_context *context;
	struct slu_module *module;
	uint64_t address;
	size_t bytes;

	SLU_TRY(slu_context_enter(&context));
	if (!name || (!ret_address && !ret_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	module = slu_module_get(handle);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	SLU_TRY(slu_module_variable(module, name, &address, &bytes));
	if (ret_address)
		*ret_address = address;
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}

/* -- functions ------------------------------------------------------------------------------ */

static int max_threads(const struct slu_ptx_function *kernel)
{
	const unsigned *t =
		kernel->required_threads[0] ? kernel->required_threads : kernel->max_threads;
	unsigned long n = 1;

	if (!t[0])
		return 1024;
	for (unsigned i = 0; i < 3; i++)
		n *= t[i] ? t[i] : 1;
	return (int)SLU_MIN(n, 1024ul);
}

CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute which, CUfunction handle)
{
	const struct slu_ptx_function *kernel;
	struct slu_function *function;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	kernel = function->kernel;
	switch (which) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = max_threads(kernel);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret_value = (int)kernel->shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret_value = (int)kernel->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret_value = (int)SLU_MIN(kernel->n_registers_used, 255u);
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret_value = (int)function->module->ptx->target;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret_value = 75;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret_value = function->max_dynamic_shared_bytes
				     ? function->max_dynamic_shared_bytes
				     : 49152 - (int)SLU_MIN(kernel->shared_bytes, UINT64_C(49152));
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*ret_value = function->carveout;
		break;
	default:
		if ((unsigned)which >= CU_FUNC_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		*ret_value = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value)
{
	struct slu_function *function;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	switch (which) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (uint64_t)value + function->kernel->shared_bytes > 65536)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_dynamic_shared_bytes = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		function->carveout = value;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* A wish about a cache that is not there can be granted. */
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	SLU_TRY(slu_driver_enter());
	if (!slu_function_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
							     : CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *ret_module, CUfunction handle)
{
	struct slu_function *function;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)(void *)function->module;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **ret_name, CUfunction handle)
{
	struct slu_function *function;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_name = function->kernel->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *ret_offset, size_t *ret_size)
{
	struct slu_function *function;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
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
	struct slu_context *context;
	struct slu_function *function;

	SLU_TRY(slu_context_enter(&context));
	function = slu_function_get(handle);
	return function ? slu_function_load(function) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *ret_state, CUfunction handle)
{
	struct slu_function *function;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
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
	struct slu_function *function;
	uint64_t shared;
	int n;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_n || block <= 0 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	shared = function->kernel->shared_bytes + dynamic_bytes;
	n = block > max_threads(function->kernel) ? 0 : SLU_MIN(1024 / block, 16);
	if (shared)
		n = (int)SLU_MIN((uint64_t)n, UINT64_C(65536) / shared);
	*ret_n = n;
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
	struct slu_function *function;
	int block;

	SLU_TRY(slu_driver_enter());
	function = slu_function_get(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_min_grid || !ret_block)
		return CUDA_ERROR_INVALID_VALUE;
	block = max_threads(function->kernel);
	if (limit > 0)
		block = SLU_MIN(block, limit);
	for (; block > 0; block = (block - 1) / 32 * 32) {
		int n;

		SLU_TRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&n, handle, block, shared_of ? shared_of(block) : dynamic_bytes, flags));
		if (n * block > best_threads) {
			best_threads = n * block;
			best_block = block;
			best_n = n;
		}
	}
	*ret_block = best_block;
	*ret_min_grid = best_n * 4;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *ret_min_grid, int *ret_block, CUfunction handle,
					  CUoccupancyB2DSize shared_of, size_t dynamic_bytes,
					  int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(ret_min_grid, ret_block, handle, shared_of,
							 dynamic_bytes, limit, 0);
}
