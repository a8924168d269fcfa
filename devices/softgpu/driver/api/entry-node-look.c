/* SPDX-License-Identifier: Apache-2.0 */

/* What the nodes of graphs are, and whether they run. */

#include <stdlib.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/graph.h"
#include "softgpu/driver/execution/graph-memory.h"
#include "softgpu/driver/images/module.h"

static const struct {
	enum dev_command_kind kind;
	CUgraphNodeType type;
} types[] = {
	{ DEV_COMMAND_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL },
	{ DEV_COMMAND_COPY, CU_GRAPH_NODE_TYPE_MEMCPY },
	{ DEV_COMMAND_SET, CU_GRAPH_NODE_TYPE_MEMSET },
	{ DEV_COMMAND_HOST, CU_GRAPH_NODE_TYPE_HOST },
	{ DEV_COMMAND_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH },
	{ DEV_COMMAND_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY },
	{ DEV_COMMAND_AWAIT, CU_GRAPH_NODE_TYPE_WAIT_EVENT },
	{ DEV_COMMAND_RECORD, CU_GRAPH_NODE_TYPE_EVENT_RECORD },
	{ DEV_COMMAND_ALLOC, CU_GRAPH_NODE_TYPE_MEM_ALLOC },
	{ DEV_COMMAND_FREE, CU_GRAPH_NODE_TYPE_MEM_FREE },
	{ DEV_COMMAND_BRANCH, CU_GRAPH_NODE_TYPE_CONDITIONAL },
	{ DEV_COMMAND_BATCH, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP },
	/* what captures make of single values */
	{ DEV_COMMAND_WRITE, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP },
	{ DEV_COMMAND_WAIT, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP },
};

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *ret_type)
{
	struct dev_graph_node *node;

	DEV_TRY(dev_driver_enter());
	node = dev_graph_get_node(handle);
	if (!node || !ret_type)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].kind == node->command->kind) {
			*ret_type = types[i].type;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* Finds the command of a node that must be of a kind. */
static CUresult node_look(CUgraphNode handle, enum dev_command_kind kind, const void *ret,
			  struct dev_command **ret_command)
{
	struct dev_graph_node *node;

	DEV_TRY(dev_driver_enter());
	node = dev_graph_get_node(handle);
	if (!node || !ret || node->command->kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_command = node->command;
	return CUDA_SUCCESS;
}

/* One pointer a parameter into the command's buffer; made when somebody asks, owned by the command.
 */
static CUresult point_params(struct dev_command_kernel *k)
{
	const struct slu_ptx_function *ptx = k->function->kernel;

	if (!k->pointers)
		k->pointers = calloc(ptx->n_params + 1, sizeof(*k->pointers));
	if (!k->pointers)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < ptx->n_params; i++)
		k->pointers[i] = (char *)k->params + ptx->params[i]->offset;
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *ret)
{
	struct dev_command *command;
	struct dev_command_kernel *k;

	DEV_TRY(node_look(handle, DEV_COMMAND_KERNEL, ret, &command));
	k = &command->kernel;
	DEV_TRY(point_params(k));
	*ret = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)(void *)k->function,
		.gridDimX = k->grid[0],
		.gridDimY = k->grid[1],
		.gridDimZ = k->grid[2],
		.blockDimX = k->block[0],
		.blockDimY = k->block[1],
		.blockDimZ = k->block[2],
		.sharedMemBytes = (unsigned)k->shared_bytes,
		.kernelParams = k->pointers,
		.ctx = dev_context_handle(k->function->module->context),
	};
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *ret)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(cuGraphKernelNodeGetParams_v2(handle, &wide));
	*ret = (CUDA_KERNEL_NODE_PARAMS_v1){
		.func = wide.func,
		.gridDimX = wide.gridDimX,
		.gridDimY = wide.gridDimY,
		.gridDimZ = wide.gridDimZ,
		.blockDimX = wide.blockDimX,
		.blockDimY = wide.blockDimY,
		.blockDimZ = wide.blockDimZ,
		.sharedMemBytes = wide.sharedMemBytes,
		.kernelParams = wide.kernelParams,
	};
	return CUDA_SUCCESS;
}

