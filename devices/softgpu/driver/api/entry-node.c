/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nodes of graphs are added. A node's parameters are what its command holds; every form of call
 * comes down to making a command from parameters (node.h), and putting it into a node. How they are
 * changed is in entry-node-set.c, what can be asked in entry-node-look.c.
 */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/api/node.h"
#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/graph.h"

CUresult dev_entry_nodes(const struct dev_graph *graph, const CUgraphNode *nodes, size_t n)
{
	if (n && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct dev_graph_node *node = dev_graph_get_node(nodes[i]);

		if (!node || (graph && node->graph != graph))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult dev_entry_edges(const CUgraphEdgeData *edges, size_t n)
{
	for (size_t i = 0; edges && i < n; i++)
		if (edges[i].from_port || edges[i].to_port || edges[i].type)
			return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

/* Owns @command. */
static CUresult node_add(CUgraphNode *ret_node, CUgraph handle, const CUgraphNode *deps, size_t n,
			 struct dev_command *command)
{
	struct dev_graph *graph = dev_graph_get(handle);
	struct dev_graph_node *node;
	CUresult result;

	result = graph && ret_node ? dev_entry_nodes(graph, deps, n) : CUDA_ERROR_INVALID_VALUE;
	if (result) {
		dev_command_free(command);
		return result;
	}
	node = dev_graph_add(graph, command, (struct dev_graph_node *const *)(const void *)deps, n);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_node = (CUgraphNode)(void *)node;
	return CUDA_SUCCESS;
}

#define ADD(params, make)                        \
	struct dev_command *command;             \
                                                 \
	DEV_TRY(dev_driver_enter());             \
	if (!(params))                           \
		return CUDA_ERROR_INVALID_VALUE; \
	DEV_TRY(make);                           \
	return node_add(ret_node, graph, deps, n, command)

CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			     size_t n)
{
	ADD(true, dev_node_empty(&command));
}

CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			    const CUDA_HOST_NODE_PARAMS *p)
{
	ADD(p, dev_node_host(p, &command));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	ADD(p && dev_context_get(context), dev_node_set(p, &command));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_MEMCPY3D *p, CUcontext context)
{
	ADD(p && dev_context_get(context), dev_node_copy(p, &command));
}

CUresult cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = p ? dev_node_widen(p) : (CUDA_KERNEL_NODE_PARAMS){ 0 };

	ADD(p, dev_node_kernel(&wide, &command));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	ADD(p, dev_node_kernel(p, &command));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				   size_t n, CUevent event)
{
	ADD(true, dev_node_event(DEV_COMMAND_RECORD, event, &command));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, CUevent event)
{
	ADD(true, dev_node_event(DEV_COMMAND_AWAIT, event, &command));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				  size_t n, CUgraph child)
{
	ADD(true, dev_node_child(child, &command));
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	ADD(p && dev_graph_get(graph), dev_node_alloc(p, &command));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			       size_t n, CUdeviceptr address)
{
	ADD(true, dev_node_free(address, &command));
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				  size_t n, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	ADD(p, dev_node_batch(p, &command));
}

CUresult cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			   const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p)
{
	struct dev_command *command;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_entry_edges(edges, n));
	if (!p || !dev_graph_get(graph))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_node_any(p, &command));
	DEV_TRY(node_add(ret_node, graph, deps, n, command));
	if (command->kind == DEV_COMMAND_BRANCH)
		command->branch.condition->is_used = true;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			CUgraphNodeParams *p)
{
	return cuGraphAddNode_v2(ret_node, graph, deps, NULL, n, p);
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret_handle, CUgraph graph_handle,
					CUcontext context_handle, unsigned int initial,
					unsigned int flags)
{
	struct dev_condition *condition;
	struct dev_context *context;
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(graph_handle);
	context = dev_context_get(context_handle ? context_handle : dev_context_current());
	if (!ret_handle || !graph || (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT))
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	condition = dev_condition_new(context, initial, flags & CU_GRAPH_COND_ASSIGN_DEFAULT);
	if (!condition || dev_graph_keep_condition(graph, condition)) {
		dev_condition_unref(condition);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_handle = dev_condition_handle(condition);
	return CUDA_SUCCESS;
}
