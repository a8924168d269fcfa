/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/instance.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "cuda/bypass.h"
#include "cuda/capture.h"
#include "cuda/headroom.h"
#include "cuda/real.h"
#include "cuda/recipe.h"
#include "cuda/refs.h"

struct instance {
	uint64_t bytes;
	bool was_launched;
	uint64_t n_trims;	/* of the device, before its last launch */
	uint64_t n_trims_asked; /* … and before the one under way */
};

static struct slu_refs instances; /* by handle; guarded by slu_cuda.lock */

static uint64_t graph_bytes(const struct slu_cuda_device *d, CUgraph graph);

/* What the driver does not tell is no memory. */
static uint64_t node_bytes(const struct slu_cuda_device *d, CUgraphNode node)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = { 0 };
	CUgraphNodeType type;
	CUgraph child;

	if (SLU_REAL(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS)
		return 0;
	if (type == CU_GRAPH_NODE_TYPE_GRAPH)
		return SLU_REAL(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS
			       ? graph_bytes(d, child)
			       : 0;
	if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	    SLU_REAL(cuGraphMemAllocNodeGetParams)(node, &params) != CUDA_SUCCESS ||
	    params.poolProps.location.id != d->ordinal)
		return 0;
	return params.bytesize;
}

static uint64_t graph_bytes(const struct slu_cuda_device *d, CUgraph graph)
{
	CUgraphNode *nodes;
	uint64_t bytes = 0;
	size_t n = 0;

	if (SLU_REAL(cuGraphGetNodes)(graph, NULL, &n) != CUDA_SUCCESS || !n)
		return 0;
	nodes = calloc(n, sizeof(CUgraphNode));
	if (!nodes)
		return 0;
	if (SLU_REAL(cuGraphGetNodes)(graph, nodes, &n) == CUDA_SUCCESS)
		for (size_t i = 0; i < n; i++)
			bytes += node_bytes(d, nodes[i]);
	free(nodes);
	return bytes;
}

/* What cannot be noted needs nothing, as far as we know. */
static void instance_add(const struct slu_cuda_device *d, CUgraphExec exec, CUgraph graph)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	uint64_t bytes = graph_bytes(d, graph);
	struct instance *i = bytes ? malloc(sizeof(*i)) : NULL;
	int r;

	slu_cuda_capture_restore(before);
	if (!i)
		return;
	*i = (struct instance){ .bytes = bytes };
	slu_lock_take(&slu_cuda.lock);
	r = slu_refs_add(&instances, (struct slu_ref){ (uintptr_t)exec, 1, i });
	slu_lock_give(&slu_cuda.lock);
	if (r)
		free(i);
}

static void instance_remove(CUgraphExec exec)
{
	struct slu_ref ref = { 0 };

	slu_lock_take(&slu_cuda.lock);
	slu_refs_take(&instances, (uintptr_t)exec, 1, &ref);
	slu_lock_give(&slu_cuda.lock);
	free(ref.target);
}

static struct instance *instance_find_locked(CUgraphExec exec)
{
	const struct slu_ref *ref = slu_refs_find(&instances, (uintptr_t)exec);

	return ref ? ref->target : NULL;
}

uint64_t slu_cuda_instance_needs(struct slu_cuda_device *device, CUgraphExec exec)
{
	const struct slu_cuda_graphmem *g = &device->graphmem;
	uint64_t n_trims = atomic_load(&g->n_trims), bytes = 0;
	struct instance *i;

	slu_lock_take(&slu_cuda.lock);
	i = instance_find_locked(exec);
	if (i && !i->was_launched)
		bytes = i->bytes;
	else if (i && i->n_trims != n_trims)
		bytes = slu_sub_floor(i->bytes, atomic_load(&g->charged_bytes));
	if (i)
		i->n_trims_asked = n_trims;
	slu_lock_give(&slu_cuda.lock);
	return bytes;
}

void slu_cuda_instance_launched(CUgraphExec exec)
{
	struct instance *i;

	slu_lock_take(&slu_cuda.lock);
	i = instance_find_locked(exec);
	if (i) {
		i->was_launched = true;
		i->n_trims = i->n_trims_asked;
	}
	slu_lock_give(&slu_cuda.lock);
}

/* -- the calls ----------------------------------------------------------------------------------
 */

static CUresult instance_made(struct slu_cuda_device *d, const CUgraphExec *exec, CUgraph graph,
			      unsigned long long flags, CUresult r)
{
	int saved = errno;

	if (r != CUDA_SUCCESS || !d)
		return r;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		slu_cuda_bypass_met(d);
	if (atomic_load(&d->graphmem.is_used))
		instance_add(d, *exec, graph);
	slu_cuda_recipe_made(*exec, graph);
	errno = saved;
	return r;
}

/* How an instance is made takes memory of the device, too. */
#define INSTANTIATE(name, flags, ...)                                                     \
	({                                                                                \
		CUresult r_ = SLU_REAL(name)(ret_exec, graph, __VA_ARGS__);               \
		struct slu_cuda_device *d_ = slu_cuda_device_here();                      \
                                                                                          \
		SLU_CUDA_HEADROOM_RETRY (d_, 0, r_)                                       \
			r_ = SLU_REAL(name)(ret_exec, graph, __VA_ARGS__);                \
		instance_made(d_, ret_exec, graph, r_ == CUDA_SUCCESS ? (flags) : 0, r_); \
	})

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	return INSTANTIATE(cuGraphInstantiateWithFlags, flags, flags);
}

#define WITH_LOG(name)                                                                        \
	CUresult name(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_node, char *log, \
		      size_t log_bytes)                                                       \
	{                                                                                     \
		return INSTANTIATE(name, 0, ret_node, log, log_bytes);                        \
	}

WITH_LOG(cuGraphInstantiate)
WITH_LOG(cuGraphInstantiate_v2)

#define WITH_PARAMS(name)                                                                          \
	CUresult name(CUgraphExec *ret_exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) \
	{                                                                                          \
		return INSTANTIATE(name, params->flags, params);                                   \
	}

WITH_PARAMS(cuGraphInstantiateWithParams)
WITH_PARAMS(cuGraphInstantiateWithParams_ptsz)

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	CUresult r;

	/* before the call: the driver may give the handle to another one at once */
	instance_remove(exec);
	slu_cuda_recipe_drop(exec);
	r = SLU_REAL(cuGraphExecDestroy)(exec);
	if (d)
		slu_cuda_graphmem_look(d);
	return r;
}
