/* SPDX-License-Identifier: Apache-2.0 */

/* Copies of arrays of one row: bytes from an offset on. */

#include "softgpu/driver/api/entry.h"

static CUresult copy(CUDA_MEMCPY3D c, size_t bytes, CUstream stream, bool blocking)
{
	c.WidthInBytes = bytes;
	c.Height = c.Depth = 1;
	return dev_entry_copy(&c, stream, blocking);
}

#define FROM_ARRAY(array, offset) \
	.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = (array), .srcXInBytes = (offset)
#define TO_ARRAY(array, offset) \
	.dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = (array), .dstXInBytes = (offset)
#define FROM_HOST(p)   .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = (p)
#define TO_HOST(p)     .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = (p)
#define FROM_DEVICE(p) .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = (p)
#define TO_DEVICE(p)   .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = (p)

CUresult cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
			 size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, src_offset), TO_ARRAY(dst, dst_offset) },
		    bytes, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyAtoA_v2_ptds(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
			      size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, src_offset), TO_ARRAY(dst, dst_offset) },
		    bytes, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, offset), TO_DEVICE(dst) }, bytes,
		    CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, offset), TO_DEVICE(dst) }, bytes,
		    CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_DEVICE(src), TO_ARRAY(dst, offset) }, bytes,
		    CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyDtoA_v2_ptds(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_DEVICE(src), TO_ARRAY(dst, offset) }, bytes,
		    CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, offset), TO_HOST(dst) }, bytes,
		    CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyAtoH_v2_ptds(void *dst, CUarray src, size_t offset, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, offset), TO_HOST(dst) }, bytes,
		    CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream)
{
	return copy((CUDA_MEMCPY3D){ FROM_ARRAY(src, offset), TO_HOST(dst) }, bytes, stream, false);
}

CUresult cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_HOST(src), TO_ARRAY(dst, offset) }, bytes,
		    CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyHtoA_v2_ptds(CUarray dst, size_t offset, const void *src, size_t bytes)
{
	return copy((CUDA_MEMCPY3D){ FROM_HOST(src), TO_ARRAY(dst, offset) }, bytes,
		    CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t bytes,
			      CUstream stream)
{
	return copy((CUDA_MEMCPY3D){ FROM_HOST(src), TO_ARRAY(dst, offset) }, bytes, stream, false);
}
