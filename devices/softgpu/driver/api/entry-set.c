/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sets: every form is a rectangle of elements. Also the forms without a stream only queue, unless
 * the host sees the memory: then they return when it is set, as the genuine driver's do.
 */

#include "softgpu/driver/api/entry.h"

static CUresult set_run(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned size, size_t width,
			size_t height, CUstream stream, bool blocking)
{
	struct dev_command *command;

	DEV_TRY(dev_driver_enter());
	if (dst % size || width > SIZE_MAX / size ||
	    (height > 1 && (pitch % size || pitch < width * size)))
		return CUDA_ERROR_INVALID_VALUE;
	if (!width || !height)
		return CUDA_SUCCESS;
	command = dev_command_new(DEV_COMMAND_SET);
	if (command)
		command->set = (struct dev_command_set){ .dst = dst,
							 .pitch = pitch,
							 .width = width,
							 .height = height,
							 .value = value,
							 .size = size };
	return dev_entry_submit(stream, command, blocking && dev_entry_host_sees(dst));
}

#define SET(bits, type)                                                                            \
	CUresult cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t n)                       \
	{                                                                                          \
		return set_run(dst, 0, value, bits / 8, n, 1, CU_STREAM_LEGACY, true);             \
	}                                                                                          \
	CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr dst, type value, size_t n)                  \
	{                                                                                          \
		return set_run(dst, 0, value, bits / 8, n, 1, CU_STREAM_PER_THREAD, true);         \
	}                                                                                          \
	CUresult cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t n, CUstream stream)    \
	{                                                                                          \
		return set_run(dst, 0, value, bits / 8, n, 1, stream, false);                      \
	}                                                                                          \
	CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t width,   \
					size_t height)                                             \
	{                                                                                          \
		return set_run(dst, pitch, value, bits / 8, width, height, CU_STREAM_LEGACY,       \
			       true);                                                              \
	}                                                                                          \
	CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr dst, size_t pitch, type value,            \
					     size_t width, size_t height)                          \
	{                                                                                          \
		return set_run(dst, pitch, value, bits / 8, width, height, CU_STREAM_PER_THREAD,   \
			       true);                                                              \
	}                                                                                          \
	CUresult cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t width, \
					  size_t height, CUstream stream)                          \
	{                                                                                          \
		return set_run(dst, pitch, value, bits / 8, width, height, stream, false);         \
	}

SET(8, unsigned char)
SET(16, unsigned short)
SET(32, unsigned int)
