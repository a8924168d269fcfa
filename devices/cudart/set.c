/* SPDX-License-Identifier: Apache-2.0 */

/* Filling memory with a byte: a run, rows, or layers of rows. */

#include "cudart/runtime.h"

static cudaError_t set_run(void *to, int value, size_t bytes, bool is_own_stream)
{
	DEV_RT_TRY(dev_rt_enter());
	if (!bytes)
		return cudaSuccess;
	return (cudaError_t)(is_own_stream ? dev_rt_driver.cuMemsetD8_v2_ptds
					   : dev_rt_driver.cuMemsetD8_v2)(
		dev_rt_address(to), (unsigned char)value, bytes);
}

static cudaError_t set_rows(void *to, size_t pitch, int value, size_t width, size_t height,
			    bool is_own_stream)
{
	DEV_RT_TRY(dev_rt_enter());
	if (!width || !height)
		return cudaSuccess;
	if (pitch < width && height > 1)
		return cudaErrorInvalidPitchValue;
	return (cudaError_t)(is_own_stream ? dev_rt_driver.cuMemsetD2D8_v2_ptds
					   : dev_rt_driver.cuMemsetD2D8_v2)(
		dev_rt_address(to), pitch, (unsigned char)value, width, height);
}

static void *set_layer(struct cudaPitchedPtr box, size_t z)
{
	return (char *)box.ptr + z * box.pitch * box.ysize;
}

static cudaError_t set_layers(struct cudaPitchedPtr box, int value, struct cudaExtent extent,
			      bool is_own_stream)
{
	for (size_t z = 0; z < extent.depth; z++)
		DEV_RT_TRY(set_rows(set_layer(box, z), box.pitch, value, extent.width,
				    extent.height, is_own_stream));
	return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
	return dev_rt_end(set_run(to, value, bytes, false));
}

cudaError_t cudaMemset_ptds(void *to, int value, size_t bytes)
{
	return dev_rt_end(set_run(to, value, bytes, true));
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	return dev_rt_end(set_rows(to, pitch, value, width, height, false));
}

cudaError_t cudaMemset2D_ptds(void *to, size_t pitch, int value, size_t width, size_t height)
{
	return dev_rt_end(set_rows(to, pitch, value, width, height, true));
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr box, int value, struct cudaExtent extent)
{
	return dev_rt_end(set_layers(box, value, extent, false));
}

cudaError_t cudaMemset3D_ptds(struct cudaPitchedPtr box, int value, struct cudaExtent extent)
{
	return dev_rt_end(set_layers(box, value, extent, true));
}

static cudaError_t cudaMemsetAsync_on(void *to, int value, size_t bytes, cudaStream_t stream)
{
	DEV_RT_TRY(dev_rt_enter());
	if (!bytes)
		return cudaSuccess;
	return (cudaError_t)dev_rt_driver.cuMemsetD8Async(dev_rt_address(to), (unsigned char)value,
							  bytes, stream);
}

DEV_RT_STREAM_CALL(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
		   (to, value, bytes, stream))

static cudaError_t cudaMemset2DAsync_on(void *to, size_t pitch, int value, size_t width,
					size_t height, cudaStream_t stream)
{
	DEV_RT_TRY(dev_rt_enter());
	if (!width || !height)
		return cudaSuccess;
	if (pitch < width && height > 1)
		return cudaErrorInvalidPitchValue;
	return (cudaError_t)dev_rt_driver.cuMemsetD2D8Async(
		dev_rt_address(to), pitch, (unsigned char)value, width, height, stream);
}

DEV_RT_STREAM_CALL(cudaMemset2DAsync,
		   (void *to, size_t pitch, int value, size_t width, size_t height,
		    cudaStream_t stream),
		   (to, pitch, value, width, height, stream))

static cudaError_t cudaMemset3DAsync_on(struct cudaPitchedPtr box, int value,
					struct cudaExtent extent, cudaStream_t stream)
{
	for (size_t z = 0; z < extent.depth; z++)
		DEV_RT_TRY(cudaMemset2DAsync_on(set_layer(box, z), box.pitch, value, extent.width,
						extent.height, stream));
	return cudaSuccess;
}

DEV_RT_STREAM_CALL(cudaMemset3DAsync,
		   (struct cudaPitchedPtr box, int value, struct cudaExtent extent,
		    cudaStream_t stream),
		   (box, value, extent, stream))
