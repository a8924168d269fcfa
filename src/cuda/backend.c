/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "cuda/bypass.h"
#include "cuda/capture.h"
#include "cuda/dead.h"
#include "cuda/device.h"
#include "cuda/handle.h"
#include "cuda/mapping.h"
#include "cuda/paging.h"
#include "cuda/real.h"
#include "cuda/syncer.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14, and newer than some C libraries */
#endif

int slu_cuda_backend_translate(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS:
		return 0;
	case CUDA_ERROR_OUT_OF_MEMORY:
	case CUDA_ERROR_NOT_READY: /* mapping while the system is short of memory */
		return SLU_BACKEND_E_REFUSED;
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_LAUNCH_FAILED:
		return SLU_BACKEND_E_LOST;
	default:
		return slu_error(-EIO);
	}
}

static void backend_thread_begin(void *data)
{
	struct slu_cuda_device *d = data;

	SLU_REAL(cuCtxSetCurrent)(d->service);
	slu_cuda_capture_relax();
}

/*
 * Makes a handle as @prop says and maps it at @address, for the device (and the CPU). After a
 * failure the caller has the handle only if the driver refuses to unmap it.
 */
static CUresult memory_place(const struct slu_cuda_device *d, uint64_t address, uint64_t bytes,
			     const CUmemAllocationProp *prop,
			     CUmemGenericAllocationHandle *ret_handle)
{
	const CUmemAccessDesc access[] = {
		{ .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal },
		  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
		{ .location = prop->location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
	};
	const size_t n_access = prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1 : 2;
	CUmemGenericAllocationHandle handle;
	bool is_mapped;
	CUresult r;

	r = SLU_REAL(cuMemCreate)(&handle, bytes, prop, 0);
	if (r != CUDA_SUCCESS)
		return r;
	r = slu_cuda_mapping_make(d, address, bytes, handle, access, n_access, &is_mapped);
	if (is_mapped)
		*ret_handle = handle;
	else
		SLU_REAL(cuMemRelease)(handle);
	return r;
}

/*
 * An extent that the driver refused to unmap twice keeps its handle: nothing else can be mapped at
 * its address, so the next placement there tries to unmap it once more.
 */
static CUresult extent_displace_begun(const struct slu_cuda_device *d, struct slu_extent *e)
{
	CUresult r = slu_cuda_handle_unmap(e->range->handle, e);

	if (r == CUDA_SUCCESS)
		r = slu_cuda_mapping_remove(d, e->address, e->bytes);
	if (r != CUDA_SUCCESS)
		return r;
	SLU_REAL(cuMemRelease)(e->handle);
	e->handle = 0;
	return CUDA_SUCCESS;
}

static CUresult extent_displace(const struct slu_cuda_device *d, struct slu_extent *e)
{
	CUresult r;

	if (e->stays)
		return CUDA_SUCCESS;
	slu_cuda_handle_begin(e->range->handle);
	r = extent_displace_begun(d, e);
	slu_cuda_handle_end(e->range->handle);
	return r;
}

void slu_cuda_backend_displace(const struct slu_cuda_device *device, struct slu_extent *extent)
{
	if (extent->handle)
		extent_displace(device, extent);
}

/* In host memory an extent is as all others; on the device it is as the program asked for. */
static CUmemAllocationProp extent_prop(const struct slu_extent *e, CUmemLocation location)
{
	if (e->range->handle && location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		return e->range->handle->prop;
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location };
}

static CUresult extent_place(const struct slu_cuda_device *d, struct slu_extent *e,
			     CUmemLocation location)
{
	const CUmemAllocationProp prop = extent_prop(e, location);
	CUmemGenericAllocationHandle handle = 0;
	CUresult r = CUDA_SUCCESS;

	slu_cuda_handle_begin(e->range->handle);
	if (e->handle)
		r = extent_displace_begun(d, e);
	if (r == CUDA_SUCCESS) {
		r = memory_place(d, e->address, e->bytes, &prop, &handle);
		e->handle = handle;
	}
	if (r == CUDA_SUCCESS) {
		r = slu_cuda_handle_map(e->range->handle, e, e->handle);
		if (r != CUDA_SUCCESS)
			extent_displace_begun(d, e);
	}
	slu_cuda_handle_end(e->range->handle);
	return r;
}

/* On a thread of the program (an allocation) or on a mover's: either may hold a capture mode. */
static int backend_create(void *data, struct slu_unit *unit)
{
	struct slu_cuda_device *d = data;
	struct slu_extent *e = unit->owner;
	const CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal };
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	CUresult r = extent_place(d, e, here);

	slu_cuda_capture_restore(before);
	return slu_cuda_backend_translate(r);
}

static void backend_destroy(void *data, struct slu_unit *unit)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();

	extent_displace(data, unit->owner);
	slu_cuda_capture_restore(before);
}

