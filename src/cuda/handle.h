/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that the program maps itself with the driver's virtual memory calls, as far as it moves.
 * The handle that cuMemCreate() returns is ours. It names a range of the ledger, at addresses that
 * the program never sees and that our copies use; the range's extents move like all others. Each
 * mapping that the program makes is an *alias* of the range: when an extent is placed, on the
 * device or in host memory, it is mapped at its aliases as well, with the access that the program
 * asked for, and when it leaves, it is unmapped there first.
 *
 *   one reference more: cuMemCreate, cuMemRetainAllocationHandle, cuMemMap
 *   one less:           cuMemRelease, cuMemUnmap; the memory ends with the last reference
 *
 * Two parties map and unmap: the movers, when an extent moves, and the program's threads, when they
 * make or end an alias. Neither holds a lock while it calls the driver, so each first makes the
 * handle *busy*: the list of aliases and what is mapped change only then.
 *
 * What is left to the driver (foreign.h): handles in host memory, imported ones, those of a device
 * on which the program has no context yet, and those with properties that a move would not keep.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "cuda/alias.h"
#include "cuda/ledger.h"

struct slu_cuda_device;

struct slu_cuda_handle {
	CUmemAllocationProp prop; /* constant */
	struct slu_range *range;  /* constant once the program has the handle */
	uint64_t id;		  /* constant: CU_POINTER_ATTRIBUTE_BUFFER_ID */
	size_t n_refs;		  /* guarded by slu_cuda.lock */
	bool is_busy;		  /* guarded by slu_cuda.lock */
	LIST_HEAD(, slu_alias) aliases;
};

/* Waits until no other thread maps or unmaps @handle, and keeps others out. NULL: does nothing. */
void slu_cuda_handle_begin(struct slu_cuda_handle *handle);
void slu_cuda_handle_end(struct slu_cuda_handle *handle);

/*
 * Maps @driver_handle, the memory of @extent, at the extent's part of each alias; or unmaps it
 * there. The handle is busy. If mapping fails, nothing is mapped. If unmapping fails, some aliases
 * may still be mapped, and a second try unmaps the rest.
 */
CUresult slu_cuda_handle_map(struct slu_cuda_handle *handle, const struct slu_extent *extent,
			     CUmemGenericAllocationHandle driver_handle);
CUresult slu_cuda_handle_unmap(struct slu_cuda_handle *handle, const struct slu_extent *extent);

/* The value by which the program knows it. */
CUmemGenericAllocationHandle slu_cuda_handle_value(const struct slu_cuda_handle *handle);

/* A reference for the caller, or NULL if the program has no such handle of ours. */
struct slu_cuda_handle *slu_cuda_handle_get(CUmemGenericAllocationHandle value);
void slu_cuda_handle_unref(struct slu_cuda_handle *handle);

/*
 * The program gets the handle once more: the caller's reference becomes the program's. Return: 0 or
 * -ENOMEM.
 */
int slu_cuda_handle_give(struct slu_cuda_handle *handle);

/* The program gives it back once: its reference becomes the caller's. NULL: it is not ours. */
struct slu_cuda_handle *slu_cuda_handle_take_back(CUmemGenericAllocationHandle value);
