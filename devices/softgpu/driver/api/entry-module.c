/* SPDX-License-Identifier: Apache-2.0 */

/* Modules. */

#include "base/cleanup.h"
#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/images/jit.h"
#include "softgpu/driver/images/module.h"

static CUresult module_load(CUmodule *ret_module, const void *image,
			    const struct dev_image_log *log)
{
	struct dev_program *program;
	struct dev_context *context;
	struct dev_module *module;
	CUresult result;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_program_load(image, dev_driver.settings.capability, log, &program));
	result = dev_module_new(context, program, &module);
	dev_program_unref(program);
	if (result)
		return result;
	*ret_module = (CUmodule)(void *)module;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int n,
			    CUjit_option *options, void **values)
{
	struct dev_jit jit;
	CUresult result;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_jit_read(n, options, values, &jit));
	result = module_load(ret_module, image, &jit.error);
	dev_jit_finish(&jit);
	return result;
}

CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	return module_load(ret_module, image, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
	return module_load(ret_module, image, NULL);
}

CUresult cuModuleLoad(CUmodule *ret_module, const char *path)
{
	slu_cleanup(slu_freep) char *image = NULL;
	struct dev_context *context;
	size_t bytes;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_read_file(path, &image, &bytes));
	return module_load(ret_module, image, NULL);
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct dev_context *context;
	struct dev_module *module;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_capture_unsafe());
	module = dev_module_get(handle);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	context = module->context;
	dev_context_lock(context);
	dev_stream_drain(context);
	dev_module_free(module);
	dev_context_unlock(context);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
	DEV_TRY(dev_driver_enter());
	if (!ret_mode)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule handle, const char *name)
{
	struct dev_context *context;
	struct dev_function *function;
	struct dev_module *module;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	module = dev_module_get(handle);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(dev_module_function(module, name, &function));
	*ret_function = (CUfunction)(void *)function;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *ret_n, CUmodule handle)
{
	struct dev_module *module;

	DEV_TRY(dev_driver_enter());
	module = dev_module_get(handle);
	if (!ret_n || !module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_n = dev_program_count_kernels(module->program);
	return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned int n, CUmodule handle)
{
	struct dev_context *context;
	struct dev_function *function;
	struct dev_module *module;

	DEV_TRY(dev_context_enter(&context));
	module = dev_module_get(handle);
	if (!ret_functions || !module)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		const struct slu_ptx_function *kernel = dev_program_kernel(module->program, i);

		if (!kernel)
			break;
		DEV_TRY(dev_module_function(module, kernel->name, &function));
		ret_functions[i] = (CUfunction)(void *)function;
	}
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule handle,
			      const char *name)
{
	struct dev_context *context;
	struct dev_module *module;
	uint64_t address;
	size_t bytes;

	DEV_TRY(dev_context_enter(&context));
	if (!name || (!ret_address && !ret_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	module = dev_module_get(handle);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(dev_module_variable(module, name, &address, &bytes));
	if (ret_address)
		*ret_address = address;
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}
