/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/graphmem.h"

#include "cuda/device.h"
#include "cuda/frozen.h"
#include "cuda/real.h"

static uint64_t key_of(const struct slu_cuda_device *d)
{
	return (uint64_t)(uintptr_t)&d->graphmem;
}

static void charge(struct slu_cuda_device *d)
{
	struct slu_cuda_graphmem *g = &d->graphmem;
	cuuint64_t bytes = 0;

	if (SLU_REAL(cuDeviceGetGraphMemAttribute)(
		    d->ordinal, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) != CUDA_SUCCESS ||
	    bytes == g->charged_bytes)
		return;
	if (g->charged_bytes)
		slu_cuda_thaw(key_of(d));
	if (bytes)
		slu_cuda_freeze(d, key_of(d), bytes, SLU_FROZEN_GRAPH);
	g->charged_bytes = bytes;
}

/* One thread charges; others have it look again. */
void slu_cuda_graphmem_look_slow(struct slu_cuda_device *device)
{
	struct slu_cuda_graphmem *g = &device->graphmem;
	CUstreamCaptureMode before;

	atomic_store(&g->is_due, true);
	while (atomic_load(&g->is_due) && !atomic_exchange(&g->is_charging, true)) {
		before = slu_cuda_relax();
		while (atomic_exchange(&g->is_due, false))
			charge(device);
		slu_cuda_unrelax(before);
		atomic_store(&g->is_charging, false);
	}
}

void slu_cuda_graphmem_used(struct slu_cuda_device *device)
{
	atomic_store(&device->graphmem.is_used, true);
	slu_cuda_graphmem_look_slow(device);
}

void slu_cuda_graphmem_reset(struct slu_cuda_device *device)
{
	device->graphmem.charged_bytes = 0;
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
	CUresult r = SLU_REAL(cuGraphAddMemAllocNode)(ret_node, graph, deps, n, params);
	struct slu_cuda_device *d = slu_cuda_device_here();

	if (r == CUDA_SUCCESS && d)
		slu_cuda_graphmem_used(d);
	return r;
}

static CUresult look_after(CUresult r)
{
	struct slu_cuda_device *d = slu_cuda_device_here();

	if (d)
		slu_cuda_graphmem_look(d);
	return r;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	return look_after(SLU_REAL(cuGraphDestroy)(graph));
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	return look_after(SLU_REAL(cuGraphExecDestroy)(exec));
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal)
{
	return look_after(SLU_REAL(cuDeviceGraphMemTrim)(ordinal));
}
