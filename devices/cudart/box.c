/* SPDX-License-Identifier: Apache-2.0 */

/* Copies with rows and layers. */

#include "cudart/box.h"

#include "cudart/array.h"
#include "cudart/runtime.h"

static void set_types(enum cudaMemcpyKind kind, CUmemorytype *ret_from, CUmemorytype *ret_to)
{
	/* pinned and managed memory may stand on either side: only plain kinds are believed */
	*ret_from = *ret_to = CU_MEMORYTYPE_UNIFIED;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		*ret_from = CU_MEMORYTYPE_HOST;
		break;
	case cudaMemcpyDeviceToHost:
		*ret_to = CU_MEMORYTYPE_HOST;
		break;
	case cudaMemcpyHostToHost:
		*ret_from = *ret_to = CU_MEMORYTYPE_HOST;
		break;
	default:
		break;
	}
}

cudaError_t dev_rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret_box)
{
	CUDA_MEMCPY3D box;

	size_t unit = 1, width;

	if (!p)
		return cudaErrorInvalidValue;
	if (!p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
		return cudaErrorInvalidValue;
	/* where an array takes part, its elements are counted, and bytes of memory */
	if (p->srcArray || p->dstArray)
		DEV_RT_TRY(dev_rt_texel_bytes(p->srcArray ? p->srcArray : p->dstArray, &unit));
	if (__builtin_mul_overflow(p->extent.width, unit, &width))
		return cudaErrorInvalidValue;
	if ((unsigned)p->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if ((p->extent.height > 1 || p->extent.depth > 1) &&
	    ((!p->srcArray && p->srcPtr.pitch < width) ||
	     (!p->dstArray && p->dstPtr.pitch < width)))
		return cudaErrorInvalidPitchValue;
	box = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x * (p->srcArray ? unit : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcArray = (CUarray)(void *)p->srcArray,
		.srcHost = p->srcPtr.ptr,
		.srcDevice = dev_rt_address(p->srcPtr.ptr),
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? unit : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstArray = (CUarray)(void *)p->dstArray,
		.dstHost = p->dstPtr.ptr,
		.dstDevice = dev_rt_address(p->dstPtr.ptr),
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = width,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	set_types(p->kind, &box.srcMemoryType, &box.dstMemoryType);
	if (p->srcArray)
		box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	if (p->dstArray)
		box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	*ret_box = box;
	return cudaSuccess;
}

void dev_rt_unbox(const CUDA_MEMCPY3D *box, struct cudaMemcpy3DParms *ret_params)
{
	bool from_host = box->srcMemoryType == CU_MEMORYTYPE_HOST;
	bool to_host = box->dstMemoryType == CU_MEMORYTYPE_HOST;

	*ret_params = (struct cudaMemcpy3DParms){
		.srcPos = { box->srcXInBytes, box->srcY, box->srcZ },
		.srcPtr = { from_host ? (void *)(uintptr_t)box->srcHost
				      : (void *)(uintptr_t)box->srcDevice,
			    box->srcPitch, box->WidthInBytes, box->srcHeight },
		.dstPos = { box->dstXInBytes, box->dstY, box->dstZ },
		.dstPtr = { to_host ? box->dstHost : (void *)(uintptr_t)box->dstDevice,
			    box->dstPitch, box->WidthInBytes, box->dstHeight },
		.extent = { box->WidthInBytes, box->Height, box->Depth },
		.kind = from_host && to_host ? cudaMemcpyHostToHost
			: from_host	     ? cudaMemcpyHostToDevice
			: to_host	     ? cudaMemcpyDeviceToHost
					     : cudaMemcpyDefault,
	};
}

cudaError_t dev_rt_box_run(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			   CUDA_MEMCPY3D *ret_box)
{
	struct cudaMemcpy3DParms params = {
		.srcPtr = { (void *)(uintptr_t)from, bytes, bytes, 1 },
		.dstPtr = { to, bytes, bytes, 1 },
		.extent = { bytes, 1, 1 },
		.kind = kind,
	};

	return dev_rt_box(&params, ret_box);
}

static cudaError_t box_copy(const struct cudaMemcpy3DParms *params, bool is_own_stream)
{
	CUDA_MEMCPY3D box;

	DEV_RT_TRY(dev_rt_box(params, &box));
	DEV_RT_TRY(dev_rt_enter());
	if (!box.WidthInBytes || !box.Height || !box.Depth)
		return cudaSuccess;
	return (cudaError_t)(is_own_stream ? dev_rt_driver.cuMemcpy3D_v2_ptds
					   : dev_rt_driver.cuMemcpy3D_v2)(&box);
}

static cudaError_t cudaMemcpy3DAsync_on(const struct cudaMemcpy3DParms *params, cudaStream_t stream)
{
	CUDA_MEMCPY3D box;

	DEV_RT_TRY(dev_rt_box(params, &box));
	DEV_RT_TRY(dev_rt_enter());
	if (!box.WidthInBytes || !box.Height || !box.Depth)
		return cudaSuccess;
	return (cudaError_t)dev_rt_driver.cuMemcpy3DAsync_v2(&box, stream);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *params)
{
	return dev_rt_end(box_copy(params, false));
}

cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *params)
{
	return dev_rt_end(box_copy(params, true));
}

DEV_RT_STREAM_CALL(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *params, cudaStream_t stream),
		   (params, stream))

static struct cudaMemcpy3DParms box_rows(void *to, size_t to_pitch, const void *from,
					 size_t from_pitch, size_t width, size_t height,
					 enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = { (void *)(uintptr_t)from, from_pitch, width, height },
		.dstPtr = { to, to_pitch, width, height },
		.extent = { width, height, 1 },
		.kind = kind,
	};
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			 size_t width, size_t height, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = box_rows(to, to_pitch, from, from_pitch, width, height, kind);

	return dev_rt_end(box_copy(&p, false));
}

