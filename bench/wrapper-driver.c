/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver that does nothing, as fast as possible, for one device: what is left of a call's
 * time is the shim's. Enough of it to let the shim start; everything else is not there.
 */
#include "cuabi/cuda-calls.h"

static char context, stream, event, pool;

CUresult cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *ret_n)
{
	*ret_n = 1;
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice ordinal)
{
	*ret_bytes = (size_t)1 << 30;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
	*ret_context = (CUcontext)(void *)&context;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext unused)
{
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *ret_ordinal)
{
	*ret_ordinal = 0;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *ret_bytes, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	*ret_bytes = 2 << 20;
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned int flags)
{
	return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *host)
{
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
	*ret_stream = (CUstream)(void *)&stream;
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	*ret_event = (CUevent)(void *)&event;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent unused, CUstream stream_)
{
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent unused)
{
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int x, unsigned int y, unsigned int z,
			unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			CUstream stream_, void **params, void **extra)
{
	return CUDA_SUCCESS;
}

/* -- for pools -- */

CUresult cuStreamGetCtx(CUstream stream_, CUcontext *ret_context)
{
	return cuCtxGetCurrent(ret_context);
}

CUresult cuStreamQuery(CUstream stream_)
{
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice ordinal)
{
	*ret_pool = (CUmemoryPool)(void *)&pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice ordinal)
{
	return cuDeviceGetMemPool(ret_pool, ordinal);
}

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t alignment,
			     CUdeviceptr hint, unsigned long long flags)
{
	static CUdeviceptr next = (CUdeviceptr)1 << 40;

	*ret_address = next;
	next += bytes;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	/* there is no memory of the host behind it */
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	*ret_handle = 1;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t n)
{
	return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream stream_)
{
	*ret_address = 0x1000;
	return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream_)
{
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream_)
{
	return CUDA_SUCCESS;
}
