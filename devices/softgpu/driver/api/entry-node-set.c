/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes of graphs are changed, also in executable graphs. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/api/node.h"
#include "softgpu/driver/execution/graph.h"

/* Owns @command, which takes the place of the node's; a node stays of its kind. */
static CUresult node_replace(struct dev_graph_node *node, struct dev_command *command)
{
	bool is_same_kind = node && node->command->kind == command->kind;

	if (is_same_kind) {
		struct dev_command *old = node->command;

		node->command = command;
		command = old;
	}
	dev_command_free(command);
	return is_same_kind ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static struct dev_graph_node *find_in(CUgraphExec handle, CUgraphNode origin)
{
	struct dev_graph_exec *exec = dev_graph_exec_get(handle);

	return exec && origin ? dev_graph_find_copy(exec->graph, (const void *)origin) : NULL;
}

#define SET(params, node, make)                  \
	struct dev_command *command;             \
                                                 \
	DEV_TRY(dev_driver_enter());             \
	if (!(params))                           \
		return CUDA_ERROR_INVALID_VALUE; \
	DEV_TRY(make);                           \
	return node_replace(node, command)

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = p ? dev_node_widen(p) : (CUDA_KERNEL_NODE_PARAMS){ 0 };

	SET(p, dev_graph_get_node(node), dev_node_kernel(&wide, &command));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	SET(p, dev_graph_get_node(node), dev_node_kernel(p, &command));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	SET(p, dev_graph_get_node(node), dev_node_copy(p, &command));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	SET(p, dev_graph_get_node(node), dev_node_set(p, &command));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	SET(p, dev_graph_get_node(node), dev_node_host(p, &command));
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(true, dev_graph_get_node(node), dev_node_event(DEV_COMMAND_RECORD, event, &command));
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(true, dev_graph_get_node(node), dev_node_event(DEV_COMMAND_AWAIT, event, &command));
}

static bool may_change(const CUgraphNodeParams *p)
{
	return p && p->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	       p->type != CU_GRAPH_NODE_TYPE_MEM_FREE && p->type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	SET(may_change(p), dev_graph_get_node(node), dev_node_any(p, &command));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = p ? dev_node_widen(p) : (CUDA_KERNEL_NODE_PARAMS){ 0 };

	SET(p, find_in(exec, node), dev_node_kernel(&wide, &command));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS *p)
{
	SET(p, find_in(exec, node), dev_node_kernel(p, &command));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p,
					CUcontext context)
{
	SET(p && dev_context_get(context), find_in(exec, node), dev_node_copy(p, &command));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	SET(p && dev_context_get(context), find_in(exec, node), dev_node_set(p, &command));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
				      const CUDA_HOST_NODE_PARAMS *p)
{
	SET(p, find_in(exec, node), dev_node_host(p, &command));
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(true, find_in(exec, node), dev_node_event(DEV_COMMAND_RECORD, event, &command));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(true, find_in(exec, node), dev_node_event(DEV_COMMAND_AWAIT, event, &command));
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	SET(p, dev_graph_get_node(node), dev_node_batch(p, &command));
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	SET(p, find_in(exec, node), dev_node_batch(p, &command));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	SET(true, find_in(exec, node), dev_node_child(child, &command));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	SET(may_change(p), find_in(exec, node), dev_node_any(p, &command));
}
