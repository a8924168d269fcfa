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
 * Code and sums take at most two granules. They are charged as memory of the program that cannot
 * move, and only taken while the device offers the program more than it owns. They are the first
 * memory that goes where it becomes short: bytes are copied then that would have been compared.
 *
 *   UNLOADED -> TAKEN    [slu_cuda_hasher_take]   loaded, proven and charged
 *   LOADED   -> TAKEN    [slu_cuda_hasher_take]
 *   TAKEN    -> LOADED   [slu_cuda_hasher_put]
 *   LOADED   -> TAKEN -> UNLOADED  [slu_cuda_hasher_yield]  memory is short
 *
 * One digest at a time: the thread that feeds the device's moves out takes it, calls begin and end,
 * and puts it back. Any thread may make it yield.
 *
 * A refusal by the driver is no reason: others may be about to free memory. If there is none, the
 * daemon denies it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "client/digest.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_device;

enum slu_cuda_hasher_state {
	SLU_CUDA_HASHER_UNLOADED,
	SLU_CUDA_HASHER_LOADED,
	SLU_CUDA_HASHER_TAKEN
};

struct slu_cuda_hasher {
	struct slu_lock lock; /* SLU_LOCK_LEAF */
	_Atomic int state; /* enum slu_cuda_hasher_state; changed under the lock. Who made it TAKEN
			      has the rest */
	CUmodule module;
	CUfunction function;
	CUstream stream;
	CUevent before, after; /* with timing */
	CUdeviceptr sums;      /* two words a group */
	unsigned n_tries;      /* loads that the driver refused */
	uint64_t
		yielded_at_bytes; /* the program owned so much when the kernel had to go; or none */
	unsigned n_groups;	  /* of the digest under way */
};

/* In the current context, which is the service context. */
void slu_cuda_hasher_init(struct slu_cuda_hasher *hasher);
void slu_cuda_hasher_deinit(struct slu_cuda_hasher *hasher);

/*
 * Loads, proves and charges the kernel of @device if that is still to be done; in the service
 * context. Return: whether the caller has it now, and puts it back.
 */
bool slu_cuda_hasher_take(struct slu_cuda_device *device);
void slu_cuda_hasher_put(struct slu_cuda_device *device);

/*
 * The program was denied memory on @device. Return: whether the kernel's was given back now. It
 * does not come again before the program owns less.
 */
bool slu_cuda_hasher_yield(struct slu_cuda_device *device);

/* Gives it back if the program owns more than the device offers it, as long as that is so. */
void slu_cuda_hasher_yield_to_owned(struct slu_cuda_device *device);

/* The bytes that it would yield now. */
uint64_t slu_cuda_hasher_bytes(const struct slu_cuda_device *device);

/*
 * Starts the digest of @bytes, whole blocks, at @address, which must be mapped until the end: a
 * kernel that reads what is not there ends the context. After success the caller calls end.
 */
CUresult slu_cuda_hasher_begin(struct slu_cuda_hasher *hasher, CUdeviceptr address, uint64_t bytes);

/* Waits. @ret_ns: the device's time for the kernel alone; 0: unknown. */
CUresult slu_cuda_hasher_end(struct slu_cuda_hasher *hasher, uint64_t bytes,
			     struct slu_digest *ret_digest, uint64_t *ret_ns);
