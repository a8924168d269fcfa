/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that reach each other's memory. An extent that moves would have to be mapped for every
 * peer each time, and could not leave while a peer's kernel runs, which only the peer's own gate
 * knows. So there is no peer access under Sluice: the calls that ask about it say no, as on
 * machines without it, and the driver copies between devices.
 */
#include "cuda/device.h"
#include "cuda/real.h"

CUresult cuDeviceCanAccessPeer(int *ret_can, CUdevice device, CUdevice peer)
{
	CUresult r = SLU_REAL(cuDeviceCanAccessPeer)(ret_can, device, peer);

	if (r == CUDA_SUCCESS)
		*ret_can = 0;
	return r;
}

CUresult cuDeviceGetP2PAttribute(int *ret_value, CUdevice_P2PAttribute attribute, CUdevice device,
				 CUdevice peer)
{
	CUresult r = SLU_REAL(cuDeviceGetP2PAttribute)(ret_value, attribute, device, peer);

	if (r == CUDA_SUCCESS)
		*ret_value = 0;
	return r;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	if (!slu_cuda_device_here())
		return SLU_REAL(cuCtxEnablePeerAccess)(peer, flags);
	return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}
