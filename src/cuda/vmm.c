/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's virtual memory calls. Handles of ours (handle.h) and their aliases are answered
 * here, whether their memory is on the device or not; everything else goes to the driver
 * (foreign.h).
 *
 * Where memory is away the driver is not asked, so what it would check is checked here: an alias
 * lies in one reservation and overlaps no other mapping.
 */
#include "cuda/vmm.h"

#include <errno.h>
#include <stdlib.h>

#include "cuda/capture.h"
#include "cuda/gate.h"
#include "cuda/foreign.h"
#include "cuda/query.h"
#include "cuda/range.h"
#include "cuda/real.h"
#include "cuda/refs.h"

/* All guarded by slu_cuda.lock. */
static struct slu_refs handles;	     /* one for each time that the program got it */
static struct slu_refs aliases;	     /* by address */
static struct slu_refs reservations; /* the program's, by address */

/* -- references ------------------------------------------------------------------------------- */

static void handle_unref(struct slu_cuda_handle *h)
{
	bool is_last;

	slu_lock_take(&slu_cuda.lock);
	is_last = !--h->n_refs;
	slu_lock_give(&slu_cuda.lock);
	if (!is_last)
		return;
	slu_cuda_range_free(h->range);
	free(h);
}

/* A reference for the caller, or NULL if the program has no such handle of ours. */
static struct slu_cuda_handle *handle_get(CUmemGenericAllocationHandle value)
{
	struct slu_cuda_handle *h = NULL;
	const struct slu_ref *found;

	slu_lock_take(&slu_cuda.lock);
	found = slu_refs_find(&handles, value);
	if (found) {
		h = found->target;
		h->n_refs++;
	}
	slu_lock_give(&slu_cuda.lock);
	return h;
}

static CUmemGenericAllocationHandle handle_value(const struct slu_cuda_handle *h)
{
	return (CUmemGenericAllocationHandle)(uintptr_t)h;
}

/* The program gets the handle once more; the caller's reference becomes the program's. */
static int handle_give(struct slu_cuda_handle *h)
{
	int r;

	slu_lock_take(&slu_cuda.lock);
	r = slu_refs_add(&handles, (struct slu_ref){ handle_value(h), 1, h });
	slu_lock_give(&slu_cuda.lock);
	return r;
}

static bool refs_take(struct slu_refs *refs, uint64_t at, uint64_t n, struct slu_ref *ret_ref)
{
	bool was_there;

	slu_lock_take(&slu_cuda.lock);
	was_there = slu_refs_take(refs, at, n, ret_ref);
	slu_lock_give(&slu_cuda.lock);
	return was_there;
}

/* The alias at @address with a reference to its handle for the caller, or NULL. */
static struct slu_alias *alias_get(uint64_t address)
{
	struct slu_alias *a = NULL;
	const struct slu_ref *found;

	slu_lock_take(&slu_cuda.lock);
	found = slu_refs_find(&aliases, address);
	a = found ? found->target : NULL; /* NULL while it is being mapped or unmapped */
	if (a)
		a->handle->n_refs++;
	slu_lock_give(&slu_cuda.lock);
	return a;
}

bool slu_cuda_vmm_look(uint64_t address, struct slu_vmm_view *ret_view)
{
	struct slu_alias *a = alias_get(address);
	const struct slu_ref *around;
	struct slu_vmm_view view;

	if (!a)
		return false;
	view = (struct slu_vmm_view){
		.device = a->handle->range->device,
		.map_address = a->address,
		.map_bytes = a->bytes,
		.address = a->address,
		.bytes = a->bytes,
		.id = a->handle->id,
	};
	view.access = (unsigned)slu_cuda_handle_alias_access(a, a->handle->prop.location);
	slu_lock_take(&slu_cuda.lock);
	around = slu_refs_find(&reservations, address);
	if (around) {
		view.address = around->at;
		view.bytes = around->n;
	}
	slu_lock_give(&slu_cuda.lock);
	handle_unref(a->handle);
	*ret_view = view;
	return true;
}

/* -- handles ---------------------------------------------------------------------------------- */

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
	if (handle_give(h)) {
		handle_unref(h);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_handle = handle_value(h);
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
	CUstreamCaptureMode before;
	struct slu_ref ref;
	int saved = errno;

	if (!refs_take(&handles, handle, 1, &ref))
		return slu_cuda_foreign_release(handle);
	before = slu_cuda_capture_relax();
	handle_unref(ref.target);
	slu_cuda_capture_restore(before);
	errno = saved;
	return CUDA_SUCCESS;
}

