/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The program's device memory: the allocating calls (memory.c), and what other calls need of it. */

#include "cuda/device.h"

/*
 * Ends the allocation that begins at @address; nothing uses it any more. Return: CUDA_SUCCESS, or
 * CUDA_ERROR_INVALID_VALUE if there is none.
 */
CUresult slu_cuda_memory_end(CUdeviceptr address);

/*
 * Sets @bytes aside, if the program may own so much. If not, it first gives back empty slabs and
 * the memory that pools do not use and graphs only keep. A denial is logged with @asked_bytes,
 * unless these are 0. The caller returns unused bytes with slu_client_device_unreserve().
 */
bool slu_cuda_memory_reserve(struct slu_cuda_device *device, uint64_t bytes, uint64_t asked_bytes);

/* Slabs that are empty, and kept for small allocations as long as nothing else needs their bytes.
 */
uint64_t slu_cuda_memory_kept_bytes(const struct slu_cuda_device *device);

/* Gives back all that @context (NULL: any context) owns on @device, because @context ends. */
void slu_cuda_memory_forget(struct slu_cuda_device *device, CUcontext context);
