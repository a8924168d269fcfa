/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The program's device memory. memory.c has the allocating calls, query.c those that only ask. */

#include "cuda/device.h"

/*
 * A new range with its addresses and units, in the ledger, that stands for memory which the driver
 * is to find free: nothing in it is the program's, and it is on the device itself inside the gate.
 */
CUresult slu_cuda_range_new_spare(struct slu_cuda_device *device, uint64_t bytes,
				  struct slu_range **ret_range);

/*
 * A new range for @handle, owned by no context; handle->range is set before its extents are made.
 * @is_whole: it is one extent.
 */
CUresult slu_cuda_range_new_handle(struct slu_cuda_device *device, uint64_t bytes, bool is_whole,
				   struct slu_cuda_handle *handle);

/*
 * A new range for a pool, if the program may own so much: addresses and units, without allocations.
 * People hear of a refusal with @asked_bytes, unless these are 0. Not inside the gate.
 */
CUresult slu_cuda_range_new_segment(struct slu_cuda_device *device, uint64_t bytes,
				    uint64_t asked_bytes, struct slu_range **ret_range);

/*
 * Gives units to the extents of a segment that have none and that @bytes from @address on touch, if
 * the program may own so much. One thread at a time.
 */
CUresult slu_cuda_range_fill(struct slu_range *range, uint64_t address, uint64_t bytes,
			     uint64_t asked_bytes);

/* How many bytes that would be. */
uint64_t slu_cuda_range_absent_locked(const struct slu_range *range, uint64_t address,
				      uint64_t bytes);

/* Gives back its extents and addresses. Not called with a lock, nor while work uses it. */
void slu_cuda_range_free(struct slu_range *range);

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

/* Whether @address lies in an allocation of ours. */
bool slu_cuda_memory_is_ours(CUdeviceptr address);

/*
 * Whether the program can look at @address without a call: it is in pinned or managed memory. Calls
 * that write there return only when it is written.
 */
bool slu_cuda_host_sees(CUdeviceptr address);
