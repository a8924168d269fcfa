/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where contexts end, and where captures begin and end. Memory dies with its context, so ours must
 * be given back before; a program that captures is not drained.
 */
#include "cuda/device.h"
#include "cuda/real.h"

#define DESTROY(name)                                     \
	CUresult name(CUcontext context)                  \
	{                                                 \
		if (context)                              \
			slu_cuda_context_ending(context); \
		return SLU_REAL(name)(context);           \
	}

DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)

/*
 * The primary context ends with its last release. The program's references are counted here, so
 * that what is ours in the context goes before it.
 */
#define ORDINALS_MAX 64

static struct {
	_Atomic(CUcontext) context;
	_Atomic int n_retained;
} primaries[ORDINALS_MAX];

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice ordinal)
{
	CUresult r = SLU_REAL(cuDevicePrimaryCtxRetain)(ret_context, ordinal);

	if (r == CUDA_SUCCESS && ordinal >= 0 && ordinal < ORDINALS_MAX) {
		atomic_store(&primaries[ordinal].context, *ret_context);
		atomic_fetch_add(&primaries[ordinal].n_retained, 1);
	}
	return r;
}

static void primary_ending(CUdevice ordinal)
{
	CUcontext context = atomic_exchange(&primaries[ordinal].context, NULL);

	if (context)
		slu_cuda_context_ending(context);
}

#define RELEASE(name)                                                         \
	CUresult name(CUdevice ordinal)                                       \
	{                                                                     \
		if (ordinal >= 0 && ordinal < ORDINALS_MAX &&                 \
		    atomic_load(&primaries[ordinal].n_retained) > 0 &&        \
		    atomic_fetch_sub(&primaries[ordinal].n_retained, 1) == 1) \
			primary_ending(ordinal);                              \
		return SLU_REAL(name)(ordinal);                               \
	}

/* A reset ends the context, however many references there are. */
#define RESET(name)                                         \
	CUresult name(CUdevice ordinal)                     \
	{                                                   \
		if (ordinal >= 0 && ordinal < ORDINALS_MAX) \
			primary_ending(ordinal);            \
		return SLU_REAL(name)(ordinal);             \
	}

RELEASE(cuDevicePrimaryCtxRelease)
RELEASE(cuDevicePrimaryCtxRelease_v2)
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)

static void count_capture(CUresult r, int by)
{
	struct slu_cuda_device *d = r == CUDA_SUCCESS ? slu_cuda_device_here() : NULL;

	if (!d)
		return;
	if (by > 0)
		atomic_fetch_add(&d->n_capturing, 1);
	else if (atomic_load(&d->n_capturing))
		atomic_fetch_sub(&d->n_capturing, 1);
}

#define BEGIN_CAPTURE(name)                          \
	CUresult name(CUstream stream)               \
	{                                            \
		CUresult r = SLU_REAL(name)(stream); \
                                                     \
		count_capture(r, 1);                 \
		return r;                            \
	}

#define BEGIN_CAPTURE_MODE(name)                                 \
	CUresult name(CUstream stream, CUstreamCaptureMode mode) \
	{                                                        \
		CUresult r = SLU_REAL(name)(stream, mode);       \
                                                                 \
		count_capture(r, 1);                             \
		return r;                                        \
	}

#define BEGIN_CAPTURE_TO(name)                                                          \
	CUresult name(CUstream stream, CUgraph graph, const CUgraphNode *nodes,         \
		      const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode) \
	{                                                                               \
		CUresult r = SLU_REAL(name)(stream, graph, nodes, edges, n, mode);      \
                                                                                        \
		count_capture(r, 1);                                                    \
		return r;                                                               \
	}

/* An invalidated capture ends here, too, with an error: it counts all the same. */
#define END_CAPTURE(name)                                       \
	CUresult name(CUstream stream, CUgraph *ret_graph)      \
	{                                                       \
		CUresult r = SLU_REAL(name)(stream, ret_graph); \
                                                                \
		count_capture(CUDA_SUCCESS, -1);                \
		return r;                                       \
	}

BEGIN_CAPTURE(cuStreamBeginCapture)
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz)
BEGIN_CAPTURE_MODE(cuStreamBeginCapture_v2)
BEGIN_CAPTURE_MODE(cuStreamBeginCapture_v2_ptsz)
BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph)
BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph_ptsz)
END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)
