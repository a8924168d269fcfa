/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nodes of graphs whose parameters have a form of their own in the runtime: kernels, which it knows
 * by host addresses, and copies. What the driver understands as it is stands in pass.def.
 */

#include "cudart/box.h"
#include "cudart/image.h"
#include "cudart/runtime.h"

/* -- Kernels */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *p,
				 CUDA_KERNEL_NODE_PARAMS *ret_params)
{
	CUfunction function;

	if (!p)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(dev_rt_function(p->func, &function));
	*ret_params = (CUDA_KERNEL_NODE_PARAMS){
		.func = function,
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
				   const cudaGraphNode_t *after, size_t n_after,
				   const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = kernel_params(params, &p);

	return dev_rt_end(
		error ? error
		      : DEV_RT_CALL(cuGraphAddKernelNode_v2, ret_node, graph, after, n_after, &p));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					 const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = kernel_params(params, &p);

	return dev_rt_end(error ? error : DEV_RT_CALL(cuGraphKernelNodeSetParams_v2, node, &p));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = kernel_params(params, &p);

	return dev_rt_end(error ? error
				: DEV_RT_CALL(cuGraphExecKernelNodeSetParams_v2, exec, node, &p));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
					 struct cudaKernelNodeParams *ret_params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error;

	if (!ret_params)
		return dev_rt_end(cudaErrorInvalidValue);
	error = DEV_RT_CALL(cuGraphKernelNodeGetParams_v2, node, &p);
	if (!error)
		*ret_params = (struct cudaKernelNodeParams){
			.func = (void *)(uintptr_t)dev_rt_function_host(p.func, p.kern),
			.gridDim = { p.gridDimX, p.gridDimY, p.gridDimZ },
			.blockDim = { p.blockDimX, p.blockDimY, p.blockDimZ },
			.sharedMemBytes = p.sharedMemBytes,
			.kernelParams = p.kernelParams,
			.extra = p.extra,
		};
	return dev_rt_end(error);
}

/* -- Copies */

static cudaError_t add_copy(cudaGraphNode_t *ret_node, cudaGraph_t graph,
			    const cudaGraphNode_t *after, size_t n_after, const CUDA_MEMCPY3D *box)
{
	CUcontext context;

	DEV_RT_TRY(DEV_RT_CALL(cuCtxGetCurrent, &context));
	return (cudaError_t)dev_rt_driver.cuGraphAddMemcpyNode(ret_node, graph, after, n_after, box,
							       context);
}

/* @exec: NULL to change the graph's own node. */
static cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *box)
{
	CUcontext context;

	DEV_RT_TRY(DEV_RT_CALL(cuCtxGetCurrent, &context));
	return (cudaError_t)(exec ? dev_rt_driver.cuGraphExecMemcpyNodeSetParams(exec, node, box,
										 context)
				  : dev_rt_driver.cuGraphMemcpyNodeSetParams(node, box));
}

static cudaError_t box_to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset,
				 enum cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_box)
{
	void *to;

	DEV_RT_TRY(dev_rt_variable_part(symbol, bytes, offset, &to));
	return dev_rt_box_run(to, from, bytes, kind, ret_box);
}

static cudaError_t box_from_symbol(void *to, const void *symbol, size_t bytes, size_t offset,
				   enum cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_box)
{
	void *from;

	DEV_RT_TRY(dev_rt_variable_part(symbol, bytes, offset, &from));
	return dev_rt_box_run(to, from, bytes, kind, ret_box);
}

/* The three things that are done with a copy, however it is described: @make fills `box`. */
#define COPY_CALLS(add, set, set_exec, params, make)                                        \
	cudaError_t add(cudaGraphNode_t *ret_node, cudaGraph_t graph,                       \
			const cudaGraphNode_t *after, size_t n_after, DEV_EXPAND params)    \
	{                                                                                   \
		CUDA_MEMCPY3D box;                                                          \
		cudaError_t error = make;                                                   \
                                                                                            \
		return dev_rt_end(error ? error                                             \
					: add_copy(ret_node, graph, after, n_after, &box)); \
	}                                                                                   \
	cudaError_t set(cudaGraphNode_t node, DEV_EXPAND params)                            \
	{                                                                                   \
		CUDA_MEMCPY3D box;                                                          \
		cudaError_t error = make;                                                   \
                                                                                            \
		return dev_rt_end(error ? error : set_copy(NULL, node, &box));              \
	}                                                                                   \
	cudaError_t set_exec(cudaGraphExec_t exec, cudaGraphNode_t node, DEV_EXPAND params) \
	{                                                                                   \
		CUDA_MEMCPY3D box;                                                          \
		cudaError_t error = make;                                                   \
                                                                                            \
		if (!exec)                                                                  \
			error = cudaErrorInvalidResourceHandle;                             \
		return dev_rt_end(error ? error : set_copy(exec, node, &box));              \
	}

#define DEV_EXPAND(...) __VA_ARGS__

COPY_CALLS(cudaGraphAddMemcpyNode, cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams,
	   (const struct cudaMemcpy3DParms *params), dev_rt_box(params, &box))
