/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nodes of graphs: added, looked at, changed, also in executable graphs. A node's parameters are
 * what its command holds; every form of call comes down to making a command from parameters, and
 * putting it into a node.
 */

#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/entry.h"
#include "softgpu/driver/event.h"
#include "softgpu/driver/graph-memory.h"
#include "softgpu/driver/graph.h"
#include "softgpu/driver/module.h"

CUresult slu_entry_nodes(const struct slu_graph *graph, const CUgraphNode *nodes, size_t n)
{
	if (n && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct slu_graph_node *node = slu_graph_get_node(nodes[i]);

		if (!node || (graph && node->graph != graph))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult slu_entry_edges(const CUgraphEdgeData *edges, size_t n)
{
	for (size_t i = 0; edges && i < n; i++)
		if (edges[i].from_port || edges[i].to_port || edges[i].type)
			return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

/* -- commands from parameters --------------------------------------------------------------- */

static CUresult make_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct slu_command **ret_command)
{
	CUfunction function = p->func ? p->func : (CUfunction)(void *)p->kern;

	return slu_entry_kernel(function, (unsigned[]){ p->gridDimX, p->gridDimY, p->gridDimZ },
				(unsigned[]){ p->blockDimX, p->blockDimY, p->blockDimZ },
				p->sharedMemBytes, false, p->kernelParams, p->extra, ret_command);
}

/* The newer form begins like the older one. */
static CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = { 0 };

	memcpy(&wide, p, sizeof(*p));
	return wide;
}

static CUresult done(struct slu_command *command, struct slu_command **ret_command)
{
	*ret_command = command;
	return command ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_copy(const CUDA_MEMCPY3D *p, struct slu_command **ret_command)
{
	struct slu_command_copy box;
	struct slu_command *command;

	SLU_TRY(slu_entry_box(p, &box));
	command = slu_command_new(SLU_COMMAND_COPY);
	if (command)
		command->copy = box;
	return done(command, ret_command);
}

static CUresult make_set(const CUDA_MEMSET_NODE_PARAMS *p, struct slu_command **ret_command)
{
	struct slu_command *command;

	if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width ||
	    !p->height || p->dst % p->elementSize || p->width > SIZE_MAX / p->elementSize ||
	    (p->height > 1 && p->pitch < p->width * p->elementSize))
		return CUDA_ERROR_INVALID_VALUE;
	command = slu_command_new(SLU_COMMAND_SET);
	if (command)
		command->set = (struct slu_command_set){ .dst = p->dst,
							 .pitch = p->pitch,
							 .width = p->width,
							 .height = p->height,
							 .value = p->value,
							 .size = p->elementSize };
	return done(command, ret_command);
}

static CUresult make_host(const CUDA_HOST_NODE_PARAMS *p, struct slu_command **ret_command)
{
	struct slu_command *command;

	if (!p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	command = slu_command_new(SLU_COMMAND_HOST);
	if (command) {
		command->host.function = p->fn;
		command->host.user = p->userData;
	}
	return done(command, ret_command);
}

static CUresult make_event(enum slu_command_kind kind, CUevent event,
			   struct slu_command **ret_command)
{
	struct slu_command *command;

	if (!slu_event_get(event))
		return CUDA_ERROR_INVALID_HANDLE;
	command = slu_command_new(kind);
	if (command)
		command->event = event;
	return done(command, ret_command);
}

static CUresult make_child(CUgraph handle, struct slu_command **ret_command)
{
	struct slu_graph *graph = slu_graph_get(handle);
	struct slu_command *command;

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	command = slu_command_new(SLU_COMMAND_GRAPH);
	if (command) {
		command->graph = slu_graph_clone(graph);
		if (!command->graph) {
			free(command);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		command->graph->is_child = true;
	}
	return done(command, ret_command);
}

static CUresult make_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct slu_command **ret_command)
{
	struct slu_graph_memory *memory;
	struct slu_command *command;
	struct slu_card *card;

	if (!p->bytesize || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    p->poolProps.handleTypes || p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	SLU_TRY(slu_driver_card(p->poolProps.location.id, &card));
	SLU_TRY(slu_graph_memory_new(card, p, &memory));
	command = slu_command_new(SLU_COMMAND_ALLOC);
	if (!command) {
		slu_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->memory = memory;
	p->dptr = memory->address;
	return done(command, ret_command);
}

static CUresult make_free(CUdeviceptr address, struct slu_command **ret_command)
{
	struct slu_graph_memory *memory = slu_graph_memory_find(address);
	struct slu_command *command;

	if (!memory)
		return CUDA_ERROR_INVALID_VALUE;
	command = slu_command_new(SLU_COMMAND_FREE);
	if (!command) {
		slu_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	slu_graph_memory_freed_inside(memory);
	command->memory = memory;
	return done(command, ret_command);
}

/* -- adding --------------------------------------------------------------------------------- */

/* Owns @command. */
static CUresult add(CUgraphNode *ret_node, CUgraph handle, const CUgraphNode *deps, size_t n,
		    struct slu_command *command)
{
	struct slu_graph *graph = slu_graph_get(handle);
	struct slu_graph_node *node;
	CUresult result;

	result = graph && ret_node ? slu_entry_nodes(graph, deps, n) : CUDA_ERROR_INVALID_VALUE;
	if (result) {
		slu_command_free(command);
		return result;
	}
	node = slu_graph_add(graph, command, (struct slu_graph_node *const *)(const void *)deps, n);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_node = (CUgraphNode)(void *)node;
	return CUDA_SUCCESS;
}

#define ADD(params, make)                        \
	struct slu_command *command;             \
                                                 \
	SLU_TRY(slu_driver_enter());             \
	if (!(params))                           \
		return CUDA_ERROR_INVALID_VALUE; \
	SLU_TRY(make);                           \
	return add(ret_node, graph, deps, n, command)

CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			     size_t n)
{
	ADD(true, done(slu_command_new(SLU_COMMAND_EMPTY), &command));
}

CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			    const CUDA_HOST_NODE_PARAMS *p)
{
	ADD(p, make_host(p, &command));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	ADD(p && slu_context_get(context), make_set(p, &command));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_MEMCPY3D *p, CUcontext context)
{
	ADD(p && slu_context_get(context), make_copy(p, &command));
}

CUresult cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = p ? widen(p) : (CUDA_KERNEL_NODE_PARAMS){ 0 };

	ADD(p, make_kernel(&wide, &command));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	ADD(p, make_kernel(p, &command));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				   size_t n, CUevent event)
{
	ADD(true, make_event(SLU_COMMAND_RECORD, event, &command));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, CUevent event)
{
	ADD(true, make_event(SLU_COMMAND_AWAIT, event, &command));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				  size_t n, CUgraph child)
{
	ADD(true, make_child(child, &command));
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	ADD(p && slu_graph_get(graph), make_alloc(p, &command));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			       size_t n, CUdeviceptr address)
{
	ADD(true, make_free(address, &command));
}

static CUresult make_any(CUgraphNodeParams *p, struct slu_command **ret_command)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return make_kernel(&p->kernel, ret_command);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return p->memcpy.flags ? CUDA_ERROR_INVALID_VALUE
				       : make_copy(&p->memcpy.copyParams, ret_command);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return make_set(&p->memset.first, ret_command);
	case CU_GRAPH_NODE_TYPE_HOST:
		return make_host(&p->host, ret_command);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return make_child(p->graph.graph, ret_command);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return done(slu_command_new(SLU_COMMAND_EMPTY), ret_command);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return make_event(SLU_COMMAND_AWAIT, p->eventWait.event, ret_command);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return make_event(SLU_COMMAND_RECORD, p->eventRecord.event, ret_command);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return make_alloc(&p->alloc, ret_command);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return make_free(p->free.dptr, ret_command);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			   const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p)
{
	SLU_TRY(slu_driver_enter());
	SLU_TRY(slu_entry_edges(edges, n));
	ADD(p && slu_graph_get(graph), make_any(p, &command));
}

CUresult cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			CUgraphNodeParams *p)
{
	return cuGraphAddNode_v2(ret_node, graph, deps, NULL, n, p);
}

