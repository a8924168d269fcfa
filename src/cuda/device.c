/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cuda/backend.h"
#include "cuda/foreign.h"
#include "cuda/frozen.h"
#include "cuda/memory.h"
#include "cuda/pool.h"
#include "cuda/real.h"
#include "cuda/syncer.h"
#include "cuda/vmm.h"

/* A slab this large holds many small allocations and is still a small unit. */
#define SLAB_BYTES_MIN (256 * SLU_KIB)
#define MAP_TRIES      3

struct slu_cuda slu_cuda = {
	.lock = SLU_LOCK_INIT(SLU_LOCK_FRONT),
	.changed = PTHREAD_COND_INITIALIZER,
};
_Atomic(struct slu_cuda_device *) slu_cuda_only_device;

static pthread_once_t started = PTHREAD_ONCE_INIT;

CUstreamCaptureMode slu_cuda_relax(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	SLU_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return mode;
}

void slu_cuda_unrelax(CUstreamCaptureMode before)
{
	SLU_REAL(cuThreadExchangeStreamCaptureMode)(&before);
}

CUcontext slu_cuda_context_here(void)
{
	CUcontext context = NULL;

	return SLU_REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS ? context : NULL;
}

void slu_cuda_device_identify(CUdevice ordinal, struct slu_hello_device *ret_identity)
{
	CUuuid uuid;
	size_t total = 0;

	*ret_identity = (struct slu_hello_device){ 0 };
	if (SLU_REAL(cuDeviceGetUuid_v2)(&uuid, ordinal) == CUDA_SUCCESS ||
	    SLU_REAL(cuDeviceGetUuid)(&uuid, ordinal) == CUDA_SUCCESS)
		memcpy(ret_identity->uuid, &uuid, sizeof(ret_identity->uuid));
	if (SLU_REAL(cuDeviceGetPCIBusId)(ret_identity->pci, sizeof(ret_identity->pci), ordinal) !=
	    CUDA_SUCCESS)
		ret_identity->pci[0] = '\0';
	if (SLU_REAL(cuDeviceGetName)(ret_identity->name, sizeof(ret_identity->name), ordinal) !=
	    CUDA_SUCCESS)
		snprintf(ret_identity->name, sizeof(ret_identity->name), "CUDA device %d", ordinal);
	ret_identity->name[sizeof(ret_identity->name) - 1] = '\0';
	if (SLU_REAL(cuDeviceTotalMem_v2)(&total, ordinal) == CUDA_SUCCESS)
		ret_identity->total_bytes = total;
}

static void device_add(CUdevice ordinal)
{
	struct slu_cuda_device *d = &slu_cuda.devices[slu_cuda.n_devices];
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal },
	};
	size_t granule = 0;
	int node = 0, pages = 0;

	d->ordinal = ordinal;
	slu_cuda_streams_init(&d->stream_uses);
	slu_cuda_waits_init(&d->waits);
	if (SLU_REAL(cuMemGetAllocationGranularity)(
		    &granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
	    !granule)
		return;
	d->granule_bytes = granule;
	d->slab_bytes = slu_round_up(SLAB_BYTES_MIN, granule);
	if (SLU_REAL(cuDeviceGetAttribute)(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, ordinal) !=
		    CUDA_SUCCESS ||
	    node < 0)
		node = 0;
	d->numa_node = node;
	d->can_page = SLU_REAL(cuDeviceGetAttribute)(&pages,
						     CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
						     ordinal) == CUDA_SUCCESS &&
		      pages;
	/* what failed once would count for the whole life of the program */
	for (unsigned i = 0; i < MAP_TRIES && !d->can_map; i++)
		d->can_map = slu_cuda_backend_can_map(d);
	slu_cuda.n_devices++;
}

/*
 * A child has no driver any more, as the genuine one says, and none of our threads: everything
 * passes. What its parent was doing under our lock is undone in neither.
 */
static void devices_forked(void)
{
	slu_lock_init(&slu_cuda.lock, SLU_LOCK_FRONT);
	slu_cuda.n_devices = 0;
	slu_cuda.ledger = NULL;
	slu_cuda_pool_forked();
	atomic_store(&slu_cuda_only_device, NULL);
}

static void devices_start(void)
{
	int saved = errno, n = 0;

	pthread_atfork(NULL, NULL, devices_forked);
	if (slu_ledger_new(&slu_cuda.ledger) == 0 && SLU_REAL(cuDeviceGetCount)(&n) == CUDA_SUCCESS)
		for (int i = 0; i < n && slu_cuda.n_devices < SLU_CUDA_DEVICES_MAX; i++)
			device_add(i);
	errno = saved;
}

