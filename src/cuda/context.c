/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that make, wait for and destroy contexts and streams, and that begin and end captures.
 * Memory ends with its context, so the shim gives back its own before; a program that captures is
 * not drained. The list of contexts is in contexts.h.
 */
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/entry-reserve.h"
#include "cuda/device.h"
#include "cuda/gate.h"
#include "cuda/pool-release.h"
#include "cuda/pool-stream.h"
#include "cuda/real.h"
#include "cuda/rhythm.h"

/* Every context is waited for when a turn ends; one that cannot be noted must not be. */
static CUresult context_create(struct slu_cuda_entry_creation creation)
{
	CUresult r;

	creation.is_pushed = true;
	r = slu_cuda_entry_reserve_make(&creation);
	if (r != CUDA_SUCCESS || slu_cuda_contexts_add(*creation.ret_context, creation.ordinal))
		return r;
	SLU_REAL(cuCtxDestroy_v2)(*creation.ret_context);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

#define CREATE(name, ...)                                                                   \
	static CUresult make_##name(const struct slu_cuda_entry_creation *c)                \
	{                                                                                   \
		return SLU_REAL(name)(c->ret_context, ##__VA_ARGS__, c->flags, c->ordinal); \
	}

CREATE(cuCtxCreate)
CREATE(cuCtxCreate_v2)
CREATE(cuCtxCreate_v3, c->params, c->n_params)
CREATE(cuCtxCreate_v4, c->params)

CUresult cuCtxCreate(CUcontext *ret_context, unsigned int flags, CUdevice ordinal)
{
	return context_create((struct slu_cuda_entry_creation){
		make_cuCtxCreate, ordinal, .ret_context = ret_context, .flags = flags });
}

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice ordinal)
{
	return context_create((struct slu_cuda_entry_creation){
		make_cuCtxCreate_v2, ordinal, .ret_context = ret_context, .flags = flags });
}

CUresult cuCtxCreate_v3(CUcontext *ret_context, CUexecAffinityParam *affinity, int n,
			unsigned int flags, CUdevice ordinal)
{
	return context_create((struct slu_cuda_entry_creation){
		make_cuCtxCreate_v3, ordinal, .ret_context = ret_context, .params = affinity,
		.n_params = n, .flags = flags });
}

CUresult cuCtxCreate_v4(CUcontext *ret_context, CUctxCreateParams *params, unsigned int flags,
			CUdevice ordinal)
{
	return context_create((struct slu_cuda_entry_creation){ make_cuCtxCreate_v4, ordinal,
								.ret_context = ret_context,
								.params = params, .flags = flags });
}

/*
 * The primary context ends with its last release. The program's references are counted here, so
 * that what is ours in the context goes before it.
 */
#define ORDINALS_MAX 64

static struct {
	_Atomic(CUcontext) context;
	_Atomic int n_retained;
} primaries[ORDINALS_MAX];

static bool context_is_primary(CUcontext context)
{
	for (unsigned i = 0; i < ORDINALS_MAX; i++)
		if (atomic_load(&primaries[i].context) == context)
			return true;
	return false;
}

/* A primary context cannot stay: the next reference to it would find what the last one left. */
static CUresult context_end(CUcontext context, bool *ret_stays)
{
	return slu_cuda_contexts_end(context, context_is_primary(context) ? NULL : ret_stays);
}

/* A context that stays for others is gone for the program: it is current here no longer. */
static CUresult context_let_stay(CUcontext context)
{
	CUcontext popped;

	return context == slu_cuda_contexts_current() ? SLU_REAL(cuCtxPopCurrent_v2)(&popped)
						      : CUDA_SUCCESS;
}

#define DESTROY(name)                                                               \
	CUresult name(CUcontext context)                                            \
	{                                                                           \
		bool stays = false;                                                 \
		CUresult r = context ? context_end(context, &stays) : CUDA_SUCCESS; \
                                                                                    \
		if (r != CUDA_SUCCESS)                                              \
			return r;                                                   \
		return stays ? context_let_stay(context) : SLU_REAL(name)(context); \
	}

DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)

/* Counts @by more. Return: whether the count was above 0 before. */
static bool context_count_attached(CUcontext context, int by)
{
	bool was_attached = false;

	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++)
		if (slu_cuda.contexts[i].context == context) {
			was_attached = slu_cuda.contexts[i].n_attached;
			if (was_attached || by > 0)
				slu_cuda.contexts[i].n_attached += (unsigned)by;
		}
	slu_lock_give(&slu_cuda.lock);
	return was_attached;
}

CUresult cuCtxAttach(CUcontext *ret_context, unsigned int flags)
{
	CUresult r = SLU_REAL(cuCtxAttach)(ret_context, flags);

	if (r == CUDA_SUCCESS)
		context_count_attached(*ret_context, 1);
	return r;
}

