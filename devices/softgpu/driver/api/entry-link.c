/* SPDX-License-Identifier: Apache-2.0 */

/* The linker. */

#include "base/cleanup.h"
#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/images/link.h"

CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values,
			 CUlinkState *ret_link)
{
	struct dev_context *context;
	struct dev_link *link;
	struct dev_jit jit;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_link)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_jit_read(n, options, values, &jit));
	link = dev_link_new(&jit);
	if (!link)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_link = (CUlinkState)(void *)link;
	return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int n, CUjit_option *options, void **values, CUlinkState *ret_link)
{
	return cuLinkCreate_v2(n, options, values, ret_link);
}

/* Options of a single input are a compiler's and mean nothing here. */
CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data, size_t bytes,
			  const char *name, unsigned int n, CUjit_option *options, void **values)
{
	struct dev_link *link;
	CUresult result;

	(void)name;
	DEV_TRY(dev_driver_enter());
	link = dev_link_get(handle);
	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !bytes || link->text || (n && (!options || !values)))
		return CUDA_ERROR_INVALID_VALUE;
	result = dev_link_add(link, type, data, bytes);
	dev_jit_finish(&link->jit);
	return result;
}

CUresult cuLinkAddData(CUlinkState handle, CUjitInputType type, void *data, size_t bytes,
		       const char *name, unsigned int n, CUjit_option *options, void **values)
{
	return cuLinkAddData_v2(handle, type, data, bytes, name, n, options, values);
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char *path, unsigned int n,
			  CUjit_option *options, void **values)
{
	slu_cleanup(slu_freep) char *data = NULL;
	size_t bytes;

	DEV_TRY(dev_driver_enter());
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_read_file(path, &data, &bytes));
	return cuLinkAddData_v2(handle, type, data, bytes, path, n, options, values);
}

CUresult cuLinkAddFile(CUlinkState handle, CUjitInputType type, const char *path, unsigned int n,
		       CUjit_option *options, void **values)
{
	return cuLinkAddFile_v2(handle, type, path, n, options, values);
}

CUresult cuLinkComplete(CUlinkState handle, void **ret_image, size_t *ret_bytes)
{
	struct dev_link *link;
	CUresult result;

	DEV_TRY(dev_driver_enter());
	link = dev_link_get(handle);
	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_image)
		return CUDA_ERROR_INVALID_VALUE;
	result = dev_link_complete(link);
	dev_jit_finish(&link->jit);
	if (result)
		return result;
	*ret_image = link->text;
	if (ret_bytes)
		*ret_bytes = link->bytes + 1; /* the text's end as well */
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle)
{
	struct dev_link *link;

	DEV_TRY(dev_driver_enter());
	link = dev_link_get(handle);
	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	dev_link_free(link);
	return CUDA_SUCCESS;
}