cudaError_t cudaMemcpy2D_ptds(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = box_rows(to, to_pitch, from, from_pitch, width, height, kind);

	return dev_rt_end(box_copy(&p, true));
}

static cudaError_t cudaMemcpy2DAsync_on(void *to, size_t to_pitch, const void *from,
					size_t from_pitch, size_t width, size_t height,
					enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct cudaMemcpy3DParms p = box_rows(to, to_pitch, from, from_pitch, width, height, kind);

	return cudaMemcpy3DAsync_on(&p, stream);
}

DEV_RT_STREAM_CALL(cudaMemcpy2DAsync,
		   (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		    size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
		   (to, to_pitch, from, from_pitch, width, height, kind, stream))

/* -- Between devices */

static cudaError_t peer_box(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *ret_box)
{
	struct cudaMemcpy3DParms plain;
	CUDA_MEMCPY3D box;

	if (!p)
		return cudaErrorInvalidValue;
	plain = (struct cudaMemcpy3DParms){
		.srcArray = p->srcArray,
		.srcPos = p->srcPos,
		.srcPtr = p->srcPtr,
		.dstArray = p->dstArray,
		.dstPos = p->dstPos,
		.dstPtr = p->dstPtr,
		.extent = p->extent,
		.kind = cudaMemcpyDefault,
	};
	DEV_RT_TRY(dev_rt_box(&plain, &box));
	*ret_box = (CUDA_MEMCPY3D_PEER){
		.srcXInBytes = box.srcXInBytes,
		.srcY = box.srcY,
		.srcZ = box.srcZ,
		.srcMemoryType = box.srcMemoryType,
		.srcDevice = box.srcDevice,
		.srcArray = box.srcArray,
		.srcPitch = box.srcPitch,
		.srcHeight = box.srcHeight,
		.dstXInBytes = box.dstXInBytes,
		.dstY = box.dstY,
		.dstZ = box.dstZ,
		.dstMemoryType = box.dstMemoryType,
		.dstDevice = box.dstDevice,
		.dstArray = box.dstArray,
		.dstPitch = box.dstPitch,
		.dstHeight = box.dstHeight,
		.WidthInBytes = box.WidthInBytes,
		.Height = box.Height,
		.Depth = box.Depth,
	};
	DEV_RT_TRY(dev_rt_primary(p->srcDevice, &ret_box->srcContext));
	return dev_rt_primary(p->dstDevice, &ret_box->dstContext);
}

static cudaError_t copy_peer(const struct cudaMemcpy3DPeerParms *params, bool is_own_stream)
{
	CUDA_MEMCPY3D_PEER box;

	DEV_RT_TRY(peer_box(params, &box));
	DEV_RT_TRY(dev_rt_enter());
	return (cudaError_t)(is_own_stream ? dev_rt_driver.cuMemcpy3DPeer_ptds
					   : dev_rt_driver.cuMemcpy3DPeer)(&box);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *params)
{
	return dev_rt_end(copy_peer(params, false));
}

cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *params)
{
	return dev_rt_end(copy_peer(params, true));
}

static cudaError_t cudaMemcpy3DPeerAsync_on(const struct cudaMemcpy3DPeerParms *params,
					    cudaStream_t stream)
{
	CUDA_MEMCPY3D_PEER box;

	DEV_RT_TRY(peer_box(params, &box));
	return DEV_RT_CALL(cuMemcpy3DPeerAsync, &box, stream);
}

DEV_RT_STREAM_CALL(cudaMemcpy3DPeerAsync,
		   (const struct cudaMemcpy3DPeerParms *params, cudaStream_t stream),
		   (params, stream))
