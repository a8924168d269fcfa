/* SPDX-License-Identifier: Apache-2.0 */

/* Modules. */

#include "base/cleanup.h"
#include "softgpu/driver/entry.h"
#include "softgpu/driver/jit.h"
#include "softgpu/driver/module.h"

static CUresult load(CUmodule *ret_module, const void *image, const struct slu_image_log *log)
{
	struct slu_program *program;
	struct slu_context *context;
	struct slu_module *module;
	CUresult result;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	SLU_TRY(slu_capture_unsafe());
	SLU_TRY(slu_program_load(image, slu_driver.settings.capability, log, &program));
	result = slu_module_new(context, program, &module);
	slu_program_unref(program);
	if (result)
		return result;
	*ret_module = (CUmodule)(void *)module;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int n,
			    CUjit_option *options, void **values)
{
	struct slu_jit jit;
	CUresult result;

	SLU_TRY(slu_driver_enter());
	SLU_TRY(slu_jit_read(n, options, values, &jit));
	result = load(ret_module, image, &jit.error);
	slu_jit_finish(&jit);
	return result;
}

CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	return load(ret_module, image, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
	return load(ret_module, image, NULL);
}

CUresult cuModuleLoad(CUmodule *ret_module, const char *path)
{
	slu_cleanup(slu_freep) char *image = NULL;
	struct slu_context *context;
	size_t bytes;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	SLU_TRY(slu_entry_read_file(path, &image, &bytes));
	return load(ret_module, image, NULL);
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
	slu_context_lock(context);
	slu_stream_drain(context);
	slu_module_free(module);
	slu_context_unlock(context);
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
	*ret_n = slu_program_count_kernels(module->program);
	return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned int n, CUmodule handle)
{
	struct slu_context *context;
	struct slu_function *function;
	struct slu_module *module;

	SLU_TRY(slu_context_enter(&context));
	module = slu_module_get(handle);
	if (!ret_functions || !module)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		const struct slu_ptx_function *kernel = slu_program_kernel(module->program, i);

		if (!kernel)
			break;
		SLU_TRY(slu_module_function(module, kernel->name, &function));
		ret_functions[i] = (CUfunction)(void *)function;
	}
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
