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
 * Sets @bytes aside, if the program may own so much; slabs that are kept for later, and what pools
 * do not use, give way. People hear of a refusal with @asked_bytes, unless these are 0. What is not
 * used up goes back by slu_client_device_unreserve().
 */
bool slu_cuda_memory_reserve(struct slu_cuda_device *device, uint64_t bytes, uint64_t asked_bytes);

/* Slabs that are empty, and kept for small allocations as long as nothing else needs their bytes.
 */
uint64_t slu_cuda_memory_kept_bytes(const struct slu_cuda_device *device);

/* Gives back everything that @context owns on @device (NULL: whoever does): the context ends, and
 * its memory with it. */
void slu_cuda_memory_forget(struct slu_cuda_device *device, CUcontext context);
