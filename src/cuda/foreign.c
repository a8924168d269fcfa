/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "cuda/frozen.h"
#include "cuda/headroom.h"
#include "cuda/mapping.h"
#include "cuda/memory.h"
#include "cuda/real.h"
#include "cuda/table.h"

struct memory {
	LIST_ENTRY(memory) link;
	struct slu_cuda_device *device; /* constant */
	uint64_t bytes;			/* constant */
	size_t n_refs; /* in the two tables, and of threads that are about to add one */
	bool is_charged;
};

/* Guarded by slu_cuda.lock. */
static LIST_HEAD(, memory) memories;

static void memory_hold_locked(void *target)
{
	struct memory *m = target;

	m->n_refs++;
}

static struct slu_cuda_table handles = { .hold_locked = memory_hold_locked };
static struct slu_cuda_table mappings = { .hold_locked = memory_hold_locked };

static uint64_t memory_key(const struct memory *m)
{
	return (uint64_t)(uintptr_t)m;
}

/* Return: whether the caller is to charge it, without the lock. */
static bool memory_begin_charge_locked(struct memory *m)
{
	if (m->is_charged || !m->device->service || m->device->is_starting)
		return false;
	m->is_charged = true;
	return true;
}

static void memory_charge(struct memory *m, uint64_t *reserved_bytes)
{
	slu_cuda_frozen_add(m->device, memory_key(m), m->bytes, SLU_FROZEN_OTHER, reserved_bytes);
}

static void memory_unref(struct memory *m)
{
	bool is_last;

	slu_lock_take(&slu_cuda.lock);
	is_last = !--m->n_refs;
	if (is_last)
		LIST_REMOVE(m, link);
	slu_lock_give(&slu_cuda.lock);
	if (!is_last)
		return;
	slu_cuda_frozen_remove(memory_key(m));
	free(m);
}

/* What cannot be noted is left out. */
static void memory_note(struct slu_cuda_device *d, CUmemGenericAllocationHandle handle,
			uint64_t bytes, uint64_t *reserved_bytes)
{
	struct memory *m = malloc(sizeof(*m));
	bool is_due;

	if (!m)
		return;
	*m = (struct memory){ .device = d, .bytes = bytes, .n_refs = 2 };
	if (slu_cuda_table_add(&handles, (struct slu_ref){ handle, 1, m })) {
		free(m);
		return;
	}
	slu_lock_take(&slu_cuda.lock);
	LIST_INSERT_HEAD(&memories, m, link);
	is_due = memory_begin_charge_locked(m);
	slu_lock_give(&slu_cuda.lock);
	if (is_due)
		memory_charge(m, reserved_bytes);
	memory_unref(m);
}

/* What @at in @table refers to, with a reference for the caller; NULL: none is known. */
static struct memory *memory_get(struct slu_cuda_table *table, uint64_t at)
{
	struct slu_ref ref;

	return slu_cuda_table_find(table, at, &ref) ? ref.target : NULL;
}

/* The caller's reference goes into @table. Where there is no memory for that, it lasts for ever. */
static void ref_keep(struct slu_cuda_table *table, struct slu_ref ref)
{
	int saved = errno;

	slu_cuda_table_add(table, ref);
	errno = saved;
}

void slu_cuda_foreign_retained(CUmemGenericAllocationHandle handle, uint64_t address)
{
	struct memory *m = memory_get(&mappings, address);

	if (m)
		ref_keep(&handles, (struct slu_ref){ handle, 1, m });
}

bool slu_cuda_foreign_overlaps(uint64_t address, uint64_t bytes)
{
	return slu_cuda_table_overlaps(&mappings, address, bytes);
}

uint64_t slu_cuda_foreign_mapped_bytes(uint64_t address)
{
	struct slu_ref ref;

	if (!slu_cuda_table_find(&mappings, address, &ref))
		return 0;
	memory_unref(ref.target);
	return ref.at + ref.n - address;
}

void slu_cuda_foreign_charge_all(struct slu_cuda_device *device)
{
	struct memory *m;

	do {
		slu_lock_take(&slu_cuda.lock);
		LIST_FOREACH (m, &memories, link)
			if (m->device == device && memory_begin_charge_locked(m))
				break;
		if (m)
			m->n_refs++;
		slu_lock_give(&slu_cuda.lock);
		if (m) {
			memory_charge(m, &(uint64_t){ 0 });
			memory_unref(m);
		}
	} while (m);
}

