/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/texture.h"

#include <string.h>

#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/limits.h"
#include "softgpu/driver/memory/array.h"
#include "softgpu/driver/memory/memory.h"

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_texture);
static LIST_HEAD(, dev_texture) textures; /* guarded by the driver's lock */

/* Plain memory behind a texture must be the card's to read when the texture is made. */
static bool is_readable(struct dev_context *context, uint64_t address, uint64_t bytes)
{
	bool is_pageable = false;

	return address && bytes && bytes <= UINT64_MAX - address &&
	       dev_memory_is_usable(context->card, address, bytes, DEV_WINDOW_READ, &is_pageable) &&
	       !is_pageable;
}

static CUresult image_of_linear(struct dev_context *context, const CUDA_RESOURCE_DESC *r,
				struct dev_interp_image *m)
{
	uint64_t address = r->res.linear.devPtr, bytes = r->res.linear.sizeInBytes;
	CUresult result;

	result = dev_array_set_format(r->res.linear.format, r->res.linear.numChannels, m);
	if (result)
		return result;
	m->size[0] = bytes / m->texel_bytes;
	if (address % DEV_LIMITS_TEXTURE_ALIGN || !m->size[0] ||
	    m->size[0] > DEV_LIMITS_LINEAR_TEXELS || !is_readable(context, address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	m->address = address;
	m->size[1] = m->size[2] = 1;
	m->n_dims = 1;
	m->is_linear = true;
	return CUDA_SUCCESS;
}

static CUresult image_of_pitch(struct dev_context *context, const CUDA_RESOURCE_DESC *r,
			       struct dev_interp_image *m)
{
	uint64_t address = r->res.pitch2D.devPtr, pitch = r->res.pitch2D.pitchInBytes;
	CUresult result;

	result = dev_array_set_format(r->res.pitch2D.format, r->res.pitch2D.numChannels, m);
	if (result)
		return result;
	m->size[0] = r->res.pitch2D.width;
	m->size[1] = r->res.pitch2D.height;
	m->size[2] = 1;
	if (address % DEV_LIMITS_TEXTURE_ALIGN || pitch % DEV_LIMITS_PITCH_ALIGN || !m->size[0] ||
	    !m->size[1] || m->size[0] > DEV_LIMITS_TEXTURE_WIDTH ||
	    m->size[1] > DEV_LIMITS_TEXTURE_HEIGHT || pitch > DEV_LIMITS_LINEAR_PITCH ||
	    pitch < m->size[0] * m->texel_bytes ||
	    !is_readable(context, address, pitch * (m->size[1] - 1) + m->size[0] * m->texel_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	m->address = address;
	m->pitch = pitch;
	m->slice = pitch * m->size[1];
	m->n_dims = 2;
	return CUDA_SUCCESS;
}

static CUresult image_of(struct dev_context *context, const CUDA_RESOURCE_DESC *r, bool is_surface,
			 struct dev_interp_image *ret)
{
	const struct dev_mipmap *mipmap;
	const struct dev_array *array;

	if (r->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		array = dev_array_get(r->res.array.hArray);
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		mipmap = is_surface ? NULL : dev_array_get_mipmap(r->res.mipmap.hMipmappedArray);
		array = mipmap ? mipmap->level : NULL;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		return is_surface ? CUDA_ERROR_INVALID_VALUE : image_of_linear(context, r, ret);
	case CU_RESOURCE_TYPE_PITCH2D:
		return is_surface ? CUDA_ERROR_INVALID_VALUE : image_of_pitch(context, r, ret);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!array || array->context->card != context->card ||
	    (is_surface && !(array->description.Flags & CUDA_ARRAY3D_SURFACE_LDST)))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = array->image;
	return CUDA_SUCCESS;
}

/* How the texels are to be read. */
static CUresult sample_by(const CUDA_TEXTURE_DESC *t, struct dev_interp_image *m)
{
	bool is_wide = m->format == DEV_IMAGE_U32 || m->format == DEV_IMAGE_S32;

	if (t->flags & (CU_TRSF_SRGB | CU_TRSF_SEAMLESS_CUBEMAP) || t->maxAnisotropy > 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (t->flags & ~(unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
				   CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) ||
	    (unsigned)t->filterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	m->is_float = m->format == DEV_IMAGE_F16 || m->format == DEV_IMAGE_F32 ||
		      (!is_wide && !(t->flags & CU_TRSF_READ_AS_INTEGER));
	m->is_normalized = m->is_cube || t->flags & CU_TRSF_NORMALIZED_COORDINATES;
	/* plain memory has neither filter nor edges */
	if (m->is_linear)
		return CUDA_SUCCESS;
	m->is_filtered = t->filterMode == CU_TR_FILTER_MODE_LINEAR;
	if (m->is_filtered && !m->is_float)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned k = 0; k < 3; k++) {
		if ((unsigned)t->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		m->edges[k] = (uint8_t)t->addressMode[k];
		/* these two are for coordinates from 0 to 1; others are clamped instead */
		if (!m->is_normalized &&
		    (m->edges[k] == DEV_IMAGE_WRAP || m->edges[k] == DEV_IMAGE_MIRROR))
			m->edges[k] = DEV_IMAGE_CLAMP;
	}
	memcpy(m->border, t->borderColor, sizeof(m->border));
	return CUDA_SUCCESS;
}

/* A view that shows the whole array as it is; any other is not supported. */
static bool view_is_plain(const CUDA_RESOURCE_VIEW_DESC *view, const CUDA_RESOURCE_DESC *resource)
{
	const struct dev_array *array;

	if (resource->resType != CU_RESOURCE_TYPE_ARRAY &&
	    resource->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return false;
	array = resource->resType == CU_RESOURCE_TYPE_ARRAY
			? dev_array_get(resource->res.array.hArray)
			: dev_array_get_mipmap(resource->res.mipmap.hMipmappedArray)->level;
	return view->format == CU_RES_VIEW_FORMAT_NONE && view->width == array->description.Width &&
	       view->height == array->description.Height &&
	       view->depth == array->description.Depth && !view->firstMipmapLevel &&
	       !view->lastMipmapLevel && !view->firstLayer && !view->lastLayer;
}

CUresult dev_texture_new(struct dev_context *context, const CUDA_RESOURCE_DESC *resource,
			 const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
			 struct dev_texture **ret_texture)
{
	struct dev_interp_image image = { 0 };
	struct dev_texture *t;
	CUresult result;

	result = image_of(context, resource, !texture, &image);
	if (!result && texture)
		result = sample_by(texture, &image);
	if (!result && view && !view_is_plain(view, resource))
		result = CUDA_ERROR_NOT_SUPPORTED;
	if (result)
		return result;
	t = dev_object_new(&objects);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->context = context;
	t->is_surface = !texture;
	t->resource = *resource;
	if (texture)
		t->texture = *texture;
	t->has_view = view;
	if (view)
		t->view = *view;
	t->image = image;
	dev_driver_lock();
	LIST_INSERT_HEAD(&textures, t, link);
	dev_driver_unlock();
	*ret_texture = t;
	return CUDA_SUCCESS;
}

void dev_texture_free(struct dev_texture *texture)
{
	dev_driver_lock();
	LIST_REMOVE(texture, link);
	dev_driver_unlock();
	dev_object_free(&objects, texture);
}

void dev_texture_drop_context(struct dev_context *context)
{
	struct dev_texture *t, *next;

	dev_driver_lock();
	for (t = LIST_FIRST(&textures); t; t = next) {
		next = LIST_NEXT(t, link);
		if (t->context != context)
			continue;
		LIST_REMOVE(t, link);
		dev_object_free(&objects, t);
	}
	dev_driver_unlock();
}

struct dev_texture *dev_texture_get(unsigned long long number, bool is_surface)
{
	struct dev_texture *t = dev_object_get(&objects, (void *)(uintptr_t)number);

	return t && t->is_surface == is_surface ? t : NULL;
}

unsigned long long dev_texture_number(const struct dev_texture *texture)
{
	return (uintptr_t)texture;
}

const struct dev_interp_image *dev_texture_image(const struct dev_context *context, uint64_t number,
						 bool is_surface)
{
	const struct dev_texture *t = dev_object_find(&objects, (void *)(uintptr_t)number);

	return t && t->context == context && t->is_surface == is_surface ? &t->image : NULL;
}
