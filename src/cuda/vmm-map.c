/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls that map memory. Aliases (addresses.h) are served here, whether their memory
 * is on the device or not; everything else goes to the driver (foreign.h).
 */
#include "cuda/vmm.h"

#include <errno.h>

#include "cuda/addresses.h"
#include "cuda/capture.h"
#include "cuda/foreign.h"
#include "cuda/gate.h"
#include "cuda/handle.h"
#include "cuda/real.h"

static CUresult handle_make_alias(struct slu_cuda_handle *h, uint64_t address, uint64_t bytes)
{
	const struct slu_cuda_device *d = h->range->device;
	struct slu_alias *a;
	CUresult r;

	if (!bytes || bytes > h->range->bytes || bytes % d->granule_bytes ||
	    address % d->granule_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	r = slu_cuda_addresses_claim(address, bytes);
	if (r != CUDA_SUCCESS)
		return r;
	r = slu_cuda_alias_new(h, address, bytes, &a);
	if (r == CUDA_SUCCESS)
		slu_cuda_addresses_set_alias(address, a);
	else
		slu_cuda_addresses_release(address, bytes);
	return r;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct slu_cuda_handle *h = slu_cuda_handle_get(handle);
	CUstreamCaptureMode before;
	int saved = errno;
	CUresult r;

	if (!h)
		return slu_cuda_addresses_have_alias(address, bytes)
			       ? CUDA_ERROR_INVALID_VALUE
			       : slu_cuda_foreign_map(address, bytes, offset, handle, flags);
	before = slu_cuda_capture_relax();
	r = offset || flags ? CUDA_ERROR_INVALID_VALUE : handle_make_alias(h, address, bytes);
	/* an alias keeps the reference */
	if (r != CUDA_SUCCESS)
		slu_cuda_handle_unref(h);
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
	struct slu_alias *a = slu_cuda_addresses_alias(address);
	struct run run = { .address = address, .alias = a, .handle = a ? a->handle : NULL };

	run.bytes = a ? a->bytes : slu_cuda_foreign_mapped_bytes(address);
	if (run.bytes && run.bytes <= bytes && (!a || a->address == address)) {
		*ret_run = run;
		return true;
	}
	if (a)
		slu_cuda_handle_unref(a->handle);
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
				slu_cuda_handle_unref(run.handle);
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
	slu_cuda_addresses_set_alias(run->address, NULL);
	r = slu_cuda_alias_free(run->alias);
	if (r != CUDA_SUCCESS) {
		slu_cuda_addresses_set_alias(run->address, run->alias);
		return r;
	}
	slu_cuda_addresses_release(run->address, run->bytes);
	slu_cuda_handle_unref(run->handle);
	return CUDA_SUCCESS;
}

/* The addresses are the program's until this returns: no other thread can map there. */
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	CUstreamCaptureMode before;
	int saved = errno;
	CUresult r;

	if (!slu_cuda_addresses_have_alias(address, bytes))
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
		return slu_cuda_alias_set_access(run->alias, access->descs, access->n);
	r = slu_cuda_gate_enter(d);
	if (r != CUDA_SUCCESS)
		return r;
	r = slu_cuda_alias_set_access(run->alias, access->descs, access->n);
	slu_cuda_gate_leave(d);
	return r;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t n)
{
	struct access access = { descs, n };
	CUstreamCaptureMode before;
	int saved = errno;
	CUresult r;

	if (!descs || !n || !slu_cuda_addresses_have_alias(address, bytes))
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
	struct slu_alias *a = ret_flags && location ? slu_cuda_addresses_alias(address) : NULL;

	if (!a)
		return SLU_REAL(cuMemGetAccess)(ret_flags, location, address);
	*ret_flags = slu_cuda_alias_access(a, *location);
	slu_cuda_handle_unref(a->handle);
	return CUDA_SUCCESS;
}
