/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What computes digests on a device: a kernel (digest-ptx.h) with memory for its sums, and a stream
 * on which nothing but digests waits, all of it in the service context. The sums are a few KiB and
 * are copied to pageable memory: pinning would stop every CUDA process for them.
 *
 *   NONE   -> LOADED  [slu_cuda_hasher_load]     when the device gets that context, because a load
 *                                                waits for the device
 *   LOADED -> PROVEN  [slu_cuda_hasher_prepare]  a digest of known bytes was right
 *   LOADED -> NONE    [slu_cuda_hasher_prepare]  it was not, or the driver had no memory for it;
 *                                                a refusal is tried again, a few times
 *
 * Code and sums take at most two granules of a card. They belong to the memory that a context takes
 * by itself, which the daemon learns of by refusals.
 *
 * One digest at a time: the thread that feeds the device's moves out calls begin and end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/digest.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_hasher {
	CUmodule module;
	CUfunction function;
	CUstream stream;
	CUevent before, after; /* with timing */
	CUdeviceptr sums;      /* two words a group */
	unsigned n_tries;      /* loads that the driver refused */
	bool is_proven;
	unsigned n_groups; /* of the digest under way */
};

/* Zero before the first load. In the current context, which is the service context. */
void slu_cuda_hasher_load(struct slu_cuda_hasher *hasher);
void slu_cuda_hasher_unload(struct slu_cuda_hasher *hasher);

/* Return: whether it is PROVEN. */
bool slu_cuda_hasher_prepare(struct slu_cuda_hasher *hasher);

/*
 * Starts the digest of @bytes, whole blocks, at @address, which must be mapped until the end: a
 * kernel that reads what is not there ends the context. After success the caller calls end.
 */
CUresult slu_cuda_hasher_begin(struct slu_cuda_hasher *hasher, CUdeviceptr address, uint64_t bytes);

/* Waits. @ret_ns: the device's time for the kernel alone; 0: unknown. */
CUresult slu_cuda_hasher_end(struct slu_cuda_hasher *hasher, uint64_t bytes,
			     struct slu_digest *ret_digest, uint64_t *ret_ns);