/* The genuine call knows no handle of memory from cuMemAlloc(), and ours change. */
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	uint64_t at = (uint64_t)(uintptr_t)address;
	struct slu_alias *a = ret_handle ? alias_get(at) : NULL;
	CUresult r;

	if (a) {
		struct slu_cuda_handle *h = a->handle;

		if (handle_give(h)) {
			handle_unref(h);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		*ret_handle = handle_value(h);
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
	struct slu_cuda_handle *h = handle_get(handle);

	if (!h)
		return SLU_REAL(cuMemGetAllocationPropertiesFromHandle)(ret_prop, handle);
	if (ret_prop)
		*ret_prop = h->prop;
	handle_unref(h);
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
	struct slu_cuda_handle *h = handle_get(handle);
	CUresult r;

	if (!h)
		return SLU_REAL(cuMemExportToShareableHandle)(ret_shareable, handle, type, flags);
	r = handle_export(h, ret_shareable, type, flags);
	handle_unref(h);
	return r;
}

/* -- reservations ----------------------------------------------------------------------------- */

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t align, CUdeviceptr hint,
			     unsigned long long flags)
{
	CUresult r = SLU_REAL(cuMemAddressReserve)(ret_address, bytes, align, hint, flags);
	int failed;

	if (r != CUDA_SUCCESS)
		return r;
	slu_lock_take(&slu_cuda.lock);
	failed = slu_refs_add(&reservations, (struct slu_ref){ *ret_address, bytes, NULL });
	slu_lock_give(&slu_cuda.lock);
	if (!failed)
		return CUDA_SUCCESS;
	SLU_REAL(cuMemAddressFree)(*ret_address, bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static bool addresses_overlap_alias(uint64_t address, uint64_t bytes)
{
	bool does;

	slu_lock_take(&slu_cuda.lock);
	does = slu_refs_overlaps(&aliases, address, bytes);
	slu_lock_give(&slu_cuda.lock);
	return does;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	struct slu_ref ref;
	bool is_known;
	CUresult r;

	if (addresses_overlap_alias(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	is_known = refs_take(&reservations, address, bytes, &ref);
	r = SLU_REAL(cuMemAddressFree)(address, bytes);
	if (r != CUDA_SUCCESS && is_known) {
		slu_lock_take(&slu_cuda.lock);
		slu_refs_add(&reservations, ref);
		slu_lock_give(&slu_cuda.lock);
	}
	return r;
}

/* -- mappings --------------------------------------------------------------------------------- */

/* Takes the addresses, if they lie in a reservation and nothing is mapped there. */
static CUresult addresses_claim(uint64_t address, uint64_t bytes)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	const struct slu_ref *around;

	if (slu_cuda_foreign_overlaps(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	slu_lock_take(&slu_cuda.lock);
	around = slu_refs_find(&reservations, address);
	if (around && bytes <= around->at + around->n - address &&
	    !slu_refs_overlaps(&aliases, address, bytes))
		r = slu_refs_add(&aliases, (struct slu_ref){ address, bytes, NULL })
			    ? CUDA_ERROR_OUT_OF_MEMORY
			    : CUDA_SUCCESS;
	slu_lock_give(&slu_cuda.lock);
	return r;
}

/* What is mapped at addresses that were claimed. */
static void addresses_set_alias(uint64_t address, struct slu_alias *a)
{
	slu_lock_take(&slu_cuda.lock);
	slu_refs_retarget(&aliases, address, a);
	slu_lock_give(&slu_cuda.lock);
}

static void addresses_release(uint64_t address, uint64_t bytes)
{
	struct slu_ref ref;

	refs_take(&aliases, address, bytes, &ref);
}

static CUresult handle_make_alias(struct slu_cuda_handle *h, uint64_t address, uint64_t bytes)
{
	const struct slu_cuda_device *d = h->range->device;
	struct slu_alias *a;
	CUresult r;

	if (!bytes || bytes > h->range->bytes || bytes % d->granule_bytes ||
	    address % d->granule_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	r = addresses_claim(address, bytes);
	if (r != CUDA_SUCCESS)
		return r;
	r = slu_cuda_handle_alias_new(h, address, bytes, &a);
	if (r == CUDA_SUCCESS)
		addresses_set_alias(address, a);
	else
		addresses_release(address, bytes);
	return r;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct slu_cuda_handle *h = handle_get(handle);
	CUstreamCaptureMode before;
	int saved = errno;
	CUresult r;

	if (!h)
		return addresses_overlap_alias(address, bytes)
			       ? CUDA_ERROR_INVALID_VALUE
			       : slu_cuda_foreign_map(address, bytes, offset, handle, flags);
	before = slu_cuda_capture_relax();
	r = offset || flags ? CUDA_ERROR_INVALID_VALUE : handle_make_alias(h, address, bytes);
	/* an alias keeps the reference */
	if (r != CUDA_SUCCESS)
		handle_unref(h);
	slu_cuda_capture_restore(before);
	errno = saved;
	return r;
}

/* A run of addresses: one alias, or one mapping of the driver's. */
struct run {
	uint64_t address, bytes;
	struct slu_alias *alias;	/* or NULL */
	struct slu_cuda_handle *handle; /* of the alias, with a reference */
};

/* The run that begins at @address, whole, and not longer than @bytes. */
static bool run_find(uint64_t address, uint64_t bytes, struct run *ret_run)
{
	struct slu_alias *a = alias_get(address);
	struct run run = { .address = address, .alias = a, .handle = a ? a->handle : NULL };

	run.bytes = a ? a->bytes : slu_cuda_foreign_mapped_bytes(address);
	if (run.bytes && run.bytes <= bytes && (!a || a->address == address)) {
		*ret_run = run;
		return true;
	}
	if (a)
		handle_unref(a->handle);
	return false;
}

/*
 * Calls @act for each run of the addresses, once it is known that there are only whole ones. The
 * first failure ends it.
 */
static CUresult runs_each(uint64_t address, uint64_t bytes,
			  CUresult (*act)(const struct run *run, void *data), void *data)
{
	CUresult r = CUDA_SUCCESS;
	struct run run;

	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint64_t at = 0; at < bytes && r == CUDA_SUCCESS; at += run.bytes) {
			if (!run_find(address + at, bytes - at, &run))
				return CUDA_ERROR_INVALID_VALUE;
			if (pass)
				r = act(&run, data);
			if (run.handle)
				handle_unref(run.handle);
		}
	}
	return r;
}

static CUresult run_unmap(const struct run *run, void *data)
{
	CUresult r;

	(void)data;
	if (!run->alias)
		return slu_cuda_foreign_unmap(run->address, run->bytes);
	/* no other thread finds it any more */
	addresses_set_alias(run->address, NULL);
	r = slu_cuda_handle_alias_free(run->alias);
	if (r != CUDA_SUCCESS) {
		addresses_set_alias(run->address, run->alias);
		return r;
	}
	addresses_release(run->address, run->bytes);
	handle_unref(run->handle);
	return CUDA_SUCCESS;
}

/* The addresses are the program's until this returns: no other thread can map there. */
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	CUstreamCaptureMode before;
	int saved = errno;
	CUresult r;

	if (!addresses_overlap_alias(address, bytes))
		return slu_cuda_foreign_unmap(address, bytes);
	before = slu_cuda_capture_relax();
	r = runs_each(address, bytes, run_unmap, NULL);
	slu_cuda_capture_restore(before);
	errno = saved;
	return r;
}

struct access {
	const CUmemAccessDesc *descs;
	size_t n;
};

/* What the driver would refuse for device memory. Where it is away the driver is not asked. */
static bool access_is_valid(const struct access *access)
{
	CUdevice device;

	for (size_t i = 0; i < access->n; i++) {
		const CUmemAccessDesc *desc = &access->descs[i];

		if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    SLU_REAL(cuDeviceGet)(&device, desc->location.id) != CUDA_SUCCESS ||
		    (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		     desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		     desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
			return false;
	}
	return true;
}

static bool access_is_local(const struct access *access, const struct slu_cuda_device *d)
{
	for (size_t i = 0; i < access->n; i++)
		if (access->descs[i].location.id != d->ordinal)
			return false;
	return true;
}

/* Whether another device may be given access only the driver knows: it is asked, in the turn. */
static CUresult run_set_access(const struct run *run, void *data)
{
	const struct access *access = data;
	struct slu_cuda_device *d;
	CUresult r;

	if (!run->alias)
		return slu_cuda_foreign_set_access(run->address, run->bytes, access->descs,
						   access->n);
	if (!access_is_valid(access))
		return CUDA_ERROR_INVALID_VALUE;
	d = run->alias->handle->range->device;
	if (access_is_local(access, d))
		return slu_cuda_handle_alias_set_access(run->alias, access->descs, access->n);
	r = slu_cuda_gate_enter(d);
	if (r != CUDA_SUCCESS)
		return r;
	r = slu_cuda_handle_alias_set_access(run->alias, access->descs, access->n);
	slu_cuda_gate_leave(d);
	return r;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t n)
{
	struct access access = { descs, n };
	CUstreamCaptureMode before;
	int saved = errno;
	CUresult r;

	if (!descs || !n || !addresses_overlap_alias(address, bytes))
		return slu_cuda_foreign_set_access(address, bytes, descs, n);
	before = slu_cuda_capture_relax();
	r = runs_each(address, bytes, run_set_access, &access);
	slu_cuda_capture_restore(before);
	errno = saved;
	return r;
}

CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location,
			CUdeviceptr address)
{
	struct slu_alias *a = ret_flags && location ? alias_get(address) : NULL;

	if (!a)
		return SLU_REAL(cuMemGetAccess)(ret_flags, location, address);
	*ret_flags = slu_cuda_handle_alias_access(a, *location);
	handle_unref(a->handle);
	return CUDA_SUCCESS;
}

/* -- multicast: the other devices would keep the pages ------------------------------------------
 */

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle object, size_t object_offset,
			    CUmemGenericAllocationHandle handle, size_t offset, size_t bytes,
			    unsigned long long flags)
{
	struct slu_cuda_handle *h = handle_get(handle);

	if (!h)
		return SLU_REAL(cuMulticastBindMem)(object, object_offset, handle, offset, bytes,
						    flags);
	handle_unref(h);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle object, size_t offset,
			     CUdeviceptr address, size_t bytes, unsigned long long flags)
{
	if (slu_cuda_query_is_ours(address) || addresses_overlap_alias(address, bytes))
		return CUDA_ERROR_NOT_SUPPORTED;
	return SLU_REAL(cuMulticastBindAddr)(object, offset, address, bytes, flags);
}

/* -- without a service context --------------------------------------------------------------- */

/* An extent of a handle on @d that has a unit, or has none. */
static struct slu_extent *extent_find_locked(const struct slu_cuda_device *d, bool has_unit)
{
	struct slu_range *range;
	size_t cursor = 0;

	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor))) {
		if (range->device != d || !range->handle)
			continue;
		for (size_t i = 0; i < range->n_extents; i++)
			if (!range->extents[i].unit != has_unit)
				return &range->extents[i];
	}
	return NULL;
}

