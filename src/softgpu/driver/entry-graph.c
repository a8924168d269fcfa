/* SPDX-License-Identifier: Apache-2.0 */

/* Stream capture and graphs. */

#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/entry.h"
#include "softgpu/driver/graph.h"
#include "softgpu/driver/module.h"

static CUgraph handle_of(struct slu_graph *graph)
{
	return (CUgraph)(void *)graph;
}

/* -- capture -------------------------------------------------------------------------------- */

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	struct slu_context *context;
	struct slu_stream *stream;

	SLU_TRY(slu_entry_stream(handle, &context, &stream));
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	return slu_capture_begin(stream, mode);
}

CUresult cuStreamBeginCapture(CUstream handle)
{
	return cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *ret_graph)
{
	struct slu_context *context;
	struct slu_stream *stream;

	SLU_TRY(slu_entry_stream(handle, &context, &stream));
	if (!ret_graph)
		return CUDA_ERROR_INVALID_VALUE;
	return slu_capture_end(stream, ret_graph);
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *ret_status)
{
	struct slu_context *context;
	struct slu_stream *stream;
	unsigned long long id;
	CUgraph graph;

	SLU_TRY(slu_context_enter(&context));
	SLU_TRY(slu_stream_get(context, handle, &stream));
	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;
	slu_capture_state(stream, ret_status, &id, &graph);
	return CUDA_SUCCESS;
}

static CUresult capture_info(CUstream handle, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
			     CUgraph *ret_graph)
{
	struct slu_context *context;
	struct slu_stream *stream;
	unsigned long long id;
	CUgraph graph;

	SLU_TRY(slu_context_enter(&context));
	SLU_TRY(slu_stream_get(context, handle, &stream));
	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;
	slu_capture_state(stream, ret_status, &id, &graph);
	if (ret_id)
		*ret_id = id;
	if (ret_graph)
		*ret_graph = graph;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *ret_status,
				cuuint64_t *ret_id)
{
	return capture_info(handle, ret_status, ret_id, NULL);
}

/* Who wants to know the dependencies is told that we do not tell them. */
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *ret_status,
				   cuuint64_t *ret_id, CUgraph *ret_graph,
				   const CUgraphNode **ret_nodes, size_t *ret_n)
{
	if (ret_nodes || ret_n)
		return CUDA_ERROR_NOT_SUPPORTED;
	return capture_info(handle, ret_status, ret_id, ret_graph);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *ret_status,
				   cuuint64_t *ret_id, CUgraph *ret_graph,
				   const CUgraphNode **ret_nodes, const CUgraphEdgeData **ret_edges,
				   size_t *ret_n)
{
	if (ret_nodes || ret_edges || ret_n)
		return CUDA_ERROR_NOT_SUPPORTED;
	return capture_info(handle, ret_status, ret_id, ret_graph);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	SLU_TRY(slu_driver_enter());
	return mode ? slu_capture_exchange_mode(mode) : CUDA_ERROR_INVALID_VALUE;
}

/* -- graphs --------------------------------------------------------------------------------- */

