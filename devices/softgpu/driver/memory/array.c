/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/array.h"

#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/limits.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/pool.h"

#define ROW_ALIGN 32
#define FLAGS_KNOWN                                                                \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | \
	 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT)
/* formats of graphics and video: more than the eight of plain numbers */
#define FORMAT_LAST 0xcb

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_array);
static struct dev_objects mipmaps = DEV_OBJECTS_INIT(struct dev_mipmap);
static LIST_HEAD(, dev_array) arrays; /* guarded by the driver's lock */

CUresult dev_array_set_format(CUarray_format format, unsigned n_channels,
			      struct dev_interp_image *image)
{
	static const struct {
		CUarray_format theirs;
		enum dev_image_format ours;
	} formats[] = {
		{ CU_AD_FORMAT_UNSIGNED_INT8, DEV_IMAGE_U8 },
		{ CU_AD_FORMAT_UNSIGNED_INT16, DEV_IMAGE_U16 },
		{ CU_AD_FORMAT_UNSIGNED_INT32, DEV_IMAGE_U32 },
		{ CU_AD_FORMAT_SIGNED_INT8, DEV_IMAGE_S8 },
		{ CU_AD_FORMAT_SIGNED_INT16, DEV_IMAGE_S16 },
		{ CU_AD_FORMAT_SIGNED_INT32, DEV_IMAGE_S32 },
		{ CU_AD_FORMAT_HALF, DEV_IMAGE_F16 },
		{ CU_AD_FORMAT_FLOAT, DEV_IMAGE_F32 },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(formats); i++)
		if (formats[i].theirs == format) {
			if (n_channels != 1 && n_channels != 2 && n_channels != 4)
				return CUDA_ERROR_INVALID_VALUE;
			image->format = formats[i].ours;
			image->n_channels = (uint8_t)n_channels;
			image->texel_bytes =
				(uint8_t)(n_channels * dev_image_channel_bytes(formats[i].ours));
			return CUDA_SUCCESS;
		}
	return (unsigned)format >= 0x50 && format <= FORMAT_LAST ? CUDA_ERROR_NOT_SUPPORTED
								 : CUDA_ERROR_INVALID_VALUE;
}

/* What an array may be: the rules of cuArray3DCreate(). */
static CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool is_layered = d->Flags & CUDA_ARRAY3D_LAYERED,
	     is_cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
	size_t most = is_layered || is_cube ? DEV_LIMITS_LAYERED_WIDTH
		      : d->Depth	    ? DEV_LIMITS_TEXTURE_3D
					    : DEV_LIMITS_TEXTURE_WIDTH;

	if (d->Flags & ~(unsigned)FLAGS_KNOWN)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!d->Width || d->Width > most ||
	    d->Height > SLU_MIN(most, (size_t)DEV_LIMITS_TEXTURE_HEIGHT))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_cube) {
		if (d->Width != d->Height || !d->Depth || d->Depth % 6 ||
		    (!is_layered && d->Depth != 6) || d->Depth > DEV_LIMITS_CUBE_FACES)
			return CUDA_ERROR_INVALID_VALUE;
	} else if (is_layered) {
		if (!d->Depth || d->Depth > DEV_LIMITS_LAYERS)
			return CUDA_ERROR_INVALID_VALUE;
	} else if (d->Depth && (!d->Height || d->Depth > most)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && (!d->Height || d->Depth))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult describe(const CUDA_ARRAY3D_DESCRIPTOR *d, struct dev_interp_image *ret)
{
	struct dev_interp_image m = {
		.size = { d->Width, SLU_MAX(d->Height, (size_t)1), SLU_MAX(d->Depth, (size_t)1) },
		.is_layered = d->Flags & CUDA_ARRAY3D_LAYERED,
		.is_cube = d->Flags & CUDA_ARRAY3D_CUBEMAP,
	};
	CUresult result;

	result = check_shape(d);
	if (!result)
		result = dev_array_set_format(d->Format, d->NumChannels, &m);
	if (result)
		return result;
	m.n_dims = m.is_layered || m.is_cube ? (d->Height ? 2 : 1)
		   : d->Depth		     ? 3
		   : d->Height		     ? 2
					     : 1;
	m.pitch = slu_round_up(m.size[0] * m.texel_bytes, ROW_ALIGN);
	m.slice = m.pitch * m.size[1];
	*ret = m;
	return CUDA_SUCCESS;
}

static int take_memory(struct dev_context *context, uint64_t bytes, uint64_t *ret_address)
{
	int r;

	dev_context_lock(context);
	r = dev_memory_alloc(context, bytes, ret_address);
	dev_context_unlock(context);
	return r;
}

CUresult dev_array_new(struct dev_context *context, const CUDA_ARRAY3D_DESCRIPTOR *description,
		       struct dev_array **ret_array)
{
	struct dev_interp_image image;
	struct dev_array *array;
	CUresult result;
	uint64_t bytes;
	int r;

	result = describe(description, &image);
	if (result)
		return result;
	bytes = image.slice * image.size[2];
	if (dev_fault_refuses(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = take_memory(context, bytes, &image.address);
	if (r == DEV_CARD_E_FULL && dev_pool_trim_card(context->card))
		r = take_memory(context, bytes, &image.address);
	if (r)
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	array = dev_object_new(&objects);
	if (!array) {
		dev_memory_free(image.address);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	array->context = context;
	array->description = *description;
	array->image = image;
	dev_driver_lock();
	LIST_INSERT_HEAD(&arrays, array, link);
	dev_driver_unlock();
	*ret_array = array;
	return CUDA_SUCCESS;
}

void dev_array_free(struct dev_array *array)
{
	dev_memory_free(array->image.address);
	dev_driver_lock();
	LIST_REMOVE(array, link);
	dev_driver_unlock();
	dev_object_free(&objects, array);
}

struct dev_array *dev_array_get(CUarray handle)
{
	return dev_object_get(&objects, handle);
}

CUresult dev_array_new_mipmap(struct dev_context *context,
			      const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned n_levels,
			      struct dev_mipmap **ret_mipmap)
{
	bool is_flat = description->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	size_t largest = SLU_MAX(description->Width, description->Height);
	struct dev_mipmap *mipmap;
	CUresult result;

	if (!is_flat)
		largest = SLU_MAX(largest, description->Depth);
	/* as many as can be halved */
	if (n_levels > 1 && largest > 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	mipmap = dev_object_new(&mipmaps);
	if (!mipmap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = dev_array_new(context, description, &mipmap->level);
	if (result) {
		dev_object_free(&mipmaps, mipmap);
		return result;
	}
	mipmap->level->mipmap = mipmap;
	*ret_mipmap = mipmap;
	return CUDA_SUCCESS;
}

void dev_array_free_mipmap(struct dev_mipmap *mipmap)
{
	dev_array_free(mipmap->level);
	dev_object_free(&mipmaps, mipmap);
}

struct dev_mipmap *dev_array_get_mipmap(CUmipmappedArray handle)
{
	return dev_object_get(&mipmaps, handle);
}

void dev_array_drop_context(struct dev_context *context)
{
	struct dev_array *array, *next;

	dev_driver_lock();
	for (array = LIST_FIRST(&arrays); array; array = next) {
		next = LIST_NEXT(array, link);
		if (array->context != context)
			continue;
		LIST_REMOVE(array, link);
		if (array->mipmap)
			dev_object_free(&mipmaps, array->mipmap);
		dev_object_free(&objects, array);
	}
	dev_driver_unlock();
}
