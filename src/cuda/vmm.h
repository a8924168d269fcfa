/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that the program manages with the driver's virtual memory calls. It does not move: the
 * program has handles to it. It is charged as long as it exists, which is until the last handle was
 * released *and* the last mapping was removed; most programs release a handle as soon as it is
 * mapped.
 *
 *   one reference more: cuMemCreate, cuMemRetainAllocationHandle (handles), cuMemMap (mappings)
 *   one less:           cuMemRelease, cuMemUnmap; the memory is gone with the last of both kinds
 *
 * It belongs to no context. What exists while its device has no home (device.h) is charged when
 * there is one.
 *
 * Memory that another process made and this one imports is charged to the one that made it, as long
 * as that one has it.
 */

#include "cuda/device.h"

/* The driver gave out @handle once more, for what is mapped at @address. */
void slu_cuda_vmm_retained(CUmemGenericAllocationHandle handle, uint64_t address);

/* The device has a home: charges what exists there already. */
void slu_cuda_vmm_charge_all(struct slu_cuda_device *device);

/* The home ends, and all charges have. */
void slu_cuda_vmm_reset(struct slu_cuda_device *device);
