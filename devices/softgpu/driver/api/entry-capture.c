/* SPDX-License-Identifier: Apache-2.0 */

/* Stream capture. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/graph.h"

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_capture_begin(stream, mode, NULL, NULL, 0);
}

CUresult cuStreamBeginCapture(CUstream handle)
{
	return cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *ret_graph)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	return dev_capture_end(stream, ret_graph);
}

static CUresult state_of(CUstream handle, CUstreamCaptureStatus *ret_status,
			 unsigned long long *ret_id, CUgraph *ret_graph,
			 const CUgraphNode **ret_tail, size_t *ret_n)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;
	dev_capture_state(stream, ret_status, ret_id, ret_graph, ret_tail, ret_n);
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *ret_status)
{
	const CUgraphNode *tail;
	unsigned long long id;
	CUgraph graph;
	size_t n;

	return state_of(handle, ret_status, &id, &graph, &tail, &n);
}

/* Edges here have no data: all of it is zero. */
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *ret_status,
				   cuuint64_t *ret_id, CUgraph *ret_graph,
				   const CUgraphNode **ret_nodes, const CUgraphEdgeData **ret_edges,
				   size_t *ret_n)
{
	static const CUgraphEdgeData plain;
	const CUgraphNode *tail;
	unsigned long long id;
	CUgraph graph;
	size_t n;

	DEV_TRY(state_of(handle, ret_status, &id, &graph, &tail, &n));
	if (ret_id)
		*ret_id = id;
	if (ret_graph)
		*ret_graph = graph;
	if (ret_nodes)
		*ret_nodes = tail;
	if (ret_edges)
		*ret_edges = &plain;
	if (ret_n)
		*ret_n = n;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *ret_status,
				   cuuint64_t *ret_id, CUgraph *ret_graph,
				   const CUgraphNode **ret_nodes, size_t *ret_n)
{
	return cuStreamGetCaptureInfo_v3(handle, ret_status, ret_id, ret_graph, ret_nodes, NULL,
					 ret_n);
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *ret_status,
				cuuint64_t *ret_id)
{
	return cuStreamGetCaptureInfo_v3(handle, ret_status, ret_id, NULL, NULL, NULL, NULL);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
					      const CUgraphEdgeData *edges, size_t n,
					      unsigned int flags)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_nodes(NULL, nodes, n));
	DEV_TRY(dev_entry_edges(edges, n));
	return dev_capture_set_tail(stream, (struct dev_graph_node *const *)(const void *)nodes, n,
				    flags == 0);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, size_t n,
					   unsigned int flags)
{
	return cuStreamUpdateCaptureDependencies_v2(handle, nodes, NULL, n, flags);
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle, const CUgraphNode *deps,
				     const CUgraphEdgeData *edges, size_t n,
				     CUstreamCaptureMode mode)
{
	struct dev_context *context;
	struct dev_stream *stream;
	struct dev_graph *graph;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	graph = dev_graph_get(graph_handle);
	if (!graph || (unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_nodes(graph, deps, n));
	DEV_TRY(dev_entry_edges(edges, n));
	return dev_capture_begin(stream, mode, graph,
				 (struct dev_graph_node *const *)(const void *)deps, n);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	DEV_TRY(dev_driver_enter());
	return mode ? dev_capture_exchange_mode(mode) : CUDA_ERROR_INVALID_VALUE;
}
