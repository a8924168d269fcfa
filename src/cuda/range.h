/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ranges of the ledger with their addresses and units. A range gets addresses from the driver that
 * never change, and the client moves the units of its extents.
 *
 * A range that makes the program own more than visible_memory is brought to the device at once:
 * only a try shows whether its bytes fit next to the context, and the allocation has to fail, not
 * the first launch.
 */

#include "cuda/device.h"
#include "cuda/ledger.h"

struct slu_cuda_handle;

struct slu_cuda_range_plan {
	CUcontext context; /* the owner, or NULL */
	enum slu_range_kind kind;
	uint64_t bytes;
	struct slu_cuda_handle *handle; /* the program's handle of the range, or NULL */
};

/*
 * A new range, if the program may own so much. A denial is logged with @asked_bytes, unless these
 * are 0. Not inside the gate.
 */
CUresult slu_cuda_range_new(struct slu_cuda_device *device, const struct slu_cuda_range_plan *plan,
			    uint64_t asked_bytes, struct slu_range **ret_range);

/*
 * A new range for headroom (headroom.h): the program owns nothing in it, and inside the gate it is
 * on the device.
 */
CUresult slu_cuda_range_new_spare(struct slu_cuda_device *device, uint64_t bytes,
				  struct slu_range **ret_range);

/*
 * A new range for @handle, owned by no context; handle->range is set before its extents are made.
 * @is_whole: it is one extent.
 */
CUresult slu_cuda_range_new_handle(struct slu_cuda_device *device, uint64_t bytes, bool is_whole,
				   struct slu_cuda_handle *handle);

/* A new range for a pool: addresses and units, without allocations. As slu_cuda_range_new(). */
CUresult slu_cuda_range_new_segment(struct slu_cuda_device *device, uint64_t bytes,
				    uint64_t asked_bytes, struct slu_range **ret_range);

/*
 * Gives units to the extents of a segment that have none and that @bytes from @address on touch, if
 * the program may own so much. One thread at a time.
 */
CUresult slu_cuda_range_fill(struct slu_range *range, uint64_t address, uint64_t bytes,
			     uint64_t asked_bytes);

/* The bytes of those extents. */
uint64_t slu_cuda_range_absent_locked(const struct slu_range *range, uint64_t address,
				      uint64_t bytes);

/* Gives back its extents and addresses. Not called with a lock, nor while work uses it. */
void slu_cuda_range_free(struct slu_range *range);
