/* SPDX-License-Identifier: Apache-2.0 */

/* Texture and surface objects: the driver's, described in the runtime's words. */

#include <string.h>

#include "cudart/array.h"
#include "cudart/runtime.h"

static cudaError_t to_driver(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *ret)
{
	CUDA_RESOURCE_DESC d = { .resType = r->resType, .flags = r->flags };

	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		d.res.array.hArray = (CUarray)(void *)r->res.array.array;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		d.res.mipmap.hMipmappedArray = (CUmipmappedArray)(void *)r->res.mipmap.mipmap;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		DEV_RT_TRY(dev_rt_format(&r->res.linear.desc, &d.res.linear.format,
					 &d.res.linear.numChannels));
		d.res.linear.devPtr = dev_rt_address(r->res.linear.devPtr);
		d.res.linear.sizeInBytes = r->res.linear.sizeInBytes;
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		DEV_RT_TRY(dev_rt_format(&r->res.pitch2D.desc, &d.res.pitch2D.format,
					 &d.res.pitch2D.numChannels));
		d.res.pitch2D.devPtr = dev_rt_address(r->res.pitch2D.devPtr);
		d.res.pitch2D.width = r->res.pitch2D.width;
		d.res.pitch2D.height = r->res.pitch2D.height;
		d.res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
		break;
	default:
		return cudaErrorInvalidValue;
	}
	*ret = d;
	return cudaSuccess;
}

static void from_driver(const CUDA_RESOURCE_DESC *d, struct cudaResourceDesc *ret)
{
	*ret = (struct cudaResourceDesc){ .resType = d->resType, .flags = d->flags };
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		ret->res.array.array = (cudaArray_t)(void *)d->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		ret->res.mipmap.mipmap =
			(cudaMipmappedArray_t)(void *)d->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		ret->res.linear.devPtr = (void *)(uintptr_t)d->res.linear.devPtr;
		ret->res.linear.desc =
			dev_rt_channels(d->res.linear.format, d->res.linear.numChannels);
		ret->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
		break;
	default:
		ret->res.pitch2D.devPtr = (void *)(uintptr_t)d->res.pitch2D.devPtr;
		ret->res.pitch2D.desc =
			dev_rt_channels(d->res.pitch2D.format, d->res.pitch2D.numChannels);
		ret->res.pitch2D.width = d->res.pitch2D.width;
		ret->res.pitch2D.height = d->res.pitch2D.height;
		ret->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
		break;
	}
}

/* What the runtime's switches are as flags of the driver. */
static const struct {
	size_t offset; /* of an int in struct cudaTextureDesc */
	unsigned flag;
} switches[] = {
	{ offsetof(struct cudaTextureDesc, sRGB), CU_TRSF_SRGB },
	{ offsetof(struct cudaTextureDesc, normalizedCoords), CU_TRSF_NORMALIZED_COORDINATES },
	{ offsetof(struct cudaTextureDesc, disableTrilinearOptimization),
	  CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION },
	{ offsetof(struct cudaTextureDesc, seamlessCubemap), CU_TRSF_SEAMLESS_CUBEMAP },
};

static CUDA_TEXTURE_DESC sampling_of(const struct cudaTextureDesc *t)
{
	CUDA_TEXTURE_DESC d = {
		.filterMode = t->filterMode,
		.flags = t->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0,
		.maxAnisotropy = t->maxAnisotropy,
		.mipmapFilterMode = t->mipmapFilterMode,
		.mipmapLevelBias = t->mipmapLevelBias,
		.minMipmapLevelClamp = t->minMipmapLevelClamp,
		.maxMipmapLevelClamp = t->maxMipmapLevelClamp,
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (*(const int *)((const char *)t + switches[i].offset))
			d.flags |= switches[i].flag;
	for (unsigned i = 0; i < 3; i++)
		d.addressMode[i] = t->addressMode[i];
	memcpy(d.borderColor, t->borderColor, sizeof(d.borderColor));
	return d;
}

static struct cudaTextureDesc sampling_back(const CUDA_TEXTURE_DESC *d)
{
	struct cudaTextureDesc t = {
		.filterMode = d->filterMode,
		.readMode = d->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
							       : cudaReadModeNormalizedFloat,
		.maxAnisotropy = d->maxAnisotropy,
		.mipmapFilterMode = d->mipmapFilterMode,
		.mipmapLevelBias = d->mipmapLevelBias,
		.minMipmapLevelClamp = d->minMipmapLevelClamp,
		.maxMipmapLevelClamp = d->maxMipmapLevelClamp,
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		*(int *)((char *)&t + switches[i].offset) = !!(d->flags & switches[i].flag);
	for (unsigned i = 0; i < 3; i++)
		t.addressMode[i] = d->addressMode[i];
	memcpy(t.borderColor, d->borderColor, sizeof(t.borderColor));
	return t;
}

static cudaError_t texture_new(cudaTextureObject_t *ret_object,
			       const struct cudaResourceDesc *resource,
			       const struct cudaTextureDesc *texture,
			       const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC t;

	if (!resource || !texture)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(to_driver(resource, &r));
	t = sampling_of(texture);
	return DEV_RT_CALL(cuTexObjectCreate, ret_object, &r, &t, view);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *ret_object,
				    const struct cudaResourceDesc *resource,
				    const struct cudaTextureDesc *texture,
				    const struct cudaResourceViewDesc *view)
{
	return dev_rt_end(texture_new(ret_object, resource, texture, view));
}

static cudaError_t surface_new(cudaSurfaceObject_t *ret_object,
			       const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC r;

	if (!resource)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(to_driver(resource, &r));
	return DEV_RT_CALL(cuSurfObjectCreate, ret_object, &r);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *ret_object,
				    const struct cudaResourceDesc *resource)
{
	return dev_rt_end(surface_new(ret_object, resource));
}

/* 0 is no object, and may be destroyed. */
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
	return object ? dev_rt_end(DEV_RT_CALL(cuTexObjectDestroy, object)) : cudaSuccess;
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
	return object ? dev_rt_end(DEV_RT_CALL(cuSurfObjectDestroy, object)) : cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *ret,
					     cudaTextureObject_t object)
{
	CUDA_RESOURCE_DESC d;
	cudaError_t error =
		ret ? DEV_RT_CALL(cuTexObjectGetResourceDesc, &d, object) : cudaErrorInvalidValue;

	if (!error)
		from_driver(&d, ret);
	return dev_rt_end(error);
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *ret, cudaTextureObject_t object)
{
	CUDA_TEXTURE_DESC d;
	cudaError_t error =
		ret ? DEV_RT_CALL(cuTexObjectGetTextureDesc, &d, object) : cudaErrorInvalidValue;

	if (!error)
		*ret = sampling_back(&d);
	return dev_rt_end(error);
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *ret,
						 cudaTextureObject_t object)
{
	return dev_rt_end(DEV_RT_CALL(cuTexObjectGetResourceViewDesc, ret, object));
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *ret,
					     cudaSurfaceObject_t object)
{
	CUDA_RESOURCE_DESC d;
	cudaError_t error =
		ret ? DEV_RT_CALL(cuSurfObjectGetResourceDesc, &d, object) : cudaErrorInvalidValue;

	if (!error)
		from_driver(&d, ret);
	return dev_rt_end(error);
}
