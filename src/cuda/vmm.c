/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls about handles of memory. Handles of ours (handle.h) are answered here, whether
 * their memory is on the device or not; everything else goes to the driver (foreign.h).
 */
#include "cuda/vmm.h"

#include <errno.h>
#include <stdlib.h>

#include "cuda/addresses.h"
#include "cuda/capture.h"
#include "cuda/foreign.h"
#include "cuda/gate.h"
#include "cuda/handle.h"
#include "cuda/query.h"
#include "cuda/range.h"
#include "cuda/real.h"

/*
 * Whether memory made so can be made anew at each move without the program noticing. Memory that
 * other hardware may be given (gpuDirectRDMACapable) cannot: the shim does not see when that
 * happens.
 */
static bool prop_is_movable(const CUmemAllocationProp *prop, size_t bytes, unsigned long long flags,
			    const struct slu_cuda_device *d)
{
	return !flags && bytes && bytes % d->granule_bytes == 0 &&
	       prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       !(prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) &&
	       !prop->allocFlags.compressionType && !prop->allocFlags.gpuDirectRDMACapable &&
	       !prop->allocFlags.usage;
}

/* The device that makes it movable, or NULL. */
static struct slu_cuda_device *prop_device(const CUmemAllocationProp *prop, size_t bytes,
					   unsigned long long flags)
{
	struct slu_cuda_device *d;
	bool is_served;

	if (!prop || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return NULL;
	slu_cuda_device_here();
	d = slu_cuda_device_find(prop->location.id);
	if (!d || !prop_is_movable(prop, bytes, flags, d))
		return NULL;
	slu_lock_take(&slu_cuda.lock);
	is_served = d->service && !d->is_starting;
	slu_lock_give(&slu_cuda.lock);
	return is_served ? d : NULL;
}

static CUresult handle_new(struct slu_cuda_device *d, const CUmemAllocationProp *prop, size_t bytes,
			   CUmemGenericAllocationHandle *ret_handle)
{
	static _Atomic uint64_t last_id = UINT64_C(1) << 32;
	struct slu_cuda_handle *h = calloc(1, sizeof(*h));
	CUresult r;

	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->prop = *prop;
	h->n_refs = 1;
	h->id = ++last_id;
	LIST_INIT(&h->aliases);
	/* what may be exported is one piece: that is what the other process gets */
	r = slu_cuda_range_new_handle(d, bytes, prop->requestedHandleTypes != 0, h);
	if (r != CUDA_SUCCESS) {
		free(h);
		return r;
	}
	if (slu_cuda_handle_give(h)) {
		slu_cuda_handle_unref(h);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_handle = slu_cuda_handle_value(h);
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct slu_cuda_device *d = ret_handle ? prop_device(prop, bytes, flags) : NULL;
	int saved = errno;
	CUstreamCaptureMode before;
	CUresult r;

	if (!d)
		return slu_cuda_foreign_create(ret_handle, bytes, prop, flags);
	before = slu_cuda_capture_relax();
	r = handle_new(d, prop, bytes, ret_handle);
	slu_cuda_capture_restore(before);
	errno = saved;
	return r;
}

/* Taken out before: as soon as the memory is gone, another thread may get the same value anew. */
CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct slu_cuda_handle *h = slu_cuda_handle_take_back(handle);
	CUstreamCaptureMode before;
	int saved = errno;

	if (!h)
		return slu_cuda_foreign_release(handle);
	before = slu_cuda_capture_relax();
	slu_cuda_handle_unref(h);
	slu_cuda_capture_restore(before);
	errno = saved;
	return CUDA_SUCCESS;
}

/* The genuine call knows no handle of memory from cuMemAlloc(), and ours change. */
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	uint64_t at = (uint64_t)(uintptr_t)address;
	struct slu_alias *a = ret_handle ? slu_cuda_addresses_alias(at) : NULL;
	CUresult r;

	if (a) {
		struct slu_cuda_handle *h = a->handle;

		if (slu_cuda_handle_give(h)) {
			slu_cuda_handle_unref(h);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		*ret_handle = slu_cuda_handle_value(h);
		return CUDA_SUCCESS;
	}
	if (slu_cuda_query_is_ours(at))
		return CUDA_ERROR_INVALID_VALUE;
	r = SLU_REAL(cuMemRetainAllocationHandle)(ret_handle, address);
	if (r == CUDA_SUCCESS)
		slu_cuda_foreign_retained(*ret_handle, at);
	return r;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret_prop,
						CUmemGenericAllocationHandle handle)
{
	struct slu_cuda_handle *h = slu_cuda_handle_get(handle);

	if (!h)
		return SLU_REAL(cuMemGetAllocationPropertiesFromHandle)(ret_prop, handle);
	if (ret_prop)
		*ret_prop = h->prop;
	slu_cuda_handle_unref(h);
	return ret_prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Another process gets the pages themselves: from then on they stay where they are. */
static CUresult handle_export(struct slu_cuda_handle *h, void *ret_shareable,
			      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct slu_cuda_device *d = h->range->device;
	struct slu_extent *e = &h->range->extents[0];
	CUresult r;

	if (!ret_shareable || !(h->prop.requestedHandleTypes & (unsigned)type))
		return CUDA_ERROR_INVALID_VALUE;
	r = slu_cuda_gate_enter(d);
	if (r != CUDA_SUCCESS)
		return r;
	if (slu_client_unit_freeze(e->unit, SLU_FROZEN_EXPORTED))
		r = CUDA_ERROR_UNKNOWN;
	else
		r = SLU_REAL(cuMemExportToShareableHandle)(ret_shareable, e->handle, type, flags);
	slu_cuda_gate_leave(d);
	return r;
}

CUresult cuMemExportToShareableHandle(void *ret_shareable, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct slu_cuda_handle *h = slu_cuda_handle_get(handle);
	CUresult r;

	if (!h)
		return SLU_REAL(cuMemExportToShareableHandle)(ret_shareable, handle, type, flags);
	r = handle_export(h, ret_shareable, type, flags);
	slu_cuda_handle_unref(h);
	return r;
}

/* -- multicast: the other devices would keep the pages ---------------------------------------- */

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle object, size_t object_offset,
			    CUmemGenericAllocationHandle handle, size_t offset, size_t bytes,
			    unsigned long long flags)
{
	struct slu_cuda_handle *h = slu_cuda_handle_get(handle);

	if (!h)
		return SLU_REAL(cuMulticastBindMem)(object, object_offset, handle, offset, bytes,
						    flags);
	slu_cuda_handle_unref(h);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle object, size_t offset,
			     CUdeviceptr address, size_t bytes, unsigned long long flags)
{
	if (slu_cuda_query_is_ours(address) || slu_cuda_addresses_have_alias(address, bytes))
		return CUDA_ERROR_NOT_SUPPORTED;
	return SLU_REAL(cuMulticastBindAddr)(object, offset, address, bytes, flags);
}
