/* SPDX-License-Identifier: Apache-2.0 */

/* Texture and surface objects. Texture references of old programs are not there. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/memory/texture.h"

CUresult cuTexObjectCreate(CUtexObject *ret_object, const CUDA_RESOURCE_DESC *resource,
			   const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct dev_context *context;
	struct dev_texture *t;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_object || !resource || !texture)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_texture_new(context, resource, texture, view, &t));
	*ret_object = dev_texture_number(t);
	return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject *ret_object, const CUDA_RESOURCE_DESC *resource)
{
	struct dev_context *context;
	struct dev_texture *t;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_object || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_texture_new(context, resource, NULL, NULL, &t));
	*ret_object = dev_texture_number(t);
	return CUDA_SUCCESS;
}

static CUresult look(unsigned long long number, bool is_surface, const void *ret,
		     struct dev_texture **ret_texture)
{
	DEV_TRY(dev_driver_enter());
	*ret_texture = dev_texture_get(number, is_surface);
	return !*ret_texture || !ret ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject object)
{
	struct dev_texture *t;

	DEV_TRY(look(object, false, &object, &t));
	dev_texture_free(t);
	return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject object)
{
	struct dev_texture *t;

	DEV_TRY(look(object, true, &object, &t));
	dev_texture_free(t);
	return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret, CUtexObject object)
{
	struct dev_texture *t;

	DEV_TRY(look(object, false, ret, &t));
	*ret = t->resource;
	return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *ret, CUtexObject object)
{
	struct dev_texture *t;

	DEV_TRY(look(object, false, ret, &t));
	*ret = t->texture;
	return CUDA_SUCCESS;
}

/* One without a view has none to tell. */
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *ret, CUtexObject object)
{
	struct dev_texture *t;

	DEV_TRY(look(object, false, ret, &t));
	if (!t->has_view)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = t->view;
	return CUDA_SUCCESS;
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret, CUsurfObject object)
{
	struct dev_texture *t;

	DEV_TRY(look(object, true, ret, &t));
	*ret = t->resource;
	return CUDA_SUCCESS;
}
