/* SPDX-License-Identifier: Apache-2.0 */

/* Arrays: made, described, destroyed. Copies of them are in entry-copy.c and entry-copy-array.c. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/limits.h"
#include "softgpu/driver/memory/array.h"

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	struct dev_context *context;
	struct dev_array *array;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_array || !description)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_array_new(context, description, &array));
	*ret_array = (CUarray)(void *)array;
	return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *description)
{
	DEV_TRY(dev_driver_enter());
	if (!description)
		return CUDA_ERROR_INVALID_VALUE;
	return cuArray3DCreate_v2(
		ret_array, &(CUDA_ARRAY3D_DESCRIPTOR){ .Width = description->Width,
						       .Height = description->Height,
						       .Format = description->Format,
						       .NumChannels = description->NumChannels });
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray handle)
{
	struct dev_array *array;

	DEV_TRY(dev_driver_enter());
	array = dev_array_get(handle);
	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = array->description;
	return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret, CUarray handle)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	DEV_TRY(cuArray3DGetDescriptor_v2(&d, handle));
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUDA_ARRAY_DESCRIPTOR){ .Width = d.Width,
					.Height = d.Height,
					.Format = d.Format,
					.NumChannels = d.NumChannels };
	return CUDA_SUCCESS;
}

/* Waits for the work of its context, as cuMemFree() does. */
CUresult cuArrayDestroy(CUarray handle)
{
	struct dev_context *context;
	struct dev_array *array;

	DEV_TRY(dev_driver_enter());
	array = dev_array_get(handle);
	if (!array || array->mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(dev_capture_unsafe());
	context = array->context;
	dev_context_lock(context);
	dev_stream_drain(context);
	dev_array_free(array);
	dev_context_unlock(context);
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_array,
				const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned int n_levels)
{
	struct dev_context *context;
	struct dev_mipmap *mipmap;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_array || !description || !n_levels)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_array_new_mipmap(context, description, n_levels, &mipmap));
	*ret_array = (CUmipmappedArray)(void *)mipmap;
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray *ret_array, CUmipmappedArray handle, unsigned int level)
{
	struct dev_mipmap *mipmap;

	DEV_TRY(dev_driver_enter());
	mipmap = dev_array_get_mipmap(handle);
	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_array || level)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_array = (CUarray)(void *)mipmap->level;
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	struct dev_context *context;
	struct dev_mipmap *mipmap;

	DEV_TRY(dev_driver_enter());
	mipmap = dev_array_get_mipmap(handle);
	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(dev_capture_unsafe());
	context = mipmap->level->context;
	dev_context_lock(context);
	dev_stream_drain(context);
	dev_array_free_mipmap(mipmap);
	dev_context_unlock(context);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *ret_texels, CUarray_format format,
					    unsigned int n_channels, CUdevice device)
{
	struct dev_interp_image image;
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_texels)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_array_set_format(format, n_channels, &image));
	*ret_texels = DEV_LIMITS_LINEAR_TEXELS;
	return CUDA_SUCCESS;
}
