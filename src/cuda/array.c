/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: memory in the driver's own layout, which only the driver can reach. They do not move;
 * what they take of the device is charged and shown. How much that is the driver does not say, so
 * it is reckoned from the description, without the padding.
 */
#include "base/util.h"
#include "cuda/frozen.h"
#include "cuda/memory.h"
#include "cuda/real.h"
#include "cuda/headroom.h"

/* What a texel takes. Formats of video take less than the most given here. */
static uint64_t texel_bits(int format, unsigned n_channels)
{
	switch (format) {
	case 0x91 ... 0x92: /* blocks of 4 x 4 in 8 bytes: BC1, BC4 */
	case 0x97 ... 0x98:
		return 4;
	case 0x93 ... 0x96: /* in 16 bytes: BC2 and BC3, BC5 to BC7 */
	case 0x99 ... 0x9e:
		return 8;
	case 0x01: /* 8 bits a channel, unsigned and signed; NV12; normalized */
	case 0x08:
	case 0xb0:
	case 0xc0 ... 0xc2:
	case 0xc6 ... 0xc8:
		return 8 * (uint64_t)n_channels;
	case 0x02: /* 16 bits, the same; half */
	case 0x09:
	case 0x10:
	case 0xc3 ... 0xc5:
	case 0xc9 ... 0xcb:
		return 16 * (uint64_t)n_channels;
	default:
		return 32 * (uint64_t)n_channels;
	}
}

/* The program gives these their memory itself, piece by piece (cuMemMapArrayAsync). */
static bool solid_has_no_memory(const CUDA_ARRAY3D_DESCRIPTOR *s)
{
	return s->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING);
}

static uint64_t solid_bytes(const CUDA_ARRAY3D_DESCRIPTOR *s, unsigned level)
{
	uint64_t n_texels;

	if (solid_has_no_memory(s))
		return 0;
	n_texels = SLU_MAX(s->Width >> level, (size_t)1) * SLU_MAX(s->Height >> level, (size_t)1) *
		   SLU_MAX(s->Depth >> level, (size_t)1);
	return n_texels * texel_bits(s->Format, SLU_MAX(s->NumChannels, 1u)) / 8;
}

/* Charges what the driver made, and gives back the rest of what was set aside. */
static void array_charge(struct slu_cuda_device *d, const void *array, uint64_t bytes)
{
	uint64_t reserved = bytes;

	if (array)
		slu_cuda_frozen_add(d, (uint64_t)(uintptr_t)array, bytes, SLU_FROZEN_IMAGE,
				    &reserved);
	slu_client_device_unreserve(d->client, reserved);
}

/* Makes the call if the program may own so much, and again with headroom if the driver refuses. */
#define CREATE(name, bytes, array, ...)                                                 \
	({                                                                              \
		bool is_whole_ = (array) && description;                                \
		struct slu_cuda_device *d_ = is_whole_ ? slu_cuda_device_here() : NULL; \
		uint64_t bytes_ = d_ ? (bytes) : 0;                                     \
		CUresult r_ = CUDA_ERROR_OUT_OF_MEMORY;                                 \
                                                                                        \
		if (!d_) {                                                              \
			r_ = SLU_REAL(name)(__VA_ARGS__);                               \
		} else if (slu_cuda_memory_reserve(d_, bytes_, bytes_)) {               \
			r_ = SLU_REAL(name)(__VA_ARGS__);                               \
			SLU_CUDA_HEADROOM_RETRY (d_, bytes_, r_)                        \
				r_ = SLU_REAL(name)(__VA_ARGS__);                       \
			array_charge(d_, r_ == CUDA_SUCCESS ? *(array) : NULL, bytes_); \
		}                                                                       \
		r_;                                                                     \
	})

static uint64_t flat_bytes(const CUDA_ARRAY_DESCRIPTOR *f)
{
	return solid_bytes(&(CUDA_ARRAY3D_DESCRIPTOR){ .Width = f->Width,
						       .Height = f->Height,
						       .Format = f->Format,
						       .NumChannels = f->NumChannels },
			   0);
}

static uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR *s, unsigned n_levels)
{
	uint64_t bytes = 0;

	/* beyond 32 there is nothing left to halve */
	for (unsigned level = 0; level < SLU_MIN(n_levels, 32u); level++)
		bytes += solid_bytes(s, level);
	return bytes;
}

CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *description)
{
	return CREATE(cuArrayCreate_v2, flat_bytes(description), ret_array, ret_array, description);
}

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	return CREATE(cuArray3DCreate_v2, solid_bytes(description, 0), ret_array, ret_array,
		      description);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_array,
				const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned int n_levels)
{
	return CREATE(cuMipmappedArrayCreate, mipmap_bytes(description, n_levels), ret_array,
		      ret_array, description, n_levels);
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult r = SLU_REAL(cuArrayDestroy)(array);

	if (r == CUDA_SUCCESS)
		slu_cuda_frozen_remove((uint64_t)(uintptr_t)array);
	return r;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	CUresult r = SLU_REAL(cuMipmappedArrayDestroy)(array);

	if (r == CUDA_SUCCESS)
		slu_cuda_frozen_remove((uint64_t)(uintptr_t)array);
	return r;
}
