/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What computes digests on a device: a kernel (digest-ptx.h) with memory for its sums, and a stream
 * on which nothing but digests waits, all of it in the service context. The sums are a few KiB and
 * are copied to pageable memory: pinning would stop every CUDA process for them.
 *
 * Stream and events are made when the device gets that context. The kernel is loaded at the first
 * comparison, or the copy out before it: a program that never moves has all of the device's memory,
 * as it has without Sluice. The device is at rest then, so the load waits for nothing. A digest of
 * known bytes proves the kernel. A load that is refused for want of memory is tried again with the
 * next extents, when the first ones have left; other failures are final.
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
	bool is_proven;	       /* loaded, and its first digest was right */
	unsigned n_groups;     /* of the digest under way */
};

/* In the current context, which is the service context. */
void slu_cuda_hasher_init(struct slu_cuda_hasher *hasher);
void slu_cuda_hasher_deinit(struct slu_cuda_hasher *hasher);

/* Loads and proves the kernel if that is still to be done. Return: whether it can be used. */
bool slu_cuda_hasher_prepare(struct slu_cuda_hasher *hasher);

/*
 * Starts the digest of @bytes, whole blocks, at @address, which must be mapped until the end: a
 * kernel that reads what is not there ends the context. After success the caller calls end.
 */
CUresult slu_cuda_hasher_begin(struct slu_cuda_hasher *hasher, CUdeviceptr address, uint64_t bytes);

/* Waits. @ret_ns: the device's time for the kernel alone; 0: unknown. */
CUresult slu_cuda_hasher_end(struct slu_cuda_hasher *hasher, uint64_t bytes,
			     struct slu_digest *ret_digest, uint64_t *ret_ns);