/*
 * With the last time the context ends. One that is not current here is not detached; the driver
 * says so.
 */
CUresult cuCtxDetach(CUcontext context)
{
	CUresult r = CUDA_SUCCESS;
	bool stays = false;

	if (context && context == slu_cuda_contexts_current() &&
	    !context_count_attached(context, -1))
		r = context_end(context, &stays);
	if (r != CUDA_SUCCESS)
		return r;
	return stays ? context_let_stay(context) : SLU_REAL(cuCtxDetach)(context);
}

static bool device_has_one_context(const struct slu_cuda_device *device)
{
	unsigned n = 0;

	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++)
		n += slu_cuda.contexts[i].ordinal == device->ordinal;
	slu_lock_give(&slu_cuda.lock);
	return n == 1;
}

/*
 * When the program has waited for its context, all that had a number before has ended, also in
 * per-thread streams of other threads, which no thread can query: numbers are given behind the
 * submission. With work behind a host function it may be too late for a wait of our own.
 */
CUresult cuCtxSynchronize(void)
{
	struct slu_cuda_device *only = atomic_load(&slu_cuda_only_device);
	uint32_t n_services = only ? atomic_load(&only->stream_uses.n_services) : 0;
	uint64_t number = only ? atomic_load(&only->flight.n_launched) : 0;
	uint64_t n_frees = atomic_load(&slu_pool_stream_n_frees);
	CUresult r = SLU_REAL(cuCtxSynchronize)();

	if (r == CUDA_SUCCESS && n_frees)
		slu_cuda_pool_release_context(slu_cuda_contexts_current(), n_frees);
	if (r == CUDA_SUCCESS && only && device_has_one_context(only))
		slu_cuda_streams_rest(&only->stream_uses, n_services, number);
	slu_cuda_rhythm_meet(SLU_CUDA_RHYTHM_WAIT);
	return r;
}

static CUresult primary_retain(const struct slu_cuda_entry_creation *c)
{
	return SLU_REAL(cuDevicePrimaryCtxRetain)(c->ret_context, c->ordinal);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice ordinal)
{
	CUresult r = slu_cuda_entry_reserve_make(&(struct slu_cuda_entry_creation){
		primary_retain, ordinal, .ret_context = ret_context });

	if (r == CUDA_SUCCESS && ordinal >= 0 && ordinal < ORDINALS_MAX) {
		atomic_store(&primaries[ordinal].context, *ret_context);
		atomic_fetch_add(&primaries[ordinal].n_retained, 1);
		slu_cuda_contexts_add(*ret_context, ordinal);
	}
	return r;
}

static CUresult primary_end(CUdevice ordinal)
{
	CUcontext context = atomic_load(&primaries[ordinal].context);
	CUresult r = context ? slu_cuda_contexts_end(context, NULL) : CUDA_SUCCESS;

	if (r == CUDA_SUCCESS)
		atomic_store(&primaries[ordinal].context, NULL);
	return r;
}

#define RELEASE(name)                                                        \
	CUresult name(CUdevice ordinal)                                      \
	{                                                                    \
		CUresult r = CUDA_SUCCESS;                                   \
		bool is_ours = ordinal >= 0 && ordinal < ORDINALS_MAX;       \
                                                                             \
		if (is_ours && primaries[ordinal].n_retained == 1)           \
			r = primary_end(ordinal);                            \
		if (r == CUDA_SUCCESS)                                       \
			r = SLU_REAL(name)(ordinal);                         \
		if (r == CUDA_SUCCESS && is_ours)                            \
			atomic_fetch_sub(&primaries[ordinal].n_retained, 1); \
		return r;                                                    \
	}

/* A reset ends the context, however many references there are. */
#define RESET(name)                                                                        \
	CUresult name(CUdevice ordinal)                                                    \
	{                                                                                  \
		CUresult r = ordinal >= 0 && ordinal < ORDINALS_MAX ? primary_end(ordinal) \
								    : CUDA_SUCCESS;        \
                                                                                           \
		return r == CUDA_SUCCESS ? SLU_REAL(name)(ordinal) : r;                    \
	}

RELEASE(cuDevicePrimaryCtxRelease)
RELEASE(cuDevicePrimaryCtxRelease_v2)
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)

/* -- captures -----------------------------------------------------------------------------------
 */

static void capture_end(struct slu_cuda_device *d)
{
	uint32_t n = atomic_load(&d->n_capturing);

	while (n && !atomic_compare_exchange_weak(&d->n_capturing, &n, n - 1))
		;
}

