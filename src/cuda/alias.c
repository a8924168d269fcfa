/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/alias.h"

#include <stdlib.h>

#include "base/util.h"
#include "cuda/handle.h"
#include "cuda/mapping.h"

static size_t extent_number(const struct slu_extent *e)
{
	return (size_t)(e - e->range->extents);
}

/* How much of @e the alias covers; 0: none. */
static uint64_t alias_part_bytes(const struct slu_alias *a, const struct slu_extent *e)
{
	uint64_t offset = e->address - e->range->address;

	return SLU_MIN(e->bytes, slu_sub_floor(a->bytes, offset));
}

static uint64_t alias_part_address(const struct slu_alias *a, const struct slu_extent *e)
{
	return a->address + (e->address - e->range->address);
}

CUresult slu_cuda_alias_unmap_extent(struct slu_alias *alias, const struct slu_extent *extent)
{
	size_t i = extent_number(extent);
	CUresult r;

	if (!alias->is_mapped[i])
		return CUDA_SUCCESS;
	r = slu_cuda_mapping_remove(extent->range->device, alias_part_address(alias, extent),
				    alias_part_bytes(alias, extent));
	if (r == CUDA_SUCCESS)
		alias->is_mapped[i] = false;
	return r;
}

CUresult slu_cuda_alias_map_extent(struct slu_alias *alias, const struct slu_extent *extent,
				   CUmemGenericAllocationHandle driver_handle)
{
	size_t i = extent_number(extent);

	if (!alias_part_bytes(alias, extent) || alias->is_mapped[i])
		return CUDA_SUCCESS;
	return slu_cuda_mapping_make(extent->range->device, alias_part_address(alias, extent),
				     alias_part_bytes(alias, extent), driver_handle, alias->access,
				     alias->n_access, &alias->is_mapped[i]);
}

static CUresult alias_unmap(struct slu_alias *a)
{
	const struct slu_range *range = a->handle->range;
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < range->n_extents && r == CUDA_SUCCESS; i++)
		r = slu_cuda_alias_unmap_extent(a, &range->extents[i]);
	return r;
}

/* Where its extents are placed now, it is mapped; the others follow when they are placed. */
static CUresult alias_map(struct slu_alias *a)
{
	const struct slu_range *range = a->handle->range;
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < range->n_extents && r == CUDA_SUCCESS; i++)
		if (range->extents[i].handle)
			r = slu_cuda_alias_map_extent(a, &range->extents[i],
						      range->extents[i].handle);
	if (r != CUDA_SUCCESS)
		alias_unmap(a);
	return r;
}

CUresult slu_cuda_alias_new(struct slu_cuda_handle *handle, uint64_t address, uint64_t bytes,
			    struct slu_alias **ret_alias)
{
	struct slu_alias *a = calloc(1, sizeof(*a) + handle->range->n_extents * sizeof(bool));
	CUresult r;

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->handle = handle;
	a->address = address;
	a->bytes = bytes;
	slu_cuda_handle_begin(handle);
	r = alias_map(a);
	if (r == CUDA_SUCCESS)
		LIST_INSERT_HEAD(&handle->aliases, a, link);
	slu_cuda_handle_end(handle);
	if (r == CUDA_SUCCESS)
		*ret_alias = a;
	else
		free(a);
	return r;
}

CUresult slu_cuda_alias_free(struct slu_alias *alias)
{
	struct slu_cuda_handle *handle = alias->handle;
	CUresult r;

	slu_cuda_handle_begin(handle);
	r = alias_unmap(alias);
	if (r == CUDA_SUCCESS)
		LIST_REMOVE(alias, link);
	else
		alias_map(alias);
	slu_cuda_handle_end(handle);
	if (r == CUDA_SUCCESS)
		free(alias);
	return r;
}

static bool location_is_equal(CUmemLocation a, CUmemLocation b)
{
	return a.type == b.type && (a.type != CU_MEM_LOCATION_TYPE_DEVICE || a.id == b.id);
}

static CUmemAccessDesc *alias_find_access(struct slu_alias *a, CUmemLocation location)
{
	for (unsigned i = 0; i < a->n_access; i++)
		if (location_is_equal(a->access[i].location, location))
			return &a->access[i];
	return NULL;
}

static CUresult alias_note_access(struct slu_alias *a, const CUmemAccessDesc *desc)
{
	CUmemAccessDesc *known = alias_find_access(a, desc->location);

	if (!known && a->n_access == SLU_ALIAS_ACCESS_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!known)
		known = &a->access[a->n_access++];
	*known = *desc;
	return CUDA_SUCCESS;
}

/* The end of the run of extents from @first on that are mapped, or of those that are not. */
static size_t run_end(const struct slu_alias *a, size_t first)
{
	size_t end = first + 1;

	while (end < a->handle->range->n_extents && a->is_mapped[end] == a->is_mapped[first])
		end++;
	return end;
}

/* The extents of a run are next to each other, so one call serves them all. */
static CUresult run_set_access(const struct slu_alias *a, size_t first, size_t end,
			       const CUmemAccessDesc *descs, size_t n)
{
	const struct slu_extent *extents = a->handle->range->extents;
	uint64_t begin = alias_part_address(a, &extents[first]);
	uint64_t bytes = alias_part_address(a, &extents[end - 1]) +
			 alias_part_bytes(a, &extents[end - 1]) - begin;

	return slu_cuda_mapping_set_access(a->handle->range->device, begin, bytes, descs, n);
}

CUresult slu_cuda_alias_set_access(struct slu_alias *alias, const CUmemAccessDesc *descs, size_t n)
{
	const struct slu_range *range = alias->handle->range;
	CUresult r = CUDA_SUCCESS;
	size_t end;

	slu_cuda_handle_begin(alias->handle);
	for (size_t i = 0; i < range->n_extents && r == CUDA_SUCCESS; i = end) {
		end = run_end(alias, i);
		if (alias->is_mapped[i])
			r = run_set_access(alias, i, end, descs, n);
	}
	for (size_t i = 0; i < n && r == CUDA_SUCCESS; i++)
		r = alias_note_access(alias, &descs[i]);
	slu_cuda_handle_end(alias->handle);
	return r;
}

unsigned long long slu_cuda_alias_access(struct slu_alias *alias, CUmemLocation location)
{
	const CUmemAccessDesc *known;
	unsigned long long flags;

	slu_cuda_handle_begin(alias->handle);
	known = alias_find_access(alias, location);
	flags = known ? known->flags : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	slu_cuda_handle_end(alias->handle);
	return flags;
}
