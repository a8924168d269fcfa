/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: memory in the driver's own layout, which only the driver can reach. They do not move;
 * what they take of the device is charged and shown. How much that is the driver does not say, so
 * it is reckoned from the description, without the padding.
 */
#include "base/util.h"
#include "cuda/frozen.h"
#include "cuda/real.h"

/* The two descriptions as the driver's interface defines them. */
struct flat {
	size_t width, height;
	int format;
	unsigned int n_channels;
};

struct solid {
	size_t width, height, depth;
	int format;
	unsigned int n_channels;
	unsigned int flags;
};

/* A channel's bytes. Formats of video and compressed blocks take less than the most given here. */
static uint64_t channel_bytes(int format)
{
	switch (format) {
	case 0x01: /* 8 bits, unsigned and signed */
	case 0x08:
		return 1;
	case 0x02: /* 16 bits */
	case 0x09:
	case 0x10:
		return 2;
	default:
		return 4;
	}
}

static uint64_t bytes_of(const struct solid *s, unsigned level)
{
	return channel_bytes(s->format) * SLU_MAX(s->n_channels, 1u) *
	       SLU_MAX(s->width >> level, (size_t)1) * SLU_MAX(s->height >> level, (size_t)1) *
	       SLU_MAX(s->depth >> level, (size_t)1);
}

static void charge(CUresult r, void *handle, uint64_t bytes)
{
	struct slu_cuda_device *d = r == CUDA_SUCCESS ? slu_cuda_device_here() : NULL;

	if (d)
		slu_cuda_freeze(d, (uint64_t)(uintptr_t)handle, bytes, SLU_FROZEN_IMAGE);
}

CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *description)
{
	CUresult r = SLU_REAL(cuArrayCreate_v2)(ret_array, description);
	const struct flat *f = (const void *)description;

	if (r == CUDA_SUCCESS)
		charge(r, *ret_array,
		       bytes_of(&(struct solid){ .width = f->width,
						 .height = f->height,
						 .format = f->format,
						 .n_channels = f->n_channels },
				0));
	return r;
}

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	CUresult r = SLU_REAL(cuArray3DCreate_v2)(ret_array, description);

	if (r == CUDA_SUCCESS)
		charge(r, *ret_array, bytes_of((const void *)description, 0));
	return r;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_array,
				const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned int n_levels)
{
	CUresult r = SLU_REAL(cuMipmappedArrayCreate)(ret_array, description, n_levels);
	uint64_t bytes = 0;

	/* beyond 32 there is nothing left to halve */
	for (unsigned level = 0; r == CUDA_SUCCESS && level < SLU_MIN(n_levels, 32u); level++)
		bytes += bytes_of((const void *)description, level);
	if (r == CUDA_SUCCESS)
		charge(r, *ret_array, bytes);
	return r;
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult r = SLU_REAL(cuArrayDestroy)(array);

	if (r == CUDA_SUCCESS)
		slu_cuda_thaw((uint64_t)(uintptr_t)array);
	return r;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	CUresult r = SLU_REAL(cuMipmappedArrayDestroy)(array);

	if (r == CUDA_SUCCESS)
		slu_cuda_thaw((uint64_t)(uintptr_t)array);
	return r;
}