static int backend_copy(void *data, struct slu_unit *unit, enum slu_direction direction,
			uint64_t offset, void *host, uint64_t bytes, struct slu_ticket *ret_ticket)
{
	struct slu_cuda_device *d = data;
	struct slu_extent *e = unit->owner;
	CUstream stream = d->streams[direction];
	CUevent event;
	CUresult r;

	if (direction == SLU_DIRECTION_OUT && !offset)
		slu_cuda_compare_copies(unit);
	r = slu_cuda_events_take(&d->events, &event);
	if (r != CUDA_SUCCESS)
		return slu_cuda_backend_translate(r);
	if (direction == SLU_DIRECTION_IN)
		r = SLU_REAL(cuMemcpyHtoDAsync_v2)(e->address + offset, host, bytes, stream);
	else
		r = SLU_REAL(cuMemcpyDtoHAsync_v2)(host, e->address + offset, bytes, stream);
	if (r == CUDA_SUCCESS)
		r = SLU_REAL(cuEventRecord)(event, stream);
	if (r != CUDA_SUCCESS) {
		/* what was enqueued may still read or write @host: it is not ours to give back yet
		 */
		SLU_REAL(cuStreamSynchronize)(stream);
		slu_cuda_events_put(&d->events, event);
		return slu_cuda_backend_translate(r);
	}
	ret_ticket->data[0] = (uint64_t)(uintptr_t)event;
	ret_ticket->data[1] = direction == SLU_DIRECTION_OUT ? bytes : 0;
	if (ret_ticket->data[1])
		slu_cuda_comparer_copy_begins(&d->comparer);
	return 0;
}

static int backend_poll(void *data, struct slu_ticket *ticket, bool wait)
{
	struct slu_cuda_device *d = data;
	CUevent event = (CUevent)(uintptr_t)ticket->data[0];
	CUresult r = wait ? SLU_REAL(cuEventSynchronize)(event) : SLU_REAL(cuEventQuery)(event);

	if (r == CUDA_ERROR_NOT_READY)
		return SLU_BACKEND_E_BUSY;
	slu_cuda_events_put(&d->events, event);
	if (ticket->data[1])
		slu_cuda_comparer_copy_ends(&d->comparer, ticket->data[1]);
	ticket->data[0] = 0;
	return slu_cuda_backend_translate(r);
}

/* Whether what is queued waits for the host, and whether that is all there is. */
static int host_calls_poll(struct slu_cuda_device *d)
{
	if (!slu_cuda_waits_for_host(d))
		return SLU_BACKEND_E_BUSY;
	return slu_cuda_streams_is_at_rest(d) ? 0 : SLU_BACKEND_E_BLOCKED;
}

uint64_t slu_cuda_backend_n_submitted(const struct slu_cuda_device *d)
{
	return slu_gate_n_entries() + atomic_load(&d->n_passed) + slu_cuda_bypass_n_counted();
}

/*
 * All that we know of, @n calls, has ended: what still runs is what we do not know of. Its program
 * keeps its memory from then on, and is not waited for.
 */
static int bypass_poll(struct slu_cuda_device *d, uint64_t n)
{
	if (!atomic_load(&d->passes_by) && !slu_cuda_streams_are_idle(d)) {
		if (!slu_gate_is_past(d->index) || slu_cuda_bypass_is_under_way() ||
		    slu_cuda_backend_n_submitted(d) != n || atomic_load(&d->n_capturing))
			return SLU_BACKEND_E_BUSY;
		slu_cuda_bypass_met(d);
	}
	slu_cuda_bypass_keep(d);
	return 0;
}

static int device_poll(struct slu_cuda_device *d)
{
	uint64_t n;
	int r;

	/* in this order: see gate.h. A capture records what it sees; waiting now would end it */
	if (atomic_load(&d->n_capturing) || atomic_load(&d->n_passing))
		return SLU_BACKEND_E_BUSY;
	n = slu_cuda_backend_n_submitted(d);
	r = slu_cuda_syncer_poll(d->syncer, n);
	if (r == SLU_BACKEND_E_BUSY)
		return host_calls_poll(d);
	return r == 0 ? bypass_poll(d, n) : r;
}

/* At rest others may need what graphs keep for their next launch. */
static int backend_drain(void *data)
{
	struct slu_cuda_device *d = data;
	int r = device_poll(d);

	if (r == 0)
		slu_cuda_graphmem_give_idle(d);
	return r;
}

/* The gate is open: the answer may be out of date when it is given, and nothing depends on it. */
static int backend_progress(void *data)
{
	struct slu_cuda_device *d = data;
	int r = device_poll(d);

	if (r == 0)
		slu_cuda_graphmem_look(d);
	return r;
}

static int backend_compare(void *data, struct slu_unit *unit, const void *host, bool always)
{
	return slu_cuda_compare(data, unit, host, always);
}

static void backend_will_compare(void *data, struct slu_unit *unit)
{
	slu_cuda_compare_prepare(data, unit);
}

static void backend_placed(void *data, struct slu_unit *unit)
{
	slu_cuda_compare_placed(unit);
}

static bool backend_is_dead(void *data, struct slu_unit *unit)
{
	return slu_cuda_dead_is(data, unit);
}

