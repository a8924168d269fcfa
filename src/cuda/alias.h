/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One mapping that a program made of a handle of ours (handle.h). Each extent of the handle's range
 * is mapped there while it is placed, on the device or in host memory, with the access that the
 * program asked for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "cuda/ledger.h"

struct slu_cuda_handle;

/* Locations to which a program gives access: devices, and the host. */
#define SLU_ALIAS_ACCESS_MAX 17

struct slu_alias {
	LIST_ENTRY(slu_alias) link; /* while the handle is busy */
	struct slu_cuda_handle *handle;
	uint64_t address, bytes; /* constant; from the handle's first byte on */
	unsigned n_access;	 /* while the handle is busy, as the next two */
	CUmemAccessDesc access[SLU_ALIAS_ACCESS_MAX];
	bool is_mapped[]; /* by extent of the range */
};

/*
 * Maps @driver_handle, the memory of @extent, at the extent's part of the alias, or unmaps it
 * there. The handle is busy. Where nothing is to be done they succeed.
 */
CUresult slu_cuda_alias_map_extent(struct slu_alias *alias, const struct slu_extent *extent,
				   CUmemGenericAllocationHandle driver_handle);
CUresult slu_cuda_alias_unmap_extent(struct slu_alias *alias, const struct slu_extent *extent);

/*
 * A new alias of @bytes at @address. The caller has a reference to @handle, which the alias takes
 * over on success.
 */
CUresult slu_cuda_alias_new(struct slu_cuda_handle *handle, uint64_t address, uint64_t bytes,
			    struct slu_alias **ret_alias);

/* Unmaps and frees it. On failure it is as it was. The reference goes back to the caller. */
CUresult slu_cuda_alias_free(struct slu_alias *alias);

/* Gives the locations of @descs access to all of the alias, now and whenever it is mapped. */
CUresult slu_cuda_alias_set_access(struct slu_alias *alias, const CUmemAccessDesc *descs, size_t n);

/* The access of @location to the alias. */
unsigned long long slu_cuda_alias_access(struct slu_alias *alias, CUmemLocation location);