COPY_CALLS(cudaGraphAddMemcpyNode1D, cudaGraphMemcpyNodeSetParams1D,
	   cudaGraphExecMemcpyNodeSetParams1D,
	   (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
	   dev_rt_box_run(to, from, bytes, kind, &box))
COPY_CALLS(cudaGraphAddMemcpyNodeToSymbol, cudaGraphMemcpyNodeSetParamsToSymbol,
	   cudaGraphExecMemcpyNodeSetParamsToSymbol,
	   (const void *symbol, const void *from, size_t bytes, size_t offset,
	    enum cudaMemcpyKind kind),
	   box_to_symbol(symbol, from, bytes, offset, kind, &box))
COPY_CALLS(cudaGraphAddMemcpyNodeFromSymbol, cudaGraphMemcpyNodeSetParamsFromSymbol,
	   cudaGraphExecMemcpyNodeSetParamsFromSymbol,
	   (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
	   box_from_symbol(to, symbol, bytes, offset, kind, &box))

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *ret_params)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = ret_params ? DEV_RT_CALL(cuGraphMemcpyNodeGetParams, node, &box)
				       : cudaErrorInvalidValue;

	if (!error)
		dev_rt_unbox(&box, ret_params);
	return dev_rt_end(error);
}

/* -- Sets */

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
				   const cudaGraphNode_t *after, size_t n_after,
				   const struct cudaMemsetParams *params)
{
	CUcontext context;
	cudaError_t error = DEV_RT_CALL(cuCtxGetCurrent, &context);

	return dev_rt_end(error ? error
				: DEV_RT_CALL(cuGraphAddMemsetNode, ret_node, graph, after, n_after,
					      params, context));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *params)
{
	CUcontext context;
	cudaError_t error = DEV_RT_CALL(cuCtxGetCurrent, &context);

	return dev_rt_end(
		error ? error
		      : DEV_RT_CALL(cuGraphExecMemsetNodeSetParams, exec, node, params, context));
}

/* -- Branches */

static cudaError_t add_branch(cudaGraphNode_t *ret_node, cudaGraph_t graph,
			      const cudaGraphNode_t *after, size_t n_after,
			      struct cudaConditionalNodeParams *p)
{
	CUgraphNodeParams params = {
		.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = { .handle = p->handle, .type = p->type, .size = p->size }
	};

	DEV_RT_TRY(DEV_RT_CALL(cuCtxGetCurrent, &params.conditional.ctx));
	DEV_RT_TRY(DEV_RT_CALL(cuGraphAddNode_v2, ret_node, graph, after, NULL, n_after, &params));
	p->phGraph_out = params.conditional.phGraph_out;
	return cudaSuccess;
}

/* -- Nodes of any kind, handed to the calls for one kind */

cudaError_t cudaGraphAddNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
			     const cudaGraphNode_t *after, const cudaGraphEdgeData *edges,
			     size_t n_after, struct cudaGraphNodeParams *p)
{
	if (!p)
		return dev_rt_end(cudaErrorInvalidValue);
	for (size_t i = 0; edges && i < n_after; i++)
		if (edges[i].from_port || edges[i].to_port || edges[i].type)
			return dev_rt_end(cudaErrorNotSupported);
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return cudaGraphAddKernelNode(ret_node, graph, after, n_after, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return cudaGraphAddMemcpyNode(ret_node, graph, after, n_after,
					      &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return cudaGraphAddMemsetNode(ret_node, graph, after, n_after, &p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return cudaGraphAddHostNode(ret_node, graph, after, n_after, &p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return cudaGraphAddChildGraphNode(ret_node, graph, after, n_after, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return cudaGraphAddEmptyNode(ret_node, graph, after, n_after);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return cudaGraphAddEventWaitNode(ret_node, graph, after, n_after,
						 p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return cudaGraphAddEventRecordNode(ret_node, graph, after, n_after,
						   p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return cudaGraphAddMemAllocNode(ret_node, graph, after, n_after, &p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return cudaGraphAddMemFreeNode(ret_node, graph, after, n_after, p->free.dptr);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return dev_rt_end(add_branch(ret_node, graph, after, n_after, &p->conditional));
	default:
		return dev_rt_end(cudaErrorNotSupported);
	}
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
	switch (p ? (int)p->type : -1) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return cudaGraphKernelNodeSetParams(node, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return cudaGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return cudaGraphMemsetNodeSetParams(node, &p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return cudaGraphHostNodeSetParams(node, &p->host);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return cudaGraphEventWaitNodeSetEvent(node, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return cudaGraphEventRecordNodeSetEvent(node, p->eventRecord.event);
	default:
		return dev_rt_end(p ? cudaErrorNotSupported : cudaErrorInvalidValue);
	}
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
				       struct cudaGraphNodeParams *p)
{
	switch (p ? (int)p->type : -1) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return cudaGraphExecKernelNodeSetParams(exec, node, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return cudaGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return cudaGraphExecMemsetNodeSetParams(exec, node, &p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return cudaGraphExecHostNodeSetParams(exec, node, &p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return cudaGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return cudaGraphExecEventWaitNodeSetEvent(exec, node, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return cudaGraphExecEventRecordNodeSetEvent(exec, node, p->eventRecord.event);
	default:
		return dev_rt_end(p ? cudaErrorNotSupported : cudaErrorInvalidValue);
	}
}