void slu_cuda_foreign_reset(struct slu_cuda_device *device)
{
	struct memory *m;

	slu_lock_take(&slu_cuda.lock);
	LIST_FOREACH (m, &memories, link)
		if (m->device == device)
			m->is_charged = false;
	slu_lock_give(&slu_cuda.lock);
}

/* -- the calls -------------------------------------------------------------------------------- */

/* The device if it is SERVED, else NULL: only a device with a service context gets headroom. */
static struct slu_cuda_device *device_if_served(struct slu_cuda_device *d)
{
	bool is_served;

	slu_lock_take(&slu_cuda.lock);
	is_served = d && d->service && !d->is_starting;
	slu_lock_give(&slu_cuda.lock);
	return is_served ? d : NULL;
}

CUresult slu_cuda_foreign_create(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
				 const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct slu_cuda_device *d, *served;
	uint64_t reserved;
	int saved = errno;
	CUresult r;

	if (!ret_handle || !prop || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return SLU_REAL(cuMemCreate)(ret_handle, bytes, prop, flags);
	slu_cuda_device_here();
	d = slu_cuda_device_find(prop->location.id);
	served = device_if_served(d);
	reserved = served ? bytes : 0;
	if (served && !slu_cuda_memory_reserve(served, bytes, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = SLU_REAL(cuMemCreate)(ret_handle, bytes, prop, flags);
	SLU_CUDA_HEADROOM_RETRY (served, bytes, r)
		r = SLU_REAL(cuMemCreate)(ret_handle, bytes, prop, flags);
	if (r == CUDA_SUCCESS && d)
		memory_note(d, *ret_handle, bytes, &reserved);
	if (served)
		slu_client_device_unreserve(served->client, reserved);
	errno = saved;
	return r;
}

/* Taken out before: as soon as the driver has it, another thread may get the same value anew. */
CUresult slu_cuda_foreign_release(CUmemGenericAllocationHandle handle)
{
	struct slu_ref ref;
	bool is_known = slu_cuda_table_take(&handles, handle, 1, &ref);
	CUresult r = SLU_REAL(cuMemRelease)(handle);

	if (!is_known)
		return r;
	if (r == CUDA_SUCCESS)
		memory_unref(ref.target);
	else
		ref_keep(&handles, ref);
	return r;
}

CUresult slu_cuda_foreign_map(CUdeviceptr address, size_t bytes, size_t offset,
			      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct memory *m = memory_get(&handles, handle);
	CUresult r;
	int lock;

	if (!m)
		return SLU_REAL(cuMemMap)(address, bytes, offset, handle, flags);
	lock = slu_cuda_mapping_begin(m->device);
	r = SLU_REAL(cuMemMap)(address, bytes, offset, handle, flags);
	slu_cuda_mapping_end(lock);
	if (r == CUDA_SUCCESS)
		ref_keep(&mappings, (struct slu_ref){ address, bytes, m });
	else
		memory_unref(m);
	return r;
}

/* The addresses are the program's until this returns: no other thread can map there. */
CUresult slu_cuda_foreign_unmap(CUdeviceptr address, size_t bytes)
{
	struct memory *m = memory_get(&mappings, address);
	int lock = m ? slu_cuda_mapping_begin(m->device) : -1;
	CUresult r = SLU_REAL(cuMemUnmap)(address, bytes);
	struct slu_ref ref;

	slu_cuda_mapping_end(lock);
	if (m)
		memory_unref(m);
	while (r == CUDA_SUCCESS && slu_cuda_table_take(&mappings, address, bytes, &ref))
		memory_unref(ref.target);
	return r;
}

CUresult slu_cuda_foreign_set_access(CUdeviceptr address, size_t bytes,
				     const CUmemAccessDesc *descs, size_t n)
{
	struct memory *m = memory_get(&mappings, address);
	int lock = m ? slu_cuda_mapping_begin(m->device) : -1;
	CUresult r = SLU_REAL(cuMemSetAccess)(address, bytes, descs, n);

	slu_cuda_mapping_end(lock);
	if (m)
		memory_unref(m);
	return r;
}
