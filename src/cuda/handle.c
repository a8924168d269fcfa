/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/handle.h"

#include <stdlib.h>

#include "cuda/device.h"
#include "cuda/range.h"
#include "cuda/table.h"

static void handle_hold_locked(void *target)
{
	struct slu_cuda_handle *h = target;

	h->n_refs++;
}

/* One reference for each time that the program got a handle. */
static struct slu_cuda_table handles = { .hold_locked = handle_hold_locked };

CUmemGenericAllocationHandle slu_cuda_handle_value(const struct slu_cuda_handle *handle)
{
	return (CUmemGenericAllocationHandle)(uintptr_t)handle;
}

struct slu_cuda_handle *slu_cuda_handle_get(CUmemGenericAllocationHandle value)
{
	struct slu_ref ref;

	return slu_cuda_table_find(&handles, value, &ref) ? ref.target : NULL;
}

void slu_cuda_handle_unref(struct slu_cuda_handle *handle)
{
	bool is_last;

	slu_lock_take(&slu_cuda.lock);
	is_last = !--handle->n_refs;
	slu_lock_give(&slu_cuda.lock);
	if (!is_last)
		return;
	slu_cuda_range_free(handle->range);
	free(handle);
}

int slu_cuda_handle_give(struct slu_cuda_handle *handle)
{
	return slu_cuda_table_add(&handles,
				  (struct slu_ref){ slu_cuda_handle_value(handle), 1, handle });
}

struct slu_cuda_handle *slu_cuda_handle_take_back(CUmemGenericAllocationHandle value)
{
	struct slu_ref ref;

	return slu_cuda_table_take(&handles, value, 1, &ref) ? ref.target : NULL;
}

void slu_cuda_handle_begin(struct slu_cuda_handle *handle)
{
	if (!handle)
		return;
	slu_lock_take(&slu_cuda.lock);
	while (handle->is_busy)
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
	handle->is_busy = true;
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_handle_end(struct slu_cuda_handle *handle)
{
	if (!handle)
		return;
	slu_lock_take(&slu_cuda.lock);
	handle->is_busy = false;
	pthread_cond_broadcast(&slu_cuda.changed);
	slu_lock_give(&slu_cuda.lock);
}

CUresult slu_cuda_handle_map(struct slu_cuda_handle *handle, const struct slu_extent *extent,
			     CUmemGenericAllocationHandle driver_handle)
{
	CUresult r = CUDA_SUCCESS;
	struct slu_alias *a;

	if (!handle)
		return CUDA_SUCCESS;
	LIST_FOREACH (a, &handle->aliases, link) {
		r = slu_cuda_alias_map_extent(a, extent, driver_handle);
		if (r != CUDA_SUCCESS)
			break;
	}
	if (r != CUDA_SUCCESS)
		slu_cuda_handle_unmap(handle, extent);
	return r;
}

CUresult slu_cuda_handle_unmap(struct slu_cuda_handle *handle, const struct slu_extent *extent)
{
	CUresult r = CUDA_SUCCESS;
	struct slu_alias *a;

	if (!handle)
		return CUDA_SUCCESS;
	LIST_FOREACH (a, &handle->aliases, link) {
		CUresult one = slu_cuda_alias_unmap_extent(a, extent);

		r = r == CUDA_SUCCESS ? one : r;
	}
	return r;
}
