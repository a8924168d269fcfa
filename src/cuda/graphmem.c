/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/graphmem.h"

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/frozen.h"
#include "cuda/instance.h"
#include "cuda/memory.h"
#include "cuda/real.h"
#include "cuda/headroom.h"

static uint64_t graphmem_key(const struct slu_cuda_device *d)
{
	return (uint64_t)(uintptr_t)&d->graphmem;
}

/* Gives back what no call needs any more. */
static void graphmem_unreserve(struct slu_cuda_device *d, uint64_t more_bytes, uint64_t ended_bytes)
{
	struct slu_cuda_graphmem *g = &d->graphmem;
	uint64_t excess;

	slu_lock_take(&slu_cuda.lock);
	g->reserved_bytes += more_bytes;
	g->asked_bytes -= ended_bytes;
	excess = slu_sub_floor(g->reserved_bytes, g->asked_bytes);
	g->reserved_bytes -= excess;
	slu_lock_give(&slu_cuda.lock);
	slu_client_device_unreserve(d->client, excess);
}

/* Whoever made it: a look may find what another thread has made and not yet looked for. */
static void graphmem_charge_more(struct slu_cuda_device *d, uint64_t bytes)
{
	uint64_t reserved;

	slu_lock_take(&slu_cuda.lock);
	reserved = d->graphmem.reserved_bytes;
	d->graphmem.reserved_bytes = 0;
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_frozen_add(d, graphmem_key(d), bytes, SLU_FROZEN_GRAPH, &reserved);
	graphmem_unreserve(d, reserved, 0);
}

/* Growth is charged as a unit of its own, so that the rest is never without a charge. */
static void graphmem_charge(struct slu_cuda_device *d)
{
	struct slu_cuda_graphmem *g = &d->graphmem;
	uint64_t charged = atomic_load(&g->charged_bytes);
	cuuint64_t bytes = 0;

	if (atomic_exchange(&g->is_trim_due, false)) {
		atomic_fetch_add(&g->n_trims, 1);
		SLU_REAL(cuDeviceGraphMemTrim)(d->ordinal);
	}
	if (SLU_REAL(cuDeviceGetGraphMemAttribute)(
		    d->ordinal, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) != CUDA_SUCCESS ||
	    bytes == charged)
		return;
	if (bytes < charged) {
		while (slu_cuda_frozen_remove(graphmem_key(d)))
			;
		charged = 0;
	}
	if (bytes > charged)
		graphmem_charge_more(d, bytes - charged);
	atomic_store(&g->charged_bytes, bytes);
}

static void graphmem_end_charge(struct slu_cuda_graphmem *g)
{
	slu_lock_take(&slu_cuda.lock);
	atomic_store(&g->is_charging, false);
	pthread_cond_broadcast(&slu_cuda.changed);
	slu_lock_give(&slu_cuda.lock);
}

/* One thread charges; others have it look again. */
void slu_cuda_graphmem_look_slow(struct slu_cuda_device *device)
{
	struct slu_cuda_graphmem *g = &device->graphmem;
	CUstreamCaptureMode before;

	atomic_store(&g->is_due, true);
	while (atomic_load(&g->is_due) && !atomic_exchange(&g->is_charging, true)) {
		before = slu_cuda_capture_relax();
		while (atomic_exchange(&g->is_due, false))
			graphmem_charge(device);
		slu_cuda_capture_restore(before);
		graphmem_end_charge(g);
	}
}

/* The same, and what there was before the call is charged. */
static void graphmem_look_and_wait(struct slu_cuda_device *device)
{
	struct slu_cuda_graphmem *g = &device->graphmem;

	do {
		slu_cuda_graphmem_look_slow(device);
		slu_lock_take(&slu_cuda.lock);
		while (atomic_load(&g->is_charging))
			slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
		slu_lock_give(&slu_cuda.lock);
	} while (atomic_load(&g->is_due));
}

static bool graphmem_reserve(struct slu_cuda_device *device, uint64_t bytes)
{
	if (!slu_cuda_memory_reserve(device, bytes, bytes))
		return false;
	slu_lock_take(&slu_cuda.lock);
	device->graphmem.reserved_bytes += bytes;
	device->graphmem.asked_bytes += bytes;
	slu_lock_give(&slu_cuda.lock);
	return true;
}

bool slu_cuda_graphmem_may_own(struct slu_cuda_device *device, uint64_t bytes)
{
	if (bytes <= slu_client_device_most(device->client))
		return true;
	if (!slu_cuda_memory_reserve(device, bytes, bytes))
		return false;
	slu_client_device_unreserve(device->client, bytes);
	return true;
}

void slu_cuda_graphmem_made(struct slu_cuda_device *device)
{
	atomic_store(&device->graphmem.is_used, true);
}

void slu_cuda_graphmem_give_idle(struct slu_cuda_device *device)
{
	if (!slu_cuda_graphmem_is_used(device))
		return;
	atomic_store(&device->graphmem.is_trim_due, true);
	graphmem_look_and_wait(device);
}

bool slu_cuda_graphmem_prepare_slow(struct slu_cuda_device *device, CUgraphExec exec,
				    CUstream stream, uint64_t *ret_bytes)
{
	uint64_t bytes;

	/* a launch in a capture becomes a node */
	if (slu_cuda_graphmem_is_captured(device, stream))
		return true;
	bytes = slu_cuda_instance_needs(device, exec);
	if (bytes && !graphmem_reserve(device, bytes))
		return false;
	*ret_bytes = bytes;
	return true;
}

void slu_cuda_graphmem_launched_slow(struct slu_cuda_device *device, CUgraphExec exec,
				     uint64_t bytes, CUresult result)
{
	if (!bytes) {
		slu_cuda_graphmem_look_slow(device);
		return;
	}
	if (result == CUDA_SUCCESS) {
		slu_cuda_instance_launched(exec);
		graphmem_look_and_wait(device);
	}
	graphmem_unreserve(device, 0, bytes);
}

void slu_cuda_graphmem_reset(struct slu_cuda_device *device)
{
	atomic_store(&device->graphmem.charged_bytes, 0);
	atomic_store(&device->graphmem.is_used, false);
}

bool slu_cuda_graphmem_is_captured(struct slu_cuda_device *device, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return atomic_load(&device->n_capturing) &&
	       SLU_REAL(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* -- the calls ----------------------------------------------------------------------------------
 */

CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct slu_cuda_device *d = params ? slu_cuda_device_here() : NULL;
	uint64_t bytes = d ? params->bytesize : 0;
	CUresult r;

	if (d && !slu_cuda_graphmem_may_own(d, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = SLU_REAL(cuGraphAddMemAllocNode)(ret_node, graph, deps, n, params);
	SLU_CUDA_HEADROOM_RETRY (d, bytes, r)
		r = SLU_REAL(cuGraphAddMemAllocNode)(ret_node, graph, deps, n, params);
	if (d && r == CUDA_SUCCESS)
		slu_cuda_graphmem_made(d);
	return r;
}

static CUresult graphmem_look_after(CUresult r)
{
	struct slu_cuda_device *d = slu_cuda_device_here();

	if (d)
		slu_cuda_graphmem_look(d);
	return r;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	return graphmem_look_after(SLU_REAL(cuGraphDestroy)(graph));
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal)
{
	struct slu_cuda_device *d = slu_cuda_device_find_started(ordinal);
	CUresult r = SLU_REAL(cuDeviceGraphMemTrim)(ordinal);

	if (d)
		atomic_fetch_add(&d->graphmem.n_trims, 1);
	return graphmem_look_after(r);
}
