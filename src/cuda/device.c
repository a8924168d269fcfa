/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cuda/analyst.h"
#include "cuda/backend.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/foreign.h"
#include "cuda/frozen.h"
#include "cuda/kernels.h"
#include "cuda/modules.h"
#include "cuda/pool.h"
#include "cuda/predict-trace.h"
#include "cuda/real.h"
#include "cuda/recipe.h"
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
	slu_cuda_kernels_forked();
	slu_cuda_recipe_forked();
	slu_cuda_analyst_forked();
	atomic_store(&slu_cuda_only_device, NULL);
}

static void devices_start(void)
{
	int saved = errno, n = 0;

	pthread_atfork(NULL, NULL, devices_forked);
	slu_cuda_predict_trace_start();
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
	slu_cuda_comparer_deinit(&d->comparer);
	for (int i = 0; i < _SLU_DIRECTION_MAX; i++) {
		if (d->streams[i])
			SLU_REAL(cuStreamDestroy_v2)(d->streams[i]);
		d->streams[i] = NULL;
	}
}

/* Makes the streams and threads of the shim in @context. The device is STARTING, by this thread. */
static bool service_make(struct slu_cuda_device *d, CUcontext context)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	struct slu_hello_device id;
	bool is_whole = true;

	for (int i = 0; i < _SLU_DIRECTION_MAX; i++)
		is_whole = is_whole &&
			   SLU_REAL(cuStreamCreate)(&d->streams[i], CU_STREAM_NON_BLOCKING) ==
				   CUDA_SUCCESS;
	slu_cuda_flight_init(&d->flight, context);
	slu_cuda_events_init(&d->events);
	slu_cuda_comparer_init(&d->comparer);
	slu_cuda_streams_reset(&d->stream_uses);
	is_whole = is_whole && !slu_cuda_syncer_new(d, context, &d->syncer);
	slu_cuda_capture_restore(before);
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
	slu_cuda_modules_charge_all(d);
	slu_cuda_vmm_take_back(d);
	return is_served;
}

enum slu_mode slu_cuda_device_mode(const struct slu_cuda_device *d)
{
	return d->can_map ? SLU_MODE_MAPPED : SLU_MODE_ALL;
}

struct slu_cuda_device *slu_cuda_device_find_started(CUdevice ordinal)
{
	for (unsigned i = 0; i < slu_cuda.n_devices; i++)
		if (slu_cuda.devices[i].ordinal == ordinal)
			return &slu_cuda.devices[i];
	return NULL;
}

struct slu_cuda_device *slu_cuda_device_find(CUdevice ordinal)
{
	pthread_once(&started, devices_start);
	return slu_cuda_device_find_started(ordinal);
}

struct slu_cuda_device *slu_cuda_device_here_slow(void)
{
	CUcontext context = slu_cuda_contexts_current();
	struct slu_cuda_device *d;
	CUdevice ordinal;

	if (!context || SLU_REAL(cuCtxGetDevice)(&ordinal) != CUDA_SUCCESS)
		return NULL;
	d = slu_cuda_device_find(ordinal);
	if (!d || !slu_cuda_contexts_add(context, ordinal) || !device_serve(d, context))
		return NULL;
	if (slu_cuda.n_devices == 1)
		atomic_store_explicit(&slu_cuda_only_device, d, memory_order_release);
	return d;
}

void slu_cuda_device_end_service(struct slu_cuda_device *d)
{
	atomic_store_explicit(&slu_cuda_only_device, NULL, memory_order_release);
	slu_cuda_vmm_hand_over(d);
	slu_cuda_frozen_forget(d);
	slu_cuda_foreign_reset(d);
	slu_cuda_modules_reset(d);
	slu_cuda_graphmem_reset(d);
	slu_client_device_remove(d->client);
	d->client = NULL;
	service_unmake(d);
	slu_lock_take(&slu_cuda.lock);
	d->service = NULL;
	d->is_service_kept = false;
	slu_lock_give(&slu_cuda.lock);
}
