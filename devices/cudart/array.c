/* SPDX-License-Identifier: Apache-2.0 */

/* Arrays: made, described, freed. */

#include "cudart/array.h"

#include "cudart/runtime.h"

static const struct {
	enum cudaChannelFormatKind kind;
	int bits;
	CUarray_format format;
} formats[] = {
	{ cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8 },
	{ cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16 },
	{ cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32 },
	{ cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8 },
	{ cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16 },
	{ cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32 },
	{ cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF },
	{ cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT },
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

cudaError_t dev_rt_format(const struct cudaChannelFormatDesc *c, CUarray_format *ret_format,
			  unsigned *ret_n_channels)
{
	const int bits[] = { c->x, c->y, c->z, c->w };
	unsigned n = 0;

	while (n < 4 && bits[n])
		n++;
	/* three are none, and all have the same bits */
	if (n != 1 && n != 2 && n != 4)
		return cudaErrorInvalidChannelDescriptor;
	for (unsigned i = 0; i < 4; i++)
		if (bits[i] != (i < n ? c->x : 0))
			return cudaErrorInvalidChannelDescriptor;
	for (size_t i = 0; i < N_FORMATS; i++)
		if (formats[i].kind == c->f && formats[i].bits == c->x) {
			*ret_format = formats[i].format;
			*ret_n_channels = n;
			return cudaSuccess;
		}
	return cudaErrorInvalidChannelDescriptor;
}

struct cudaChannelFormatDesc dev_rt_channels(CUarray_format format, unsigned n)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (formats[i].format == format) {
			int bits = formats[i].bits;

			return (struct cudaChannelFormatDesc){ bits, n > 1 ? bits : 0,
							       n > 2 ? bits : 0, n > 3 ? bits : 0,
							       formats[i].kind };
		}
	return (struct cudaChannelFormatDesc){ .f = cudaChannelFormatKindNone };
}

static cudaError_t look(cudaArray_t array, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	if (!array)
		return cudaErrorInvalidValue;
	return DEV_RT_CALL(cuArray3DGetDescriptor_v2, ret, (CUarray)(void *)array);
}

cudaError_t dev_rt_texel_bytes(cudaArray_t array, size_t *ret_bytes)
{
	struct cudaChannelFormatDesc c;
	CUDA_ARRAY3D_DESCRIPTOR d;

	DEV_RT_TRY(look(array, &d));
	c = dev_rt_channels(d.Format, d.NumChannels);
	if (!c.x)
		return cudaErrorInvalidChannelDescriptor;
	*ret_bytes = (size_t)(c.x + c.y + c.z + c.w) / 8;
	return cudaSuccess;
}

static cudaError_t describe(const struct cudaChannelFormatDesc *channels, struct cudaExtent extent,
			    unsigned flags, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	if (!channels)
		return cudaErrorInvalidValue;
	*ret = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = extent.width,
					  .Height = extent.height,
					  .Depth = extent.depth,
					  .Flags = flags };
	return dev_rt_format(channels, &ret->Format, &ret->NumChannels);
}

static cudaError_t array_new(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *channels,
			     struct cudaExtent extent, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	DEV_RT_TRY(describe(channels, extent, flags, &d));
	return DEV_RT_CALL(cuArray3DCreate_v2, (CUarray *)(void *)ret_array, &d);
}

cudaError_t cudaMallocArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *channels,
			    size_t width, size_t height, unsigned flags)
{
	return dev_rt_end(
		array_new(ret_array, channels, (struct cudaExtent){ width, height, 0 }, flags));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *channels,
			      struct cudaExtent extent, unsigned flags)
{
	return dev_rt_end(array_new(ret_array, channels, extent, flags));
}

static cudaError_t mipmap_new(cudaMipmappedArray_t *ret_array,
			      const struct cudaChannelFormatDesc *channels,
			      struct cudaExtent extent, unsigned n_levels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	DEV_RT_TRY(describe(channels, extent, flags, &d));
	return DEV_RT_CALL(cuMipmappedArrayCreate, (CUmipmappedArray *)(void *)ret_array, &d,
			   n_levels);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *ret_array,
				     const struct cudaChannelFormatDesc *channels,
				     struct cudaExtent extent, unsigned n_levels, unsigned flags)
{
	return dev_rt_end(mipmap_new(ret_array, channels, extent, n_levels, flags));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	return array ? dev_rt_end(DEV_RT_CALL(cuArrayDestroy, (CUarray)(void *)array))
		     : cudaSuccess;
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
	return array ? dev_rt_end(DEV_RT_CALL(cuMipmappedArrayDestroy,
					      (CUmipmappedArray)(void *)array))
		     : cudaSuccess;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *ret_array, cudaMipmappedArray_const_t array,
				       unsigned level)
{
	return dev_rt_end(DEV_RT_CALL(cuMipmappedArrayGetLevel, (CUarray *)(void *)ret_array,
				      (CUmipmappedArray)(uintptr_t)array, level));
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *ret_channels,
			     struct cudaExtent *ret_extent, unsigned *ret_flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = look(array, &d);

	if (error)
		return dev_rt_end(error);
	if (ret_channels)
		*ret_channels = dev_rt_channels(d.Format, d.NumChannels);
	if (ret_extent)
		*ret_extent = (struct cudaExtent){ d.Width, d.Height, d.Depth };
	if (ret_flags)
		*ret_flags = d.Flags;
	return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *ret_channels, cudaArray_const_t array)
{
	if (!ret_channels)
		return dev_rt_end(cudaErrorInvalidValue);
	return cudaArrayGetInfo(ret_channels, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

static cudaError_t linear_width(size_t *ret_texels, const struct cudaChannelFormatDesc *channels,
				int device)
{
	CUarray_format format;
	unsigned n_channels;

	if (!channels)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(dev_rt_format(channels, &format, &n_channels));
	DEV_RT_TRY(dev_rt_start());
	return (cudaError_t)dev_rt_driver.cuDeviceGetTexture1DLinearMaxWidth(ret_texels, format,
									     n_channels, device);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *ret_texels,
						 const struct cudaChannelFormatDesc *channels,
						 int device)
{
	return dev_rt_end(linear_width(ret_texels, channels, device));
}
