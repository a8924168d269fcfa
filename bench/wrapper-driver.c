/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver that does nothing, as fast as possible, for one device: what is left of a call's
 * time is the shim's. Enough of it to let the shim settle; everything else is not there.
 */
#include "cuabi/cuda-calls.h"

static char context, stream, event;

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

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream_)
{
	return CUDA_SUCCESS;
}