static uint64_t backend_hint_dead(void *data, uint64_t address, uint64_t bytes)
{
	return slu_cuda_dead_hint(data, address, bytes);
}

/*
 * Pinning stops every CUDA process of the machine for as long as it takes. So the pages are there
 * before the driver is asked, and it is asked for a chunk at a time, by the threads that will use
 * it and before there is anything to move.
 */
static void *backend_pin(void *data, uint64_t bytes)
{
	void *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)data;
	if (host == MAP_FAILED)
		return NULL;
	madvise(host, bytes, MADV_DONTFORK);
	madvise(host, bytes, MADV_DONTDUMP);
	/* page by page it would be most of what the start of a program costs */
	madvise(host, bytes, MADV_HUGEPAGE);
	/* where the kernel cannot, the driver does it while it pins */
	madvise(host, bytes, MADV_POPULATE_WRITE);
	if (SLU_REAL(cuMemHostRegister_v2)(host, bytes, 0) == CUDA_SUCCESS)
		return host;
	munmap(host, bytes);
	return NULL;
}

/* What the driver does not give up stays mapped: it may still write there. */
static void backend_unpin(void *data, void *host, uint64_t bytes)
{
	(void)data;
	if (SLU_REAL(cuMemHostUnregister)(host) == CUDA_SUCCESS)
		munmap(host, bytes);
}

/* The pages are there before the driver is asked, which has nothing to do but to lock them. */
static int backend_pin_copy(void *data, void *host, uint64_t bytes)
{
	(void)data;
	madvise(host, bytes, MADV_POPULATE_WRITE);
	return slu_cuda_backend_translate(SLU_REAL(cuMemHostRegister_v2)(host, bytes, 0));
}

/* Also on a thread of the program that frees the unit, which may have no context. */
static int backend_unpin_copy(void *data, void *host, uint64_t bytes)
{
	const struct slu_cuda_device *d = data;
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	CUresult r = SLU_REAL(cuCtxPushCurrent_v2)(d->service);
	CUcontext popped;

	(void)bytes;
	if (r == CUDA_SUCCESS) {
		r = SLU_REAL(cuMemHostUnregister)(host);
		SLU_REAL(cuCtxPopCurrent_v2)(&popped);
	}
	slu_cuda_capture_restore(before);
	return slu_cuda_backend_translate(r);
}

static void backend_page(void *data, uint64_t bytes, bool is_in)
{
	slu_cuda_paging_move(data, bytes, is_in);
}

static CUmemLocation device_host_location(const struct slu_cuda_device *d)
{
	return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = d->numa_node };
}

static int backend_map(void *data, struct slu_unit *unit, void **ret_host)
{
	struct slu_cuda_device *d = data;
	struct slu_extent *e = unit->owner;
	CUresult r;

	if (!d->can_map)
		return SLU_BACKEND_E_REFUSED;
	r = extent_place(d, e, device_host_location(d));
	if (r != CUDA_SUCCESS)
		return slu_cuda_backend_translate(r);
	e->cpu = (void *)(uintptr_t)e->address;
	*ret_host = e->cpu;
	return 0;
}

static void backend_unmap(void *data, struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;

	extent_displace(data, e);
	e->cpu = NULL;
	e->compared.version = 0; /* its bytes were written where the host copy is */
}

bool slu_cuda_backend_can_map(const struct slu_cuda_device *device)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = device_host_location(device) };
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr address;
	bool works = false;

	if (SLU_REAL(cuMemAddressReserve)(&address, device->granule_bytes, 0, 0, 0) ==
	    CUDA_SUCCESS) {
		works = memory_place(device, address, device->granule_bytes, &prop, &handle) ==
			CUDA_SUCCESS;
		/* the CPU's view is part of the proof: the clean copy lives there */
		if (works)
			*(volatile char *)(uintptr_t)address = 1;
		if (handle) {
			slu_cuda_mapping_remove(device, address, device->granule_bytes);
			SLU_REAL(cuMemRelease)(handle);
		}
		SLU_REAL(cuMemAddressFree)(address, device->granule_bytes);
	}
	slu_cuda_capture_restore(before);
	return works;
}

const struct slu_backend slu_cuda_backend = {
	.name = "cuda",
	.wants_staging = true,
	.compares_if_asked = true,
	.thread_begin = backend_thread_begin,
	.create = backend_create,
	.destroy = backend_destroy,
	.copy = backend_copy,
	.poll = backend_poll,
	.drain = backend_drain,
	.compare = backend_compare,
	.will_compare = backend_will_compare,
	.is_dead = backend_is_dead,
	.hint_dead = backend_hint_dead,
	.placed = backend_placed,
	.progress = backend_progress,
	.pin = backend_pin,
	.unpin = backend_unpin,
	.pin_copy = backend_pin_copy,
	.unpin_copy = backend_unpin_copy,
	.map = backend_map,
	.page = backend_page,
	.unmap = backend_unmap,
};
