/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/addresses.h"

#include "cuda/foreign.h"
#include "cuda/handle.h"
#include "cuda/real.h"
#include "cuda/table.h"

static void alias_hold_locked(void *target)
{
	struct slu_alias *a = target;

	a->handle->n_refs++;
}

/* A target is NULL while it is being mapped or unmapped. */
static struct slu_cuda_table aliases = { .hold_locked = alias_hold_locked };
static struct slu_cuda_table reservations; /* the program's */

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t align, CUdeviceptr hint,
			     unsigned long long flags)
{
	CUresult r = SLU_REAL(cuMemAddressReserve)(ret_address, bytes, align, hint, flags);

	if (r != CUDA_SUCCESS)
		return r;
	if (!slu_cuda_table_add(&reservations, (struct slu_ref){ *ret_address, bytes, NULL }))
		return CUDA_SUCCESS;
	SLU_REAL(cuMemAddressFree)(*ret_address, bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	struct slu_ref ref;
	bool is_known;
	CUresult r;

	if (slu_cuda_addresses_have_alias(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	is_known = slu_cuda_table_take(&reservations, address, bytes, &ref);
	r = SLU_REAL(cuMemAddressFree)(address, bytes);
	if (r != CUDA_SUCCESS && is_known)
		slu_cuda_table_add(&reservations, ref);
	return r;
}

CUresult slu_cuda_addresses_claim(uint64_t address, uint64_t bytes)
{
	struct slu_ref around;
	int r;

	if (slu_cuda_foreign_overlaps(address, bytes) ||
	    !slu_cuda_table_find(&reservations, address, &around) ||
	    bytes > around.at + around.n - address)
		return CUDA_ERROR_INVALID_VALUE;
	r = slu_cuda_table_add_alone(&aliases, (struct slu_ref){ address, bytes, NULL });
	if (r < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return r ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void slu_cuda_addresses_release(uint64_t address, uint64_t bytes)
{
	struct slu_ref ref;

	slu_cuda_table_take(&aliases, address, bytes, &ref);
}

void slu_cuda_addresses_set_alias(uint64_t address, struct slu_alias *alias)
{
	slu_cuda_table_retarget(&aliases, address, alias);
}

struct slu_alias *slu_cuda_addresses_alias(uint64_t address)
{
	struct slu_ref ref;

	return slu_cuda_table_find(&aliases, address, &ref) ? ref.target : NULL;
}

bool slu_cuda_addresses_have_alias(uint64_t address, uint64_t bytes)
{
	return slu_cuda_table_overlaps(&aliases, address, bytes);
}

bool slu_cuda_addresses_look(uint64_t address, struct slu_cuda_addresses_view *ret_view)
{
	struct slu_alias *a = slu_cuda_addresses_alias(address);
	struct slu_cuda_addresses_view view;
	struct slu_ref around;

	if (!a)
		return false;
	view = (struct slu_cuda_addresses_view){
		.device = a->handle->range->device,
		.map_address = a->address,
		.map_bytes = a->bytes,
		.address = a->address,
		.bytes = a->bytes,
		.id = a->handle->id,
	};
	view.access = (unsigned)slu_cuda_alias_access(a, a->handle->prop.location);
	if (slu_cuda_table_find(&reservations, address, &around)) {
		view.address = around.at;
		view.bytes = around.n;
	}
	slu_cuda_handle_unref(a->handle);
	*ret_view = view;
	return true;
}
