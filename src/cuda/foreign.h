/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Handles of the driver's virtual memory calls that the shim leaves to the driver (handle.h lists
 * them). Their memory does not move. It is charged as long as it exists: until the program has
 * released the last handle *and* removed the last mapping. Most programs release a handle as soon
 * as it is mapped.
 *
 *   one reference more: cuMemCreate, cuMemRetainAllocationHandle (handles), cuMemMap (mappings)
 *   one less:           cuMemRelease, cuMemUnmap; the memory is gone with the last of both kinds
 *
 * It belongs to no context. Memory that exists before its device has a service context (device.h)
 * is charged when the device gets one.
 *
 * Imported memory is charged to the process that made it, as long as that process has it.
 */

#include "cuda/device.h"

/* The driver's calls, noted, and serialised between processes if that is asked for (mapping.h). */
CUresult slu_cuda_foreign_create(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
				 const CUmemAllocationProp *prop, unsigned long long flags);
CUresult slu_cuda_foreign_release(CUmemGenericAllocationHandle handle);
CUresult slu_cuda_foreign_map(CUdeviceptr address, size_t bytes, size_t offset,
			      CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult slu_cuda_foreign_unmap(CUdeviceptr address, size_t bytes);
CUresult slu_cuda_foreign_set_access(CUdeviceptr address, size_t bytes,
				     const CUmemAccessDesc *descs, size_t n);

/* The driver gave out @handle once more, for what is mapped at @address. */
void slu_cuda_foreign_retained(CUmemGenericAllocationHandle handle, uint64_t address);

/* Whether the driver has mapped anything among these addresses, as far as is known. */
bool slu_cuda_foreign_overlaps(uint64_t address, uint64_t bytes);

/* The bytes from @address on to the end of the driver's mapping there; 0: none is known. */
uint64_t slu_cuda_foreign_mapped_bytes(uint64_t address);

/* The device has a service context: charges what exists there already. */
void slu_cuda_foreign_charge_all(struct slu_cuda_device *device);

/* The service context ends, and all charges have ended. */
void slu_cuda_foreign_reset(struct slu_cuda_device *device);
