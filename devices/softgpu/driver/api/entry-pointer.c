/* SPDX-License-Identifier: Apache-2.0 */

/* What a pointer is. */

#include <string.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/pool.h"

/* What is known of an address, taken under the driver's lock. */
struct pointer {
	bool is_known;
	bool is_device;
	bool is_host; /* the host may use it */
	bool is_managed;
	uint64_t base, bytes; /* the allocation, or the reservation of a mapping */
	uint64_t map_base, map_bytes;
	uint64_t id;
	struct dev_context *context; /* NULL for mapped handles */
	int device;
	unsigned access;
};

static struct pointer pointer_look(uint64_t address)
{
	struct pointer p = { .device = CU_DEVICE_INVALID };
	struct dev_managed_view managed;
	const struct dev_mapping *m;
	const struct dev_alloc *a;
	const struct dev_host *h;
	const struct dev_span *s;

	dev_driver_lock();
	m = dev_window_mapping(&dev_driver.window, address);
	a = dev_memory_find_locked(address);
	h = dev_memory_find_host_locked(address);
	if (m) {
		s = dev_spans_find(&dev_driver.window.reservations, address);
		p.is_known = true;
		p.is_device = m->phys->card != NULL;
		p.is_host = m->is_host_readable;
		p.base = s->base;
		p.bytes = s->bytes;
		p.map_base = m->base;
		p.map_bytes = m->phys->bytes;
		p.id = m->phys->id | (UINT64_C(1) << 32);
		p.device = m->phys->card ? (int)m->phys->card->index : 0;
		p.access = m->access[p.device];
	}
	if (a) {
		p.base = p.map_base = a->base;
		p.bytes = p.map_bytes = a->bytes;
		p.id = a->id;
		p.context = a->context;
	}
	if (h) {
		p.is_known = p.is_host = true;
		p.base = p.map_base = h->base;
		p.bytes = p.map_bytes = h->bytes;
		p.id = h->id;
		p.context = h->context;
		p.device = (int)h->context->card->index;
		p.access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	}
	dev_driver_unlock();
	if (dev_managed_look(address, &managed)) {
		p.is_device = p.is_managed = true;
		p.base = p.map_base = managed.base;
		p.bytes = p.map_bytes = managed.bytes;
		p.id = managed.id;
		p.context = managed.context;
		p.device = managed.context ? (int)managed.context->card->index : 0;
		p.access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	}
	return p;
}

/* Return: INVALID_VALUE where the question makes no sense for this pointer. */
static CUresult pointer_answer(const struct pointer *p, uint64_t address, CUpointer_attribute which,
			       void *data)
{
	switch (which) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = p->context ? dev_context_handle(p->context) : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(CUmemorytype *)data = p->is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!p->is_host)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = p->is_managed;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned *)data = p->is_device && p->context && !p->is_managed;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = p->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = p->device;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = p->base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = p->bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)data = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(unsigned *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = p->access;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = (CUmemoryPool)(void *)dev_pool_of(address);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = p->map_bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = p->map_base;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr address)
{
	struct pointer p;

	DEV_TRY(dev_driver_enter());
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	p = pointer_look(address);
	return p.is_known ? pointer_answer(&p, address, which, data) : CUDA_ERROR_INVALID_VALUE;
}

static size_t answer_bytes(CUpointer_attribute which)
{
	switch (which) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 4;
	default:
		return 8;
	}
}

/* Unlike the single question, this one answers zero for what is not known. */
CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *which, void **data,
				CUdeviceptr address)
{
	struct pointer p;

	DEV_TRY(dev_driver_enter());
	if (!n || !which || !data)
		return CUDA_ERROR_INVALID_VALUE;
	p = pointer_look(address);
	for (unsigned i = 0; i < n; i++) {
		CUresult result;

		if (!data[i])
			return CUDA_ERROR_INVALID_VALUE;
		result = p.is_known ? pointer_answer(&p, address, which[i], data[i])
				    : CUDA_ERROR_INVALID_VALUE;
		if (result == CUDA_ERROR_NOT_SUPPORTED)
			return result;
		if (!result)
			continue;
		memset(data[i], 0, answer_bytes(which[i]));
		if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = CU_DEVICE_INVALID;
	}
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr address)
{
	struct dev_context *context;
	struct pointer p;

	DEV_TRY(dev_context_enter(&context));
	p = pointer_look(address);
	if (!p.is_known)
		return CUDA_ERROR_NOT_FOUND;
	/* of mapped handles the genuine driver tells the one handle, not the reservation */
	if (ret_base)
		*ret_base = p.map_base;
	if (ret_bytes)
		*ret_bytes = p.map_bytes;
	return CUDA_SUCCESS;
}

/* Copies of pageable memory are waited for in any case; more synchronising is not to be had. */
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute which, CUdeviceptr address)
{
	struct pointer p;

	DEV_TRY(dev_driver_enter());
	p = pointer_look(address);
	if (!value || !p.is_known || which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	return *(const unsigned *)value ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}