static bool extent_take_unit(const struct slu_cuda_device *d, struct slu_unit **ret_unit)
{
	struct slu_extent *e;

	slu_lock_take(&slu_cuda.lock);
	e = extent_find_locked(d, true);
	if (e) {
		*ret_unit = e->unit;
		e->unit = NULL;
		e->stays = e->handle != 0;
	}
	slu_lock_give(&slu_cuda.lock);
	return e != NULL;
}

void slu_cuda_vmm_hand_over(struct slu_cuda_device *device)
{
	struct slu_unit *unit;
	bool is_inside;

	slu_lock_take(&slu_cuda.lock);
	is_inside = extent_find_locked(device, true) != NULL;
	slu_lock_give(&slu_cuda.lock);
	if (!is_inside)
		return;
	/* inside the gate all of it is on the device */
	is_inside = slu_cuda_gate_enter(device) == CUDA_SUCCESS;
	while (extent_take_unit(device, &unit))
		slu_client_unit_free(unit);
	if (is_inside)
		slu_cuda_gate_leave(device);
}

/* What it holds is newer than any copy of it. */
static bool extent_give_unit(struct slu_cuda_device *d, struct slu_extent *e)
{
	struct slu_unit *unit;

	e->compared = (struct slu_cuda_compared){ 0 };
	if (slu_client_unit_new(d->client, e->bytes, e->stays ? SLU_FROZEN_OTHER : SLU_FROZEN_NO, e,
				&unit))
		return false;
	if (e->stays) {
		slu_client_unit_dirty(unit);
		slu_client_unit_freeze(unit, SLU_FROZEN_NO);
	}
	slu_lock_take(&slu_cuda.lock);
	e->unit = unit;
	e->stays = false;
	slu_lock_give(&slu_cuda.lock);
	return true;
}

void slu_cuda_vmm_take_back(struct slu_cuda_device *device)
{
	struct slu_extent *e;

	if (!device->client)
		return;
	do {
		slu_lock_take(&slu_cuda.lock);
		e = extent_find_locked(device, false);
		slu_lock_give(&slu_cuda.lock);
	} while (e && extent_give_unit(device, e));
}