/* Both ends are told as unified addresses: that is all that is kept of them. */
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *ret)
{
	struct dev_command *command;
	const struct dev_command_copy *c;

	DEV_TRY(node_look(handle, DEV_COMMAND_COPY, ret, &command));
	c = &command->copy;
	*ret = (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = c->src,
		.srcPitch = c->src_pitch,
		.srcHeight = c->src_pitch ? c->src_slice / c->src_pitch : c->height,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = c->dst,
		.dstPitch = c->dst_pitch,
		.dstHeight = c->dst_pitch ? c->dst_slice / c->dst_pitch : c->height,
		.WidthInBytes = c->width,
		.Height = c->height,
		.Depth = c->depth,
	};
	return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_BATCH, ret, &command));
	*ret = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
		.ctx = command->batch.context,
		.count = command->batch.n,
		.paramArray = command->batch.ops,
		.flags = command->batch.flags,
	};
	return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_SET, ret, &command));
	*ret = (CUDA_MEMSET_NODE_PARAMS){
		.dst = command->set.dst,
		.pitch = command->set.pitch,
		.value = command->set.value,
		.elementSize = command->set.size,
		.width = command->set.width,
		.height = command->set.height,
	};
	return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_HOST, ret, &command));
	*ret = (CUDA_HOST_NODE_PARAMS){ command->host.function, command->host.user };
	return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_GRAPH, ret, &command));
	*ret = (CUgraph)(void *)command->graph;
	return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_RECORD, ret, &command));
	*ret = command->event;
	return CUDA_SUCCESS;
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_AWAIT, ret, &command));
	*ret = command->event;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_ALLOC, ret, &command));
	*ret = command->memory->params;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *ret)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_FREE, ret, &command));
	*ret = command->memory->address;
	return CUDA_SUCCESS;
}

/* Only kernels, copies and sets can be switched off. */
static CUresult find_in(CUgraphExec exec_handle, CUgraphNode origin,
			struct dev_graph_node **ret_node)
{
	struct dev_graph_exec *exec;
	struct dev_graph_node *node;

	DEV_TRY(dev_driver_enter());
	exec = dev_graph_exec_get(exec_handle);
	node = exec && origin ? dev_graph_find_copy(exec->graph, (const void *)origin) : NULL;
	if (!node ||
	    (node->command->kind != DEV_COMMAND_KERNEL && node->command->kind != DEV_COMMAND_COPY &&
	     node->command->kind != DEV_COMMAND_SET))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = node;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode origin, unsigned int enabled)
{
	struct dev_graph_node *node;

	DEV_TRY(find_in(exec, origin, &node));
	node->is_disabled = !enabled;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode origin, unsigned int *ret_enabled)
{
	struct dev_graph_node *node;

	DEV_TRY(find_in(exec, origin, &node));
	if (!ret_enabled)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_enabled = !node->is_disabled;
	return CUDA_SUCCESS;
}

/* -- attributes of kernels ------------------------------------------------------------------ */

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID which,
				       CUkernelNodeAttrValue *ret_value)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_KERNEL, ret_value, &command));
	*ret_value = (CUkernelNodeAttrValue){ 0 };
	switch (which) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		ret_value->cooperative = command->kernel.is_cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID which,
				       const CUkernelNodeAttrValue *value)
{
	struct dev_command *command;

	DEV_TRY(node_look(handle, DEV_COMMAND_KERNEL, value, &command));
	switch (which) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if (value->cooperative)
			DEV_TRY(dev_entry_check_cooperative(&command->kernel));
		command->kernel.is_cooperative = value->cooperative;
		return CUDA_SUCCESS;
	/* hints about speed that change no result */
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst_handle, CUgraphNode src_handle)
{
	struct dev_command *dst, *src;

	DEV_TRY(node_look(src_handle, DEV_COMMAND_KERNEL, src_handle, &src));
	DEV_TRY(node_look(dst_handle, DEV_COMMAND_KERNEL, dst_handle, &dst));
	if (src->kernel.is_cooperative)
		DEV_TRY(dev_entry_check_cooperative(&dst->kernel));
	dst->kernel.is_cooperative = src->kernel.is_cooperative;
	return CUDA_SUCCESS;
}
