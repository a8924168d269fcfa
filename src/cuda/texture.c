/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Textures over plain memory. A texture knows its texels by their address, which stays what it is
 * while the memory comes and goes, and kernels read it inside the gate, where the memory is in
 * place. But the driver may look at the address when the texture is made: so that is done inside
 * the gate as well. Arrays do not move, and textures over them need no turn.
 */
#include "cuda/gate.h"
#include "cuda/real.h"

CUresult cuTexObjectCreate(CUtexObject *ret_object, const CUDA_RESOURCE_DESC *resource,
			   const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
	bool is_plain = resource && (resource->resType == CU_RESOURCE_TYPE_LINEAR ||
				     resource->resType == CU_RESOURCE_TYPE_PITCH2D);
	struct slu_cuda_device *device = is_plain ? slu_cuda_device_here() : NULL;
	CUresult r;

	if (!device)
		return SLU_REAL(cuTexObjectCreate)(ret_object, resource, texture, view);
	r = slu_cuda_gate_enter(device);
	if (r != CUDA_SUCCESS)
		return r;
	r = SLU_REAL(cuTexObjectCreate)(ret_object, resource, texture, view);
	slu_cuda_gate_leave(device);
	return r;
}
