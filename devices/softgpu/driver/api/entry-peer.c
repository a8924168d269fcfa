/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Peers: a context lets the kernels of its card reach what another context, on another card, has
 * allocated. Copies between cards need no permission.
 */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/memory/memory.h"

static CUresult find_pair(CUcontext handle, struct dev_context **ret_context,
			  struct dev_context **ret_peer)
{
	DEV_TRY(dev_context_enter(ret_context));
	*ret_peer = dev_context_get(handle);
	if (!*ret_peer || *ret_peer == *ret_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return (*ret_peer)->card == (*ret_context)->card ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
	struct dev_context *context, *peer;

	DEV_TRY(find_pair(handle, &context, &peer));
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_memory_set_peer(peer, context->card, true)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext handle)
{
	struct dev_context *context, *peer;

	DEV_TRY(find_pair(handle, &context, &peer));
	/* kernels that still use it must have ended */
	dev_stream_drain(context);
	return dev_memory_set_peer(peer, context->card, false) ? CUDA_SUCCESS
							       : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuDeviceCanAccessPeer(int *ret_can, CUdevice device, CUdevice peer)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	DEV_TRY(dev_driver_card(peer, &card));
	if (!ret_can)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_can = device != peer;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *ret_value, CUdevice_P2PAttribute which, CUdevice source,
				 CUdevice destination)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(source, &card));
	DEV_TRY(dev_driver_card(destination, &card));
	if (!ret_value || source == destination ||
	    which < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
	    which > CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
		     which == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
	return CUDA_SUCCESS;
}