CUresult cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
	struct slu_graph *graph;

	SLU_TRY(slu_driver_enter());
	if (!ret_graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	graph = slu_graph_new();
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_graph = handle_of(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle)
{
	struct slu_graph *graph;

	SLU_TRY(slu_driver_enter());
	graph = slu_graph_get(handle);
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	slu_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *ret_clone, CUgraph handle)
{
	struct slu_graph *graph, *clone;

	SLU_TRY(slu_driver_enter());
	graph = slu_graph_get(handle);
	if (!ret_clone || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	clone = slu_graph_clone(graph);
	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_clone = handle_of(clone);
	return CUDA_SUCCESS;
}

static CUresult check_deps(const struct slu_graph *graph, const CUgraphNode *deps, size_t n)
{
	if (n && !deps)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct slu_graph_node *node = slu_graph_get_node(deps[i]);

		if (!node || node->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult add(CUgraphNode *ret_node, CUgraph handle, const CUgraphNode *deps, size_t n,
		    struct slu_command *command)
{
	struct slu_graph *graph = slu_graph_get(handle);
	struct slu_graph_node *node;
	CUresult result;

	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = graph && ret_node ? check_deps(graph, deps, n) : CUDA_ERROR_INVALID_VALUE;
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

CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			     size_t n)
{
	SLU_TRY(slu_driver_enter());
	return add(ret_node, graph, deps, n, slu_command_new(SLU_COMMAND_EMPTY));
}

CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			    const CUDA_HOST_NODE_PARAMS *p)
{
	struct slu_command *command;

	SLU_TRY(slu_driver_enter());
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	command = slu_command_new(SLU_COMMAND_HOST);
	if (command) {
		command->host.function = p->fn;
		command->host.user = p->userData;
	}
	return add(ret_node, graph, deps, n, command);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	struct slu_command *command;

	SLU_TRY(slu_driver_enter());
	if (!p || !slu_context_get(context) ||
	    (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	command = slu_command_new(SLU_COMMAND_SET);
	if (command)
		command->set = (struct slu_command_set){ .dst = p->dst,
							 .pitch = p->pitch,
							 .width = p->width,
							 .height = p->height,
							 .value = p->value,
							 .size = p->elementSize };
	return add(ret_node, graph, deps, n, command);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct slu_command_copy box;
	struct slu_command *command;

	SLU_TRY(slu_driver_enter());
	if (!p || !slu_context_get(context))
		return CUDA_ERROR_INVALID_VALUE;
	SLU_TRY(slu_entry_box(p, &box));
	command = slu_command_new(SLU_COMMAND_COPY);
	if (command)
		command->copy = box;
	return add(ret_node, graph, deps, n, command);
}

static CUresult add_kernel(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n,
			   const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct slu_command *command;

	SLU_TRY(slu_entry_kernel(p->func, (unsigned[]){ p->gridDimX, p->gridDimY, p->gridDimZ },
				 (unsigned[]){ p->blockDimX, p->blockDimY, p->blockDimZ },
				 p->sharedMemBytes, false, p->kernelParams, p->extra, &command));
	return add(ret_node, graph, deps, n, command);
}

CUresult cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
			      size_t n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	SLU_TRY(slu_driver_enter());
	return p ? add_kernel(ret_node, graph, deps, n, p) : CUDA_ERROR_INVALID_VALUE;
}

/* The newer form begins like the older one. */
CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUDA_KERNEL_NODE_PARAMS_v1 first;

	SLU_TRY(slu_driver_enter());
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->kern)
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(&first, p, sizeof(first));
	return add_kernel(ret_node, graph, deps, n, &first);
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
	struct slu_graph *graph;

	SLU_TRY(slu_driver_enter());
	graph = slu_graph_get(handle);
	if (!graph || !n)
		return CUDA_ERROR_INVALID_VALUE;
	if (!nodes) {
		*n = graph->n_nodes;
		return CUDA_SUCCESS;
	}
	for (size_t i = 0; i < *n; i++)
		nodes[i] = i < graph->n_nodes ? (CUgraphNode)(void *)graph->nodes[i] : NULL;
	if (*n > graph->n_nodes)
		*n = graph->n_nodes;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *ret_type)
{
	struct slu_graph_node *node;

	SLU_TRY(slu_driver_enter());
	node = slu_graph_get_node(handle);
	if (!node || !ret_type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (node->command->kind) {
	case SLU_COMMAND_KERNEL:
		*ret_type = CU_GRAPH_NODE_TYPE_KERNEL;
		return CUDA_SUCCESS;
	case SLU_COMMAND_COPY:
		*ret_type = CU_GRAPH_NODE_TYPE_MEMCPY;
		return CUDA_SUCCESS;
	case SLU_COMMAND_SET:
		*ret_type = CU_GRAPH_NODE_TYPE_MEMSET;
		return CUDA_SUCCESS;
	case SLU_COMMAND_HOST:
		*ret_type = CU_GRAPH_NODE_TYPE_HOST;
		return CUDA_SUCCESS;
	case SLU_COMMAND_EMPTY:
		*ret_type = CU_GRAPH_NODE_TYPE_EMPTY;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph handle,
				     unsigned long long flags)
{
	struct slu_graph_exec *exec;
	struct slu_graph *graph;

	SLU_TRY(slu_driver_enter());
	graph = slu_graph_get(handle);
	if (!ret_exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	/* a launch from the device is not there; the other flags change no result */
	if (flags & 4)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (flags & ~15ull)
		return CUDA_ERROR_INVALID_VALUE;
	exec = slu_graph_instantiate(graph);
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->flags = flags;
	*ret_exec = (CUgraphExec)(void *)exec;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph handle, CUgraphNode *ret_node,
			       char *log, size_t log_size)
{
	if (ret_node)
		*ret_node = NULL;
	if (log && log_size)
		*log = '\0';
	return cuGraphInstantiateWithFlags(ret_exec, handle, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *ret_exec, CUgraph handle, CUgraphNode *ret_node, char *log,
			    size_t log_size)
{
	return cuGraphInstantiate_v2(ret_exec, handle, ret_node, log, log_size);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph handle,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult result;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuGraphInstantiateWithFlags(ret_exec, handle, p->flags);
	p->hErrNode_out = NULL;
	p->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *ret_flags)
{
	struct slu_graph_exec *exec;

	SLU_TRY(slu_driver_enter());
	exec = slu_graph_exec_get(handle);
	if (!exec || !ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = exec->flags;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
	struct slu_graph_exec *exec;

	SLU_TRY(slu_driver_enter());
	exec = slu_graph_exec_get(handle);
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	slu_graph_exec_free(exec);
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec_handle, CUstream handle)
{
	struct slu_graph_exec *exec;
	struct slu_context *context;
	struct slu_stream *stream;

	SLU_TRY(slu_entry_stream(handle, &context, &stream));
	exec = slu_graph_exec_get(exec_handle);
	return exec ? slu_graph_launch(exec, stream) : CUDA_ERROR_INVALID_VALUE;
}

/* Nothing has to be brought anywhere before a launch. */
CUresult cuGraphUpload(CUgraphExec exec_handle, CUstream handle)
{
	struct slu_context *context;
	struct slu_stream *stream;

	SLU_TRY(slu_entry_stream(handle, &context, &stream));
	return slu_graph_exec_get(exec_handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
