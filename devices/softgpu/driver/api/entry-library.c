/* SPDX-License-Identifier: Apache-2.0 */

/* Libraries and their kernels. */

#include "base/cleanup.h"
#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/images/jit.h"
#include "softgpu/driver/images/library.h"

static CUresult check_options(const CUlibraryOption *options, void **values, unsigned n)
{
	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
			return CUDA_ERROR_NOT_SUPPORTED;
		/* whether the image stays does not matter: nobody looks at it again */
		if (options[i] != CU_LIBRARY_BINARY_IS_PRESERVED)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *jit_options,
			   void **jit_values, unsigned int n_jit, CUlibraryOption *options,
			   void **values, unsigned int n)
{
	struct dev_library *library;
	struct dev_jit jit;
	CUresult result;

	DEV_TRY(dev_driver_enter());
	if (!ret_library || !image)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(check_options(options, values, n));
	DEV_TRY(dev_jit_read(n_jit, jit_options, jit_values, &jit));
	result = dev_library_load(image, &jit.error, &library);
	dev_jit_finish(&jit);
	if (!result)
		*ret_library = (CUlibrary)(void *)library;
	return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *jit_options,
			       void **jit_values, unsigned int n_jit, CUlibraryOption *options,
			       void **values, unsigned int n)
{
	slu_cleanup(slu_freep) char *image = NULL;
	size_t bytes;

	DEV_TRY(dev_driver_enter());
	if (!ret_library || !path)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_read_file(path, &image, &bytes));
	return cuLibraryLoadData(ret_library, image, jit_options, jit_values, n_jit, options,
				 values, n);
}

CUresult cuLibraryUnload(CUlibrary handle)
{
	struct dev_library *library;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_capture_unsafe());
	library = dev_library_get(handle);
	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	dev_library_free(library);
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary handle, const char *name)
{
	struct dev_library *library;
	struct dev_kernel *kernel;

	DEV_TRY(dev_driver_enter());
	library = dev_library_get(handle);
	if (!library)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_library_kernel(library, name, &kernel));
	*ret_kernel = (CUkernel)(void *)kernel;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int *ret_n, CUlibrary handle)
{
	struct dev_library *library;

	DEV_TRY(dev_driver_enter());
	library = dev_library_get(handle);
	if (!ret_n || !library)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_n = dev_program_count_kernels(library->program);
	return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *ret_kernels, unsigned int n, CUlibrary handle)
{
	struct dev_library *library;
	struct dev_kernel *kernel;

	DEV_TRY(dev_driver_enter());
	library = dev_library_get(handle);
	if (!ret_kernels || !library)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		const struct slu_ptx_function *ptx = dev_program_kernel(library->program, i);

		if (!ptx)
			break;
		DEV_TRY(dev_library_kernel(library, ptx->name, &kernel));
		ret_kernels[i] = (CUkernel)(void *)kernel;
	}
	return CUDA_SUCCESS;
}

static CUresult module_here(CUlibrary handle, struct dev_module **ret_module)
{
	struct dev_library *library = dev_library_get(handle);
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!library)
		return CUDA_ERROR_INVALID_HANDLE;
	return dev_library_module(library, context, ret_module);
}

CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary handle)
{
	struct dev_module *module;

	DEV_TRY(module_here(handle, &module));
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)(void *)module;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ret_address, size_t *ret_bytes, CUlibrary handle,
			    const char *name)
{
	struct dev_module *module;

	DEV_TRY(module_here(handle, &module));
	return cuModuleGetGlobal_v2(ret_address, ret_bytes, (CUmodule)(void *)module, name);
}

/* Needs a context the first time only: managed variables belong to none. */
CUresult cuLibraryGetManaged(CUdeviceptr *ret_address, size_t *ret_bytes, CUlibrary handle,
			     const char *name)
{
	const struct slu_ptx_variable *v;
	struct dev_library *library;
	struct dev_module *module;

	DEV_TRY(dev_driver_enter());
	library = dev_library_get(handle);
	if (!library)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!name || (!ret_address && !ret_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	v = slu_ptx_module_variable(library->program->ptx, name);
	if (!v || !v->is_managed)
		return CUDA_ERROR_NOT_FOUND;
	/* their first values are written by the first module */
	if (!library->program->managed)
		DEV_TRY(module_here(handle, &module));
	if (ret_address)
		*ret_address = library->program->managed + library->program->managed_at[v->index];
	if (ret_bytes)
		*ret_bytes = v->size;
	return CUDA_SUCCESS;
}

/* -- kernels -------------------------------------------------------------------------------- */

static CUresult library_find(CUkernel handle, struct dev_kernel **ret_kernel)
{
	DEV_TRY(dev_driver_enter());
	*ret_kernel = dev_library_get_kernel(handle);
	return *ret_kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetFunction(CUfunction *ret_function, CUkernel handle)
{
	struct dev_function *function;
	struct dev_context *context;
	struct dev_kernel *kernel;

	DEV_TRY(library_find(handle, &kernel));
	DEV_TRY(dev_context_enter(&context));
	if (!ret_function)
		return CUDA_ERROR_INVALID_VALUE;
	function = dev_library_function(handle);
	if (!function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_function = (CUfunction)(void *)function;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *ret_library, CUkernel handle)
{
	struct dev_kernel *kernel;

	DEV_TRY(library_find(handle, &kernel));
	if (!ret_library)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_library = (CUlibrary)(void *)kernel->library;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **ret_name, CUkernel handle)
{
	struct dev_kernel *kernel;

	DEV_TRY(library_find(handle, &kernel));
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_name = kernel->ptx->name;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *ret_offset, size_t *ret_size)
{
	struct dev_kernel *kernel;

	DEV_TRY(library_find(handle, &kernel));
	if (!ret_offset || index >= kernel->ptx->n_params)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_offset = kernel->ptx->params[index]->offset;
	if (ret_size)
		*ret_size = kernel->ptx->params[index]->size;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *ret_value, CUfunction_attribute which, CUkernel handle,
			      CUdevice device)
{
	struct dev_kernel *kernel;
	struct dev_card *card;

	DEV_TRY(library_find(handle, &kernel));
	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_traits_get(kernel->library->program->ptx, kernel->ptx,
			      &kernel->wishes[card->index], which, ret_value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel handle,
			      CUdevice device)
{
	struct dev_kernel *kernel;
	struct dev_card *card;

	DEV_TRY(library_find(handle, &kernel));
	DEV_TRY(dev_driver_card(device, &card));
	return dev_library_wish(kernel, card, which, value);
}

/* A wish about a cache that is not there can be granted. */
CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device)
{
	struct dev_kernel *kernel;
	struct dev_card *card;

	DEV_TRY(library_find(handle, &kernel));
	DEV_TRY(dev_driver_card(device, &card));
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
							     : CUDA_SUCCESS;
}
