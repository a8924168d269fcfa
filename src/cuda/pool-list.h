/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of pools with memory of ours, and the current pool of each device. The list has a record
 * for the default pool of a device, from its first use on, and for pools that the program makes. It
 * has none for pools that are shared with others (pool.h).
 *
 *   LIVE      -> DESTROYED  [slu_cuda_pool_list_destroyed]  the program cannot name it any more
 *   DESTROYED -> gone       [slu_cuda_pool_release_excess]  its last memory has come back
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuda/device.h"

struct slu_pool_space;

struct slu_cuda_pool {
	LIST_ENTRY(slu_cuda_pool) link;
	struct slu_cuda_device *device; /* constant */
	uint64_t max_bytes;		/* constant; 0: any amount */
	CUmemoryPool handle; /* guarded by the front lock, as the rest; NULL: DESTROYED */
	struct slu_pool_space *space;
	uint64_t threshold_bytes;
	bool is_opportunistic; /* memory of other streams is used once they are past its free */
	uint64_t absent_bytes; /* of its segments: extents that it gave back by themselves */
	uint64_t reserved_bytes_high;
	const void
		*changer; /* the thread that makes memory for it or gives back extents; or NULL */
};

LIST_HEAD(slu_cuda_pool_list, slu_cuda_pool);

/* guarded by the front lock */
extern struct slu_cuda_pool_list slu_cuda_pools;

/* The bytes of its memory, used or not. */
uint64_t slu_cuda_pool_list_reserved_locked(const struct slu_cuda_pool *pool);

/*
 * Extents are made and given back without the lock, by one thread at a time, which may do both.
 * Return: whether it is this thread; *ret_was tells whether it has been before.
 */
bool slu_cuda_pool_list_change_locked(struct slu_cuda_pool *pool, bool *ret_was);
void slu_cuda_pool_list_changed_locked(struct slu_cuda_pool *pool, bool was);

/* Takes out a pool that has no memory. */
void slu_cuda_pool_list_discard_locked(struct slu_cuda_pool *pool);

/* Ours with that handle, or NULL. Valid until the program destroys it. Without the lock. */
struct slu_cuda_pool *slu_cuda_pool_list_get(CUmemoryPool handle);

/*
 * The pool that is current for @device: NULL if it is left to the driver.
 * Return: whether that is known; else slu_cuda_pool_list_choose(), without the lock, makes it so.
 */
bool slu_cuda_pool_list_current_locked(const struct slu_cuda_device *device,
				       struct slu_cuda_pool **ret_pool);
void slu_cuda_pool_list_choose(struct slu_cuda_device *device);

/* Which pool is current has changed. */
void slu_cuda_pool_list_chosen(void);

/* The program has made a pool, or destroyed one. */
void slu_cuda_pool_list_made(CUmemoryPool handle, const CUmemPoolProps *props);
void slu_cuda_pool_list_destroyed(CUmemoryPool handle);
