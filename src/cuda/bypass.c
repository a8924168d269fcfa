/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/bypass.h"

#include "cuda/device.h"
#include "cuda/gate.h"
#include "cuda/real.h"

_Atomic uint64_t slu_cuda_bypass_n_begun, slu_cuda_bypass_n_ended;

void slu_cuda_bypass_met(struct slu_cuda_device *device)
{
	atomic_store(&device->passes_by, true);
	slu_client_device_freeze(device->client, SLU_FROZEN_BYPASS);
}

void slu_cuda_bypass_keep(struct slu_cuda_device *device)
{
	if (atomic_load_explicit(&device->passes_by, memory_order_relaxed))
		slu_client_device_freeze(device->client, SLU_FROZEN_BYPASS);
}

void slu_cuda_bypass_wait(struct slu_cuda_device *device)
{
	if (atomic_load_explicit(&device->passes_by, memory_order_relaxed) &&
	    !slu_gate_is_inside() && slu_cuda_gate_enter(device) == CUDA_SUCCESS)
		slu_cuda_gate_leave(device);
}

/* -- the calls ----------------------------------------------------------------------------------
 */

/* A thread can be inside the gate of one device only, and each device has turns of its own. */
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *params, unsigned int n,
					      unsigned int flags)
{
	if (!slu_cuda_device_here())
		return SLU_REAL(cuLaunchCooperativeKernelMultiDevice)(params, n, flags);
	return CUDA_ERROR_NOT_SUPPORTED;
}
