/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/nodes.h"

#include <errno.h>
#include <stdlib.h>

#include "cuda/device.h"
#include "cuda/real.h"
#include "cuda/recipe.h"
#include "cuda/headroom.h"

/* Fixed lists instead of uthash: a table that never grows needs no memory but the nodes'. */
#define BUCKETS	  256
#define NODES_MAX 65536

struct node {
	struct node *next;		/* constant once it is in its bucket, as is the rest */
	struct slu_cuda_device *device; /* where it was made */
	CUhostFn function;
	void *user;
};

/* guarded by slu_cuda.lock */
static struct node *buckets[BUCKETS];
static unsigned n_nodes;

static void node_run(void *data)
{
	const struct node *node = data;
	struct slu_cuda_host_call call;

	slu_cuda_streams_host_add(node->device, SLU_STREAM_UNKNOWN, &call);
	slu_cuda_streams_host_begin(&call);
	node->function(node->user);
	slu_cuda_streams_host_end(&call);
}

static struct node **node_bucket(CUhostFn function, void *user)
{
	uint64_t bits = (uint64_t)(uintptr_t)function * 31 + (uint64_t)(uintptr_t)user;

	return &buckets[(bits * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static struct node *node_find_locked(CUhostFn function, void *user)
{
	struct node *node = *node_bucket(function, user);

	while (node && (node->function != function || node->user != user))
		node = node->next;
	return node;
}

static struct node *node_get(struct slu_cuda_device *d, CUhostFn function, void *user)
{
	struct node *node, *made = calloc(1, sizeof(*made)), **bucket;

	slu_lock_take(&slu_cuda.lock);
	node = node_find_locked(function, user);
	if (!node && made && n_nodes < NODES_MAX) {
		bucket = node_bucket(function, user);
		*made = (struct node){
			.next = *bucket, .device = d, .function = function, .user = user
		};
		*bucket = node = made;
		made = NULL;
		n_nodes++;
		atomic_store(&d->stream_uses.has_nodes, true);
	}
	slu_lock_give(&slu_cuda.lock);
	free(made);
	return node;
}

void slu_cuda_nodes_wrap(CUhostFn *function, void **user)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	int saved = errno;
	struct node *node = d && *function ? node_get(d, *function, *user) : NULL;

	errno = saved;
	if (!node)
		return;
	*function = node_run;
	*user = node;
}

static void node_unwrap(CUhostFn *function, void **user)
{
	const struct node *node = *user;

	if (*function != node_run)
		return;
	*function = node->function;
	*user = node->user;
}

/* -- the calls ----------------------------------------------------------------------------------
 */

static const CUDA_HOST_NODE_PARAMS *host_params_wrap(const CUDA_HOST_NODE_PARAMS *params,
						     CUDA_HOST_NODE_PARAMS *copy)
{
	if (!params)
		return NULL;
	*copy = *params;
	slu_cuda_nodes_wrap(&copy->fn, &copy->userData);
	return copy;
}

CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			    const CUDA_HOST_NODE_PARAMS *params)
{
	CUDA_HOST_NODE_PARAMS copy;

	return SLU_REAL(cuGraphAddHostNode)(ret_node, graph, deps, n,
					    host_params_wrap(params, &copy));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	CUDA_HOST_NODE_PARAMS copy;

	return SLU_REAL(cuGraphHostNodeSetParams)(node, host_params_wrap(params, &copy));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
				      const CUDA_HOST_NODE_PARAMS *params)
{
	CUDA_HOST_NODE_PARAMS copy;

	return SLU_REAL(cuGraphExecHostNodeSetParams)(exec, node, host_params_wrap(params, &copy));
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *ret_params)
{
	CUresult r = SLU_REAL(cuGraphHostNodeGetParams)(node, ret_params);

	if (r == CUDA_SUCCESS && ret_params)
		node_unwrap(&ret_params->fn, &ret_params->userData);
	return r;
}

/* The calls for every kind of node. What the driver writes into the parameters of others is theirs.
 */
static CUgraphNodeParams *params_wrap(CUgraphNodeParams *params, CUgraphNodeParams *copy)
{
	if (!params || params->type != CU_GRAPH_NODE_TYPE_HOST)
		return params;
	*copy = *params;
	slu_cuda_nodes_wrap(&copy->host.fn, &copy->host.userData);
	return copy;
}

static bool params_is_alloc(const CUgraphNodeParams *params)
{
	return params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	CUgraphNodeParams copy;

	return SLU_REAL(cuGraphNodeSetParams)(node, params_wrap(params, &copy));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	CUgraphNodeParams copy;
	CUresult r = SLU_REAL(cuGraphExecNodeSetParams)(exec, node, params_wrap(params, &copy));
	int saved = errno;

	if (r == CUDA_SUCCESS && params)
		slu_cuda_recipe_node_set(exec, node, params);
	errno = saved;
	return r;
}

#define ADD_NODE(name, arguments, ...)                                                            \
	CUresult name(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, __VA_ARGS__, \
		      CUgraphNodeParams *params)                                                  \
	{                                                                                         \
		struct slu_cuda_device *d =                                                       \
			params_is_alloc(params) ? slu_cuda_device_here() : NULL;                  \
		CUgraphNodeParams copy, *given = params_wrap(params, &copy);                      \
		uint64_t bytes = d ? params->alloc.bytesize : 0;                                  \
		CUresult r;                                                                       \
                                                                                                  \
		if (d && !slu_cuda_graphmem_may_own(d, bytes))                                    \
			return CUDA_ERROR_OUT_OF_MEMORY;                                          \
		r = SLU_REAL(name) arguments;                                                     \
		SLU_CUDA_HEADROOM_RETRY (d, bytes, r)                                             \
			r = SLU_REAL(name) arguments;                                             \
		if (d && r == CUDA_SUCCESS)                                                       \
			slu_cuda_graphmem_made(d);                                                \
		return r;                                                                         \
	}

ADD_NODE(cuGraphAddNode, (ret_node, graph, deps, n, given), size_t n)
ADD_NODE(cuGraphAddNode_v2, (ret_node, graph, deps, edges, n, given), const CUgraphEdgeData *edges,
	 size_t n)
