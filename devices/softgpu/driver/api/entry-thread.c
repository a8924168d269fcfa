/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The variants for the per-thread default stream: stream 0 means the calling thread's own stream
 * there, and nothing else is different. (Blocking copies and sets have no stream to replace; their
 * variants stand beside them in entry-copy.c.)
 */

#include "softgpu/driver/api/entry.h"

static CUstream thread_own(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return cuMemcpyAsync(dst, src, bytes, thread_own(stream));
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return cuMemcpyHtoDAsync_v2(dst, src, bytes, thread_own(stream));
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return cuMemcpyDtoHAsync_v2(dst, src, bytes, thread_own(stream));
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return cuMemcpyDtoDAsync_v2(dst, src, bytes, thread_own(stream));
}

CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
				CUcontext src_context, size_t bytes, CUstream stream)
{
	return cuMemcpyPeerAsync(dst, dst_context, src, src_context, bytes, thread_own(stream));
}

CUresult cuMemcpyAtoHAsync_v2_ptsz(void *dst, CUarray src, size_t offset, size_t bytes,
				   CUstream stream)
{
	return cuMemcpyAtoHAsync_v2(dst, src, offset, bytes, thread_own(stream));
}

CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray dst, size_t offset, const void *src, size_t bytes,
				   CUstream stream)
{
	return cuMemcpyHtoAAsync_v2(dst, offset, src, bytes, thread_own(stream));
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	return cuMemcpy2DAsync_v2(copy, thread_own(stream));
}

CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	return cuMemcpy3DAsync_v2(copy, thread_own(stream));
}

#define SET(bits, type)                                                                           \
	CUresult cuMemsetD##bits##Async_ptsz(CUdeviceptr dst, type value, size_t n, CUstream s)   \
	{                                                                                         \
		return cuMemsetD##bits##Async(dst, value, n, thread_own(s));                      \
	}                                                                                         \
	CUresult cuMemsetD2D##bits##Async_ptsz(CUdeviceptr dst, size_t pitch, type value,         \
					       size_t width, size_t height, CUstream s)           \
	{                                                                                         \
		return cuMemsetD2D##bits##Async(dst, pitch, value, width, height, thread_own(s)); \
	}

SET(8, unsigned char)
SET(16, unsigned short)
SET(32, unsigned int)

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	return cuStreamSynchronize(thread_own(stream));
}

CUresult cuStreamQuery_ptsz(CUstream stream)
{
	return cuStreamQuery(thread_own(stream));
}

CUresult cuStreamGetPriority_ptsz(CUstream stream, int *ret_priority)
{
	return cuStreamGetPriority(thread_own(stream), ret_priority);
}

CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int *ret_flags)
{
	return cuStreamGetFlags(thread_own(stream), ret_flags);
}

CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long *ret_id)
{
	return cuStreamGetId(thread_own(stream), ret_id);
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext *ret_context, CUgreenCtx *ret_green)
{
	return cuStreamGetCtx_v2(thread_own(stream), ret_context, ret_green);
}

CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext *ret_context)
{
	return cuStreamGetCtx(thread_own(stream), ret_context);
}

CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice *ret_device)
{
	return cuStreamGetDevice(thread_own(stream), ret_device);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags)
{
	return cuStreamWaitEvent(thread_own(stream), event, flags);
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void *user,
				  unsigned int flags)
{
	return cuStreamAddCallback(thread_own(stream), callback, user, flags);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *user)
{
	return cuLaunchHostFunc(thread_own(stream), function, user);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream)
{
	return cuEventRecord(event, thread_own(stream));
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags)
{
	return cuEventRecordWithFlags(event, thread_own(stream), flags);
}

CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value,
				      unsigned int flags)
{
	return cuStreamWriteValue32_v2(thread_own(stream), address, value, flags);
}

CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value,
				      unsigned int flags)
{
	return cuStreamWriteValue64_v2(thread_own(stream), address, value, flags);
}

CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value,
				     unsigned int flags)
{
	return cuStreamWaitValue32_v2(thread_own(stream), address, value, flags);
}

CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value,
				     unsigned int flags)
{
	return cuStreamWaitValue64_v2(thread_own(stream), address, value, flags);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			     unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			     void **params, void **extra)
{
	return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
			      shared_bytes, thread_own(stream), params, extra);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x,
					unsigned int grid_y, unsigned int grid_z,
					unsigned int block_x, unsigned int block_y,
					unsigned int block_z, unsigned int shared_bytes,
					CUstream stream, void **params)
{
	return cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
					 block_z, shared_bytes, thread_own(stream), params);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **params,
			       void **extra)
{
	CUlaunchConfig copy;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	copy = *config;
	copy.hStream = thread_own(copy.hStream);
	return cuLaunchKernelEx(&copy, function, params, extra);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	return cuGraphLaunch(exec, thread_own(stream));
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream)
{
	return cuGraphUpload(exec, thread_own(stream));
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret_exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return cuGraphInstantiateWithParams(ret_exec, graph, params);
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
	return cuStreamBeginCapture(thread_own(stream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
	return cuStreamBeginCapture_v2(thread_own(stream), mode);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *ret_graph)
{
	return cuStreamEndCapture(thread_own(stream), ret_graph);
}

CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus *ret_status)
{
	return cuStreamIsCapturing(thread_own(stream), ret_status);
}

CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus *ret_status,
				     cuuint64_t *ret_id)
{
	return cuStreamGetCaptureInfo(thread_own(stream), ret_status, ret_id);
}

CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus *ret_status,
					cuuint64_t *ret_id, CUgraph *ret_graph,
					const CUgraphNode **ret_nodes, size_t *ret_n)
{
	return cuStreamGetCaptureInfo_v2(thread_own(stream), ret_status, ret_id, ret_graph,
					 ret_nodes, ret_n);
}

CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus *ret_status,
					cuuint64_t *ret_id, CUgraph *ret_graph,
					const CUgraphNode **ret_nodes,
					const CUgraphEdgeData **ret_edges, size_t *ret_n)
{
	return cuStreamGetCaptureInfo_v3(thread_own(stream), ret_status, ret_id, ret_graph,
					 ret_nodes, ret_edges, ret_n);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ret_address, size_t bytes, CUstream stream)
{
	return cuMemAllocAsync(ret_address, bytes, thread_own(stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ret_address, size_t bytes, CUmemoryPool pool,
				      CUstream stream)
{
	return cuMemAllocFromPoolAsync(ret_address, bytes, pool, thread_own(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
	return cuMemFreeAsync(address, thread_own(stream));
}

CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n,
				 CUmemcpyAttributes *attributes, size_t *firsts,
				 size_t n_attributes, size_t *ret_failed, CUstream stream)
{
	return cuMemcpyBatchAsync(dsts, srcs, sizes, n, attributes, firsts, n_attributes,
				  ret_failed, thread_own(stream));
}

CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n,
				    CUmemcpyAttributes *attributes, size_t *firsts,
				    size_t n_attributes, CUstream stream)
{
	return cuMemcpyBatchAsync_v2(dsts, srcs, sizes, n, attributes, firsts, n_attributes,
				     thread_own(stream));
}

CUresult cuMemcpy3DBatchAsync_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *ret_failed,
				   unsigned long long flags, CUstream stream)
{
	return cuMemcpy3DBatchAsync(n, ops, ret_failed, flags, thread_own(stream));
}

CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops,
				      unsigned long long flags, CUstream stream)
{
	return cuMemcpy3DBatchAsync_v2(n, ops, flags, thread_own(stream));
}

CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
	return cuMemcpy3DPeerAsync(copy, thread_own(stream));
}

CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *ops,
				 unsigned int flags)
{
	return cuStreamBatchMemOp(thread_own(stream), n, ops, flags);
}

CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *ops,
				    unsigned int flags)
{
	return cuStreamBatchMemOp_v2(thread_own(stream), n, ops, flags);
}

CUresult cuStreamGetAttribute_ptsz(CUstream stream, CUstreamAttrID which,
				   CUstreamAttrValue *ret_value)
{
	return cuStreamGetAttribute(thread_own(stream), which, ret_value);
}

CUresult cuStreamSetAttribute_ptsz(CUstream stream, CUstreamAttrID which,
				   const CUstreamAttrValue *value)
{
	return cuStreamSetAttribute(thread_own(stream), which, value);
}

CUresult cuStreamCopyAttributes_ptsz(CUstream dst, CUstream src)
{
	return cuStreamCopyAttributes(thread_own(dst), thread_own(src));
}

CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode *nodes, size_t n,
						unsigned int flags)
{
	return cuStreamUpdateCaptureDependencies(thread_own(stream), nodes, n, flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode *nodes,
						   const CUgraphEdgeData *edges, size_t n,
						   unsigned int flags)
{
	return cuStreamUpdateCaptureDependencies_v2(thread_own(stream), nodes, edges, n, flags);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *deps,
					  const CUgraphEdgeData *edges, size_t n,
					  CUstreamCaptureMode mode)
{
	return cuStreamBeginCaptureToGraph(thread_own(stream), graph, deps, edges, n, mode);
}

#define VALUE(what, bits)                                                                       \
	CUresult cuStream##what##Value##bits##_ptsz(CUstream stream, CUdeviceptr address,       \
						    cuuint##bits##_t value, unsigned int flags) \
	{                                                                                       \
		return cuStream##what##Value##bits##_v2(thread_own(stream), address, value,     \
							flags);                                 \
	}

VALUE(Wait, 32)
VALUE(Wait, 64)
VALUE(Write, 32)
VALUE(Write, 64)

CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t bytes,
				     unsigned int flags)
{
	return cuStreamAttachMemAsync(thread_own(stream), address, bytes, flags);
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice device,
				 CUstream stream)
{
	return cuMemPrefetchAsync(address, bytes, device, thread_own(stream));
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes, CUmemLocation location,
				    unsigned int flags, CUstream stream)
{
	return cuMemPrefetchAsync_v2(address, bytes, location, flags, thread_own(stream));
}

CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
				      CUmemLocation *locations, size_t *firsts, size_t n_locations,
				      unsigned long long flags, CUstream stream)
{
	return cuMemPrefetchBatchAsync(addresses, sizes, n, locations, firsts, n_locations, flags,
				       thread_own(stream));
}