static void service_unmake(struct slu_cuda_device *d)
{
	slu_cuda_syncer_free(d->syncer);
	d->syncer = NULL;
	slu_cuda_flight_deinit(&d->flight);
	slu_cuda_events_deinit(&d->events);
	for (int i = 0; i < _SLU_DIRECTION_MAX; i++) {
		if (d->streams[i])
			SLU_REAL(cuStreamDestroy_v2)(d->streams[i]);
		d->streams[i] = NULL;
	}
}

/* Makes the streams and threads of the shim in @context. The device is STARTING, by this thread. */
static bool service_make(struct slu_cuda_device *d, CUcontext context)
{
	CUstreamCaptureMode before = slu_cuda_relax();
	struct slu_hello_device id;
	bool is_whole = true;

	for (int i = 0; i < _SLU_DIRECTION_MAX; i++)
		is_whole = is_whole &&
			   SLU_REAL(cuStreamCreate)(&d->streams[i], CU_STREAM_NON_BLOCKING) ==
				   CUDA_SUCCESS;
	slu_cuda_flight_init(&d->flight, context);
	slu_cuda_events_init(&d->events);
	slu_cuda_streams_reset(&d->stream_uses);
	is_whole = is_whole && !slu_cuda_syncer_new(d, context, &d->syncer);
	slu_cuda_unrelax(before);
	if (is_whole) {
		slu_cuda_device_identify(d->ordinal, &id);
		d->service = context; /* the client's threads begin with it */
		is_whole = !slu_client_device_add(&id, slu_cuda_device_mode(d), &slu_cuda_backend,
						  d, &d->client);
	}
	if (!is_whole) {
		d->service = NULL;
		service_unmake(d);
		return false;
	}
	d->index = slu_client_device_index(d->client);
	return true;
}

bool slu_cuda_device_begin_start(struct slu_cuda_device *d)
{
	bool is_served;

	slu_lock_take(&slu_cuda.lock);
	while (d->is_starting)
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
	is_served = d->service != NULL;
	d->is_starting = !is_served;
	slu_lock_give(&slu_cuda.lock);
	return !is_served;
}

void slu_cuda_device_end_start(struct slu_cuda_device *d)
{
	slu_lock_take(&slu_cuda.lock);
	d->is_starting = false;
	pthread_cond_broadcast(&slu_cuda.changed);
	slu_lock_give(&slu_cuda.lock);
}

static bool device_serve(struct slu_cuda_device *d, CUcontext context)
{
	bool is_served;

	if (!slu_cuda_device_begin_start(d))
		return true;
	is_served = service_make(d, context);
	slu_cuda_device_end_start(d);
	slu_cuda_foreign_charge_all(d);
	slu_cuda_vmm_take_back(d);
	return is_served;
}

enum slu_mode slu_cuda_device_mode(const struct slu_cuda_device *d)
{
	return d->can_map ? SLU_MODE_MAPPED : SLU_MODE_ALL;
}

static struct slu_cuda_device *device_find(CUdevice ordinal)
{
	for (unsigned i = 0; i < slu_cuda.n_devices; i++)
		if (slu_cuda.devices[i].ordinal == ordinal)
			return &slu_cuda.devices[i];
	return NULL;
}

struct slu_cuda_device *slu_cuda_device_find(CUdevice ordinal)
{
	pthread_once(&started, devices_start);
	return device_find(ordinal);
}

struct slu_cuda_device *slu_cuda_device_here_slow(void)
{
	CUcontext context = slu_cuda_context_here();
	struct slu_cuda_device *d;
	CUdevice ordinal;

	if (!context || SLU_REAL(cuCtxGetDevice)(&ordinal) != CUDA_SUCCESS)
		return NULL;
	d = slu_cuda_device_find(ordinal);
	if (!d || !slu_cuda_context_made(context, ordinal) || !device_serve(d, context))
		return NULL;
	if (slu_cuda.n_devices == 1)
		atomic_store_explicit(&slu_cuda_only_device, d, memory_order_release);
	return d;
}

bool slu_cuda_context_made(CUcontext context, CUdevice ordinal)
{
	bool is_noted;
	unsigned i = 0;

	slu_lock_take(&slu_cuda.lock);
	while (i < slu_cuda.n_contexts && slu_cuda.contexts[i].context != context)
		i++;
	is_noted = i < SLU_CUDA_CONTEXTS_MAX;
	if (is_noted) {
		if (i == slu_cuda.n_contexts)
			slu_cuda.contexts[i].n_attached = 0;
		slu_cuda.contexts[i].context = context;
		slu_cuda.contexts[i].ordinal = ordinal;
		slu_cuda.n_contexts = SLU_MAX(slu_cuda.n_contexts, i + 1);
	}
	slu_lock_give(&slu_cuda.lock);
	return is_noted;
}

