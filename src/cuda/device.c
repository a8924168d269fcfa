/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cuda/backend.h"
#include "cuda/memory.h"
#include "cuda/real.h"
#include "cuda/syncer.h"

/* A slab this large holds many small allocations and is still a small unit. */
#define SLAB_BYTES_MIN (256 * SLU_KIB)

struct slu_cuda slu_cuda = { .lock = SLU_LOCK_INIT(SLU_LOCK_FRONT) };
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

static void identify(CUdevice ordinal, struct slu_hello_device *id)
{
	CUuuid uuid;
	size_t total = 0;

	*id = (struct slu_hello_device){ 0 };
	if (SLU_REAL(cuDeviceGetUuid_v2)(&uuid, ordinal) == CUDA_SUCCESS ||
	    SLU_REAL(cuDeviceGetUuid)(&uuid, ordinal) == CUDA_SUCCESS)
		memcpy(id->uuid, &uuid, sizeof(id->uuid));
	if (SLU_REAL(cuDeviceGetPCIBusId)(id->pci, sizeof(id->pci), ordinal) != CUDA_SUCCESS)
		id->pci[0] = '\0';
	if (SLU_REAL(cuDeviceGetName)(id->name, sizeof(id->name), ordinal) != CUDA_SUCCESS)
		snprintf(id->name, sizeof(id->name), "CUDA device %d", ordinal);
	id->name[sizeof(id->name) - 1] = '\0';
	if (SLU_REAL(cuDeviceTotalMem_v2)(&total, ordinal) == CUDA_SUCCESS)
		id->total_bytes = total;
}

static void add_device(CUdevice ordinal)
{
	struct slu_cuda_device *d = &slu_cuda.devices[slu_cuda.n_devices];
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal },
	};
	struct slu_hello_device id;
	size_t granule = 0;
	int node = 0;

	d->ordinal = ordinal;
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
	d->can_map = slu_cuda_backend_can_map(d);
	identify(ordinal, &id);
	if (slu_client_device_add(&id, d->can_map ? SLU_MODE_MAPPED : SLU_MODE_ALL,
				  &slu_cuda_backend, d, &d->client))
		return;
	d->index = slu_client_device_index(d->client);
	slu_cuda.n_devices++;
}

static void start(void)
{
	int saved = errno, n = 0;

	if (slu_ledger_new(&slu_cuda.ledger) == 0 && SLU_REAL(cuDeviceGetCount)(&n) == CUDA_SUCCESS)
		for (int i = 0; i < n && slu_cuda.n_devices < SLU_CUDA_DEVICES_MAX; i++)
			add_device(i);
	errno = saved;
}

/* Makes what we need in @context, outside our lock. Return: whether it is all there. */
static bool make_home(struct slu_cuda_device *made, CUcontext context)
{
	CUstreamCaptureMode before = slu_cuda_relax();
	bool is_whole = true;

	for (int i = 0; i < _SLU_DIRECTION_MAX; i++)
		is_whole = is_whole &&
			   SLU_REAL(cuStreamCreate)(&made->streams[i], CU_STREAM_NON_BLOCKING) ==
				   CUDA_SUCCESS;
	is_whole = is_whole && !slu_cuda_syncer_new(context, &made->syncer);
	slu_cuda_unrelax(before);
	return is_whole;
}

static void unmake_home(struct slu_cuda_device *made)
{
	slu_cuda_syncer_free(made->syncer);
	for (int i = 0; i < _SLU_DIRECTION_MAX; i++)
		if (made->streams[i])
			SLU_REAL(cuStreamDestroy_v2)(made->streams[i]);
}

static bool settle_down(struct slu_cuda_device *d, CUcontext context)
{
	struct slu_cuda_device made = { 0 };
	bool is_mine = false;

	if (!make_home(&made, context)) {
		unmake_home(&made);
		return false;
	}
	slu_lock_take(&slu_cuda.lock);
	if (!d->home) {
		memcpy(d->streams, made.streams, sizeof(d->streams));
		d->syncer = made.syncer;
		d->home = context;
		is_mine = true;
	}
	slu_lock_give(&slu_cuda.lock);
	if (!is_mine)
		unmake_home(&made);
	return true;
}

struct slu_cuda_device *slu_cuda_device_here_slow(void)
{
	struct slu_cuda_device *d = NULL;
	CUcontext context = slu_cuda_context_here(), home;
	CUdevice ordinal;

	if (!context || SLU_REAL(cuCtxGetDevice)(&ordinal) != CUDA_SUCCESS)
		return NULL;
	pthread_once(&started, start);
	for (unsigned i = 0; i < slu_cuda.n_devices; i++)
		if (slu_cuda.devices[i].ordinal == ordinal)
			d = &slu_cuda.devices[i];
	if (!d)
		return NULL;
	slu_lock_take(&slu_cuda.lock);
	home = d->home;
	slu_lock_give(&slu_cuda.lock);
	if (!home && !settle_down(d, context))
		return NULL;
	if (slu_cuda.n_devices == 1)
		atomic_store_explicit(&slu_cuda_only_device, d, memory_order_release);
	return d;
}

void slu_cuda_context_ending(CUcontext context)
{
	for (unsigned i = 0; i < slu_cuda.n_devices; i++) {
		struct slu_cuda_device *d = &slu_cuda.devices[i];
		struct slu_cuda_device ended = { 0 };

		slu_cuda_memory_forget(d, context);
		slu_lock_take(&slu_cuda.lock);
		if (d->home == context) {
			memcpy(ended.streams, d->streams, sizeof(ended.streams));
			memset(d->streams, 0, sizeof(d->streams));
			ended.syncer = d->syncer;
			d->syncer = NULL;
			d->home = NULL;
			atomic_store_explicit(&slu_cuda_only_device, NULL, memory_order_release);
		}
		slu_lock_give(&slu_cuda.lock);
		unmake_home(&ended);
	}
}