/*
 * A capture begins inside the gate and counts before it can be shut: the drain sees either
 * the thread in the gate or the capture. It counts before it begins: to ask the driver about a
 * stream would spoil a capture there, so no thread asks any more from then on.
 */
#define BEGIN_CAPTURE(name, arguments, ...)                                         \
	CUresult name(__VA_ARGS__)                                                  \
	{                                                                           \
		struct slu_cuda_device *d = slu_cuda_device_here();                 \
		CUresult r = d ? slu_cuda_gate_enter(d) : SLU_REAL(name) arguments; \
                                                                                    \
		if (!d || r != CUDA_SUCCESS)                                        \
			return r;                                                   \
		atomic_fetch_add(&d->n_capturing, 1);                               \
		slu_cuda_streams_hush(&d->stream_uses);                             \
		slu_pool_stream_hush();                                             \
		r = SLU_REAL(name) arguments;                                       \
		if (r != CUDA_SUCCESS)                                              \
			capture_end(d);                                             \
		slu_cuda_gate_leave(d);                                             \
		return r;                                                           \
	}

#define BEGIN_CAPTURE_TO(name)                                                               \
	BEGIN_CAPTURE(name, (stream, graph, nodes, edges, n, mode), CUstream stream,         \
		      CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges, \
		      size_t n, CUstreamCaptureMode mode)

/* Whether a capture under way, whole or spoilt, began in @stream. */
static bool stream_is_capturing(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	CUresult r = SLU_REAL(cuStreamIsCapturing)(stream, &status);

	slu_cuda_capture_restore(before);
	return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* A spoilt capture ends here, too, with an error: it counts all the same. */
#define END_CAPTURE(name, stream_meant)                                                         \
	CUresult name(CUstream stream, CUgraph *ret_graph)                                      \
	{                                                                                       \
		struct slu_cuda_device *d = slu_cuda_device_here();                             \
		bool was_capturing = d && stream_is_capturing(stream_meant);                    \
		CUresult r = SLU_REAL(name)(stream, ret_graph);                                 \
                                                                                                \
		if (was_capturing && (r == CUDA_SUCCESS || !stream_is_capturing(stream_meant))) \
			capture_end(d);                                                         \
		return r;                                                                       \
	}

#define MINE (stream ? stream : SLU_STREAM_PER_THREAD)

BEGIN_CAPTURE(cuStreamBeginCapture, (stream), CUstream stream)
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (stream), CUstream stream)
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (stream, mode), CUstream stream, CUstreamCaptureMode mode)
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (stream, mode), CUstream stream,
	      CUstreamCaptureMode mode)
BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph)
BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph_ptsz)
END_CAPTURE(cuStreamEndCapture, stream)
END_CAPTURE(cuStreamEndCapture_ptsz, MINE)

/* Streams are known from their beginning: work may come into them that passes by the gate. */
#define CREATE_STREAM(name, arguments, ...)                                          \
	CUresult name(CUstream *ret_stream, __VA_ARGS__)                             \
	{                                                                            \
		CUresult r = SLU_REAL(name) arguments;                               \
		struct slu_cuda_device *d;                                           \
                                                                                     \
		if (r != CUDA_SUCCESS)                                               \
			return r;                                                    \
		d = slu_cuda_device_here();                                          \
		if (d)                                                               \
			slu_cuda_streams_note_slow(&d->stream_uses, *ret_stream, 0); \
		return r;                                                            \
	}

CREATE_STREAM(cuStreamCreate, (ret_stream, flags), unsigned int flags)
CREATE_STREAM(cuStreamCreateWithPriority, (ret_stream, flags, priority), unsigned int flags,
	      int priority)
CREATE_STREAM(cuGreenCtxStreamCreate, (ret_stream, part, flags, priority), CUgreenCtx part,
	      unsigned int flags, int priority)

/* A stream takes its capture along. */
#define DESTROY_STREAM(name)                                                                 \
	CUresult name(CUstream stream)                                                       \
	{                                                                                    \
		struct slu_cuda_device *d = stream ? slu_cuda_device_here() : NULL;          \
		bool was_capturing;                                                          \
		CUresult r;                                                                  \
                                                                                             \
		if (!d)                                                                      \
			return SLU_REAL(name)(stream);                                       \
		was_capturing = atomic_load(&d->n_capturing) && stream_is_capturing(stream); \
		slu_cuda_streams_destroy(&d->stream_uses, stream);                           \
		slu_cuda_pool_release_stream_end(stream);                                    \
		r = SLU_REAL(name)(stream);                                                  \
		if (was_capturing && r == CUDA_SUCCESS)                                      \
			capture_end(d);                                                      \
		return r;                                                                    \
	}

DESTROY_STREAM(cuStreamDestroy)
DESTROY_STREAM(cuStreamDestroy_v2)