static bool device_has_others_locked(const struct slu_cuda_device *d, CUcontext context)
{
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++)
		if (slu_cuda.contexts[i].context != context &&
		    slu_cuda.contexts[i].ordinal == d->ordinal)
			return true;
	return false;
}

/* Memory of a pool is of all contexts of its device. */
static bool device_others_own_locked(const struct slu_cuda_device *d, CUcontext context)
{
	const struct slu_range *range;
	size_t cursor = 0;

	if (slu_cuda_pool_is_used_locked(d) && device_has_others_locked(d, context))
		return true;
	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor)))
		if (range->device == d && range->context && range->context != context &&
		    range->n_allocations)
			return true;
	return false;
}

/* What the end of a context means for its device. */
enum end {
	END_OTHER, /* another context is the service context, or none is */
	END_SERVICE,
	END_KEEP,   /* it is the service context, and others need it */
	END_REFUSE, /* the same, and it cannot stay */
	END_LAST,   /* it is the last one: the service context that was kept for it goes too */
};

static enum end context_end_of_locked(struct slu_cuda_device *d, CUcontext context, bool may_stay)
{
	if (d && d->service == context) {
		if (!device_others_own_locked(d, context))
			return END_SERVICE;
		return may_stay ? END_KEEP : END_REFUSE;
	}
	if (!d || !d->is_service_kept)
		return END_OTHER;
	return device_has_others_locked(d, context) ? END_OTHER : END_LAST;
}

/* Takes @context out of the list. Return: its device, or NULL if we do not know it. */
static struct slu_cuda_device *context_take_out(CUcontext context, bool may_stay, enum end *ret_end)
{
	struct slu_cuda_device *d = NULL;

	*ret_end = END_OTHER;
	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++) {
		if (slu_cuda.contexts[i].context != context)
			continue;
		d = device_find(slu_cuda.contexts[i].ordinal);
		*ret_end = context_end_of_locked(d, context, may_stay);
		if (*ret_end == END_KEEP)
			d->is_service_kept = true;
		if (*ret_end != END_REFUSE)
			slu_cuda.contexts[i] = slu_cuda.contexts[--slu_cuda.n_contexts];
		break;
	}
	slu_lock_give(&slu_cuda.lock);
	return d;
}

static bool context_is_kept(CUcontext context)
{
	bool is = false;

	slu_lock_take(&slu_cuda.lock);
	for (unsigned k = 0; k < slu_cuda.n_devices && !is; k++)
		is = slu_cuda.devices[k].is_service_kept && slu_cuda.devices[k].service == context;
	slu_lock_give(&slu_cuda.lock);
	return is;
}

/* A context that stays is not stopped by its end: what runs there may use memory that goes now. */
static void context_wait(CUcontext context)
{
	CUstreamCaptureMode before;
	CUcontext popped;

	if (SLU_REAL(cuCtxPushCurrent_v2)(context) != CUDA_SUCCESS)
		return;
	before = slu_cuda_relax();
	SLU_REAL(cuCtxSynchronize)();
	slu_cuda_unrelax(before);
	SLU_REAL(cuCtxPopCurrent_v2)(&popped);
}

static void service_end(struct slu_cuda_device *d)
{
	atomic_store_explicit(&slu_cuda_only_device, NULL, memory_order_release);
	slu_cuda_vmm_hand_over(d);
	slu_cuda_frozen_forget(d);
	slu_cuda_foreign_reset(d);
	slu_cuda_graphmem_reset(d);
	slu_client_device_remove(d->client);
	d->client = NULL;
	service_unmake(d);
	slu_lock_take(&slu_cuda.lock);
	d->service = NULL;
	d->is_service_kept = false;
	slu_lock_give(&slu_cuda.lock);
}

CUresult slu_cuda_context_ending(CUcontext context, bool *ret_stays)
{
	enum end end;
	struct slu_cuda_device *d = context_take_out(context, ret_stays, &end);
	CUcontext kept;
	bool takes_all = end == END_SERVICE || end == END_LAST;

	if (end == END_REFUSE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!d && context_is_kept(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!d || !d->service)
		return CUDA_SUCCESS;
	if (end == END_KEEP)
		context_wait(context);
	slu_cuda_syncer_leave(d->syncer, context);
	slu_cuda_flight_forget(&d->flight, context);
	slu_cuda_streams_forget(&d->stream_uses, context);
	slu_cuda_waits_forget(d, takes_all ? NULL : context);
	slu_cuda_pool_context_ending(d, context, takes_all);
	slu_cuda_memory_forget(d, takes_all ? NULL : context);
	if (end == END_KEEP)
		*ret_stays = true;
	kept = d->service;
	if (takes_all)
		service_end(d);
	if (end == END_LAST)
		SLU_REAL(cuCtxDestroy_v2)(kept);
	return CUDA_SUCCESS;
}