/* -- changing ------------------------------------------------------------------------------- */

/* Owns @command, which takes the place of the node's; a node stays of its kind. */
static CUresult replace(struct slu_graph_node *node, struct slu_command *command)
{
	bool is_same_kind = node && node->command->kind == command->kind;

	if (is_same_kind) {
		struct slu_command *old = node->command;

		node->command = command;
		command = old;
	}
	slu_command_free(command);
	return is_same_kind ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static struct slu_graph_node *find_in(CUgraphExec handle, CUgraphNode origin)
{
	struct slu_graph_exec *exec = slu_graph_exec_get(handle);

	return exec && origin ? slu_graph_find_copy(exec->graph, (const void *)origin) : NULL;
}

#define SET(params, node, make)                  \
	struct slu_command *command;             \
                                                 \
	SLU_TRY(slu_driver_enter());             \
	if (!(params))                           \
		return CUDA_ERROR_INVALID_VALUE; \
	SLU_TRY(make);                           \
	return replace(node, command)

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = p ? widen(p) : (CUDA_KERNEL_NODE_PARAMS){ 0 };

	SET(p, slu_graph_get_node(node), make_kernel(&wide, &command));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	SET(p, slu_graph_get_node(node), make_kernel(p, &command));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	SET(p, slu_graph_get_node(node), make_copy(p, &command));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	SET(p, slu_graph_get_node(node), make_set(p, &command));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	SET(p, slu_graph_get_node(node), make_host(p, &command));
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(true, slu_graph_get_node(node), make_event(SLU_COMMAND_RECORD, event, &command));
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(true, slu_graph_get_node(node), make_event(SLU_COMMAND_AWAIT, event, &command));
}

static bool may_change(const CUgraphNodeParams *p)
{
	return p && p->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	       p->type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	SET(may_change(p), slu_graph_get_node(node), make_any(p, &command));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = p ? widen(p) : (CUDA_KERNEL_NODE_PARAMS){ 0 };

	SET(p, find_in(exec, node), make_kernel(&wide, &command));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS *p)
{
	SET(p, find_in(exec, node), make_kernel(p, &command));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p,
					CUcontext context)
{
	SET(p && slu_context_get(context), find_in(exec, node), make_copy(p, &command));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	SET(p && slu_context_get(context), find_in(exec, node), make_set(p, &command));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
				      const CUDA_HOST_NODE_PARAMS *p)
{
	SET(p, find_in(exec, node), make_host(p, &command));
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(true, find_in(exec, node), make_event(SLU_COMMAND_RECORD, event, &command));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(true, find_in(exec, node), make_event(SLU_COMMAND_AWAIT, event, &command));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	SET(true, find_in(exec, node), make_child(child, &command));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	SET(may_change(p), find_in(exec, node), make_any(p, &command));
}
