/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/query.h"

#include <string.h>

#include "base/util.h"
#include "cuda/addresses.h"
#include "cuda/capture.h"
#include "cuda/memory.h"
#include "cuda/pool.h"
#include "cuda/real.h"

/* What is known of an address. */
struct pointer {
	uint64_t base, bytes;	      /* the allocation, or the reservation of a mapping */
	uint64_t map_base, map_bytes; /* the mapping; an allocation has one */
	uint64_t id;
	CUcontext
		context; /* that owns it; NULL for memory of pools, and of the program's handles */
	CUdevice ordinal;
	unsigned access;   /* of its device */
	CUmemoryPool pool; /* that it is of, or NULL */
};

static bool pointer_find_mapped(CUdeviceptr address, struct pointer *ret_pointer)
{
	struct slu_cuda_addresses_view view;

	if (!slu_cuda_addresses_look(address, &view))
		return false;
	*ret_pointer = (struct pointer){
		.base = view.address,
		.bytes = view.bytes,
		.map_base = view.map_address,
		.map_bytes = view.map_bytes,
		.id = view.id,
		.ordinal = view.device->ordinal,
		.access = view.access,
	};
	return true;
}

static bool pointer_find_locked(CUdeviceptr address, struct pointer *ret_pointer)
{
	const struct slu_allocation *a = slu_ledger_find(slu_cuda.ledger, address);
	const struct slu_range *range =
		a ? a->range : slu_ledger_find_range(slu_cuda.ledger, address);
	struct slu_cuda_pooled pooled;
	struct pointer p = { .access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	if (a) {
		p.base = a->address;
		p.bytes = a->bytes;
		p.id = a->id;
		p.context = range->context;
	} else if (range && slu_cuda_pool_find_locked(range, address, &pooled)) {
		p.base = pooled.address;
		p.bytes = pooled.bytes;
		p.id = pooled.id;
		p.pool = pooled.pool;
	} else {
		return false;
	}
	p.map_base = p.base;
	p.map_bytes = p.bytes;
	p.ordinal = ((const struct slu_cuda_device *)range->device)->ordinal;
	*ret_pointer = p;
	return true;
}

static bool pointer_find_allocated(CUdeviceptr address, struct pointer *ret_pointer)
{
	bool is_ours;

	if (!slu_cuda.ledger)
		return false;
	slu_lock_take(&slu_cuda.lock);
	is_ours = pointer_find_locked(address, ret_pointer);
	slu_lock_give(&slu_cuda.lock);
	return is_ours;
}

/* Copies out what is known of @address. Return: whether it is ours. */
static bool pointer_find(CUdeviceptr address, struct pointer *ret_pointer)
{
	return pointer_find_allocated(address, ret_pointer) ||
	       pointer_find_mapped(address, ret_pointer);
}

bool slu_cuda_query_is_ours(CUdeviceptr address)
{
	struct pointer unused;

	return pointer_find_allocated(address, &unused);
}

CUresult cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	uint64_t owned;

	if (!d || !ret_free || !ret_total)
		return SLU_REAL(cuMemGetInfo_v2)(ret_free, ret_total);
	*ret_total = slu_client_device_most(d->client);
	owned = slu_sub_floor(slu_client_device_owned(d->client),
			      slu_cuda_memory_kept_bytes(d) + slu_cuda_hasher_bytes(d));
	*ret_free = slu_sub_floor(slu_client_device_offered(d->client), owned);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr address)
{
	struct pointer p;

	if (!pointer_find(address, &p))
		return SLU_REAL(cuMemGetAddressRange_v2)(ret_base, ret_bytes, address);
	if (ret_base)
		*ret_base = p.map_base;
	if (ret_bytes)
		*ret_bytes = p.map_bytes;
	return CUDA_SUCCESS;
}

static CUresult pointer_answer(void *ret, CUpointer_attribute attribute, CUdeviceptr address,
			       const struct pointer *p)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)ret = p->context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)ret = CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)ret = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)ret = p->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)ret = p->ordinal;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)ret = p->base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)ret = p->map_base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)ret = p->bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)ret = p->map_bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)ret = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(int *)ret = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)ret = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(CUmemAccess_flags *)ret = (CUmemAccess_flags)p->access;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)ret = p->pool;
		return CUDA_SUCCESS;
	default:
		/* host pointer, peer-to-peer tokens: there is none, as the genuine driver would say
		 */
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuPointerGetAttribute(void *ret, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct pointer p;

	if (!ret || !pointer_find(address, &p))
		return SLU_REAL(cuPointerGetAttribute)(ret, attribute, address);
	return pointer_answer(ret, attribute, address, &p);
}

bool slu_cuda_query_host_sees(CUdeviceptr address)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	CUmemorytype type = CU_MEMORYTYPE_DEVICE;
	unsigned is_managed = 0;

	SLU_REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
	SLU_REAL(cuPointerGetAttribute)(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
	slu_cuda_capture_restore(before);
	return type == CU_MEMORYTYPE_HOST || is_managed;
}

/* What an attribute that does not apply is set to: the call as a whole succeeds. */
static void attribute_clear(void *ret, CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)ret = NULL;
		return;
	default:
		return;
	}
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **rets,
				CUdeviceptr address)
{
	struct pointer p;

	if (!n || !attributes || !rets || !pointer_find(address, &p))
		return SLU_REAL(cuPointerGetAttributes)(n, attributes, rets, address);
	for (unsigned int i = 0; i < n; i++)
		if (pointer_answer(rets[i], attributes[i], address, &p) != CUDA_SUCCESS)
			attribute_clear(rets[i], attributes[i]);
	return CUDA_SUCCESS;
}

/*
 * Extents move: a handle to their pages would go stale. Better an honest no than a wrong yes. With
 * the setting exportable plain allocations are the driver's (memory.c); the daemon tells people so.
 */
CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
	struct slu_cuda_device *d;
	struct pointer p;

	if (!pointer_find(address, &p))
		return SLU_REAL(cuIpcGetMemHandle)(ret_handle, address);
	/* no setting helps memory that the driver would not export either */
	d = p.context ? slu_cuda_device_find_started(p.ordinal) : NULL;
	if (d)
		slu_client_device_export_refused(d->client);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetHandleForAddressRange(void *ret_handle, CUdeviceptr address, size_t bytes,
				       CUmemRangeHandleType type, unsigned long long flags)
{
	struct pointer p;

	if (pointer_find(address, &p))
		return CUDA_ERROR_NOT_SUPPORTED;
	return SLU_REAL(cuMemGetHandleForAddressRange)(ret_handle, address, bytes, type, flags);
}
