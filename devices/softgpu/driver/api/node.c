/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/api/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/branch.h"
#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/graph.h"
#include "softgpu/driver/execution/graph-memory.h"
#include "softgpu/driver/execution/operation.h"

CUresult dev_node_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct dev_command **ret_command)
{
	CUfunction function = p->func ? p->func : (CUfunction)(void *)p->kern;

	return dev_entry_kernel(function, (unsigned[]){ p->gridDimX, p->gridDimY, p->gridDimZ },
				(unsigned[]){ p->blockDimX, p->blockDimY, p->blockDimZ },
				p->sharedMemBytes, false, p->kernelParams, p->extra, ret_command);
}

CUDA_KERNEL_NODE_PARAMS dev_node_widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = { 0 };

	memcpy(&wide, p, sizeof(*p));
	return wide;
}

static CUresult node_done(struct dev_command *command, struct dev_command **ret_command)
{
	*ret_command = command;
	return command ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult dev_node_empty(struct dev_command **ret_command)
{
	return node_done(dev_command_new(DEV_COMMAND_EMPTY), ret_command);
}

CUresult dev_node_copy(const CUDA_MEMCPY3D *p, struct dev_command **ret_command)
{
	struct dev_command_copy box;
	struct dev_command *command;

	DEV_TRY(dev_entry_box(p, &box));
	command = dev_command_new(DEV_COMMAND_COPY);
	if (command)
		command->copy = box;
	return node_done(command, ret_command);
}

CUresult dev_node_set(const CUDA_MEMSET_NODE_PARAMS *p, struct dev_command **ret_command)
{
	struct dev_command *command;

	if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width ||
	    !p->height || p->dst % p->elementSize || p->width > SIZE_MAX / p->elementSize ||
	    (p->height > 1 && p->pitch < p->width * p->elementSize))
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(DEV_COMMAND_SET);
	if (command)
		command->set = (struct dev_command_set){ .dst = p->dst,
							 .pitch = p->pitch,
							 .width = p->width,
							 .height = p->height,
							 .value = p->value,
							 .size = p->elementSize };
	return node_done(command, ret_command);
}

CUresult dev_node_host(const CUDA_HOST_NODE_PARAMS *p, struct dev_command **ret_command)
{
	struct dev_command *command;

	if (!p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(DEV_COMMAND_HOST);
	if (command) {
		command->host.function = p->fn;
		command->host.user = p->userData;
	}
	return node_done(command, ret_command);
}

CUresult dev_node_event(enum dev_command_kind kind, CUevent event, struct dev_command **ret_command)
{
	struct dev_command *command;

	if (!dev_event_get(event))
		return CUDA_ERROR_INVALID_HANDLE;
	command = dev_command_new(kind);
	if (command)
		command->event = event;
	return node_done(command, ret_command);
}

CUresult dev_node_child(CUgraph handle, struct dev_command **ret_command)
{
	struct dev_graph *graph = dev_graph_get(handle);
	struct dev_command *command;

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev_branch_is_in(graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	command = dev_command_new(DEV_COMMAND_GRAPH);
	if (command) {
		command->graph = dev_graph_clone(graph);
		if (!command->graph) {
			free(command);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		command->graph->is_child = true;
	}
	return node_done(command, ret_command);
}

CUresult dev_node_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct dev_command **ret_command)
{
	struct dev_graph_memory *memory;
	struct dev_command *command;
	struct dev_card *card;

	if (!p->bytesize || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    p->poolProps.handleTypes || p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_driver_card(p->poolProps.location.id, &card));
	DEV_TRY(dev_graph_memory_new(card, p, &memory));
	command = dev_command_new(DEV_COMMAND_ALLOC);
	if (!command) {
		dev_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->memory = memory;
	p->dptr = memory->address;
	return node_done(command, ret_command);
}

CUresult dev_node_free(CUdeviceptr address, struct dev_command **ret_command)
{
	struct dev_graph_memory *memory = dev_graph_memory_find(address);
	struct dev_command *command;

	if (!memory)
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(DEV_COMMAND_FREE);
	if (!command) {
		dev_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->memory = memory;
	return node_done(command, ret_command);
}

CUresult dev_node_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct dev_command **ret_command)
{
	CUstreamBatchMemOpParams *ops;
	struct dev_command *command;

	if (!dev_context_get(p->ctx) || !p->count || p->count > 256 || !p->paramArray || p->flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < p->count; i++) {
		DEV_TRY(dev_operation_command(&p->paramArray[i], &command));
		dev_command_free(command);
	}
	command = dev_command_new(DEV_COMMAND_BATCH);
	ops = reallocarray(NULL, p->count, sizeof(*ops));
	if (!command || !ops) {
		free(command);
		free(ops);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memcpy(ops, p->paramArray, p->count * sizeof(*ops));
	command->batch = (struct dev_command_batch){ p->ctx, ops, p->count, p->flags };
	return node_done(command, ret_command);
}

static CUresult make_branch(CUDA_CONDITIONAL_NODE_PARAMS *p, struct dev_command **ret_command)
{
	struct dev_condition *condition = dev_condition_get(p->handle);
	struct dev_command *command;
	int r;

	/* a condition is one node's */
	if (!condition || condition->is_used || dev_context_get(p->ctx) != condition->context ||
	    (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH)
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(DEV_COMMAND_BRANCH);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = dev_branch_init(&command->branch, condition, p->type, p->size);
	if (r) {
		free(command);
		return r == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->phGraph_out = (CUgraph *)(void *)command->branch.bodies;
	return node_done(command, ret_command);
}

CUresult dev_node_any(CUgraphNodeParams *p, struct dev_command **ret_command)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return dev_node_kernel(&p->kernel, ret_command);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return p->memcpy.flags ? CUDA_ERROR_INVALID_VALUE
				       : dev_node_copy(&p->memcpy.copyParams, ret_command);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return dev_node_set(
			&(CUDA_MEMSET_NODE_PARAMS){ .dst = p->memset.dst,
						    .pitch = p->memset.pitch,
						    .value = p->memset.value,
						    .elementSize = p->memset.elementSize,
						    .width = p->memset.width,
						    .height = p->memset.height },
			ret_command);
	case CU_GRAPH_NODE_TYPE_HOST:
		return dev_node_host(&p->host, ret_command);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return dev_node_child(p->graph.graph, ret_command);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return dev_node_empty(ret_command);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return dev_node_event(DEV_COMMAND_AWAIT, p->eventWait.event, ret_command);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return dev_node_event(DEV_COMMAND_RECORD, p->eventRecord.event, ret_command);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return dev_node_alloc(&p->alloc, ret_command);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return dev_node_free(p->free.dptr, ret_command);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return dev_node_batch(&p->memOp, ret_command);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return make_branch(&p->conditional, ret_command);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
