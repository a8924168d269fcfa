/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/device.h"
#include "cuda/gate.h"
#include "cuda/real.h"

/* A host function that takes longer than this waits for something itself. */
#define HOST_WAIT_NS (20 * SLU_NS_PER_MS)

struct slu_cuda_wait {
	struct slu_cuda_host_call seen;
	struct slu_cuda_wait *next; /* guarded by the waits' lock */
	CUcontext context;	    /* constant, as are the events */
	CUevent reached, over;
};

void slu_cuda_waits_init(struct slu_cuda_waits *waits)
{
	slu_lock_init(&waits->lock, SLU_LOCK_LEAF);
	pthread_cond_init(&waits->looked, NULL);
}

static void wait_destroy_events(struct slu_cuda_wait *w)
{
	if (w->reached)
		SLU_REAL(cuEventDestroy_v2)(w->reached);
	if (w->over)
		SLU_REAL(cuEventDestroy_v2)(w->over);
}

static void wait_end(struct slu_cuda_wait *w)
{
	slu_cuda_streams_host_end(&w->seen);
	wait_destroy_events(w);
	free(w);
}

/* Return: whether it goes on. An error is the end of it: its context is dead. */
static bool wait_look(struct slu_cuda_wait *w)
{
	if (SLU_REAL(cuEventQuery)(w->over) != CUDA_ERROR_NOT_READY)
		return false;
	if (!w->seen.since_ns && SLU_REAL(cuEventQuery)(w->reached) == CUDA_SUCCESS)
		slu_cuda_streams_host_begin(&w->seen);
	return true;
}

/* The list, for one thread to look at; NULL if there is none, or another one does. */
static struct slu_cuda_wait *waits_take(struct slu_cuda_waits *waits, bool comes_after)
{
	struct slu_cuda_wait *list;

	slu_lock_take(&waits->lock);
	while (comes_after && waits->is_looking)
		slu_lock_wait(&waits->lock, &waits->looked, NULL);
	list = waits->is_looking ? NULL : waits->list;
	if (list) {
		waits->list = NULL;
		waits->is_looking = true;
	}
	slu_lock_give(&waits->lock);
	return list;
}

static void waits_put_back(struct slu_cuda_waits *waits, struct slu_cuda_wait *list)
{
	slu_lock_take(&waits->lock);
	while (list) {
		struct slu_cuda_wait *next = list->next;

		list->next = waits->list;
		waits->list = list;
		list = next;
	}
	waits->is_looking = false;
	pthread_cond_broadcast(&waits->looked);
	slu_lock_give(&waits->lock);
}

void slu_cuda_waits_look(struct slu_cuda_device *device)
{
	struct slu_cuda_wait *list = waits_take(&device->waits, false), *kept = NULL;
	CUstreamCaptureMode before;

	if (!list)
		return;
	before = slu_cuda_capture_relax();
	while (list) {
		struct slu_cuda_wait *w = list;

		list = w->next;
		if (wait_look(w)) {
			w->next = kept;
			kept = w;
		} else {
			wait_end(w);
		}
	}
	slu_cuda_capture_restore(before);
	waits_put_back(&device->waits, kept);
}

void slu_cuda_waits_forget(struct slu_cuda_device *device, CUcontext context)
{
	struct slu_cuda_wait *list = waits_take(&device->waits, true), *kept = NULL;

	if (!list)
		return;
	while (list) {
		struct slu_cuda_wait *w = list;

		list = w->next;
		if (context && w->context != context) {
			w->next = kept;
			kept = w;
		} else {
			wait_end(w);
		}
	}
	waits_put_back(&device->waits, kept);
}

bool slu_cuda_waits_for_host(struct slu_cuda_device *device)
{
	uint64_t since;

	slu_cuda_waits_look(device);
	since = slu_cuda_streams_host_since(&device->stream_uses);
	return since && slu_sub_floor(slu_clock_now_ns(), since) > HOST_WAIT_NS;
}

/* -- the calls ----------------------------------------------------------------------------------
 */

/* The first event, in front of the wait. Return: NULL if the wait cannot be watched. */
static struct slu_cuda_wait *wait_prepare(struct slu_cuda_device *d, CUstream stream)
{
	const unsigned flags = CU_EVENT_DISABLE_TIMING;
	CUstreamCaptureMode before;
	struct slu_cuda_wait *w;
	int saved = errno;

	/* in a capture a record would become a node of the program's graph */
	if (atomic_load(&d->n_capturing))
		return NULL;
	slu_cuda_waits_look(d);
	w = calloc(1, sizeof(*w));
	errno = saved;
	if (!w)
		return NULL;
	before = slu_cuda_capture_relax();
	w->context = slu_cuda_contexts_current();
	if (SLU_REAL(cuEventCreate)(&w->reached, flags) != CUDA_SUCCESS ||
	    SLU_REAL(cuEventCreate)(&w->over, flags) != CUDA_SUCCESS ||
	    SLU_REAL(cuEventRecord)(w->reached, stream) != CUDA_SUCCESS) {
		wait_destroy_events(w);
		free(w);
		w = NULL;
	}
	slu_cuda_capture_restore(before);
	if (w)
		slu_cuda_streams_host_add(d, stream, &w->seen);
	return w;
}

/* The second event, behind the wait, if there is one. */
static void wait_commit(struct slu_cuda_device *d, CUstream stream, struct slu_cuda_wait *w,
			CUresult result)
{
	CUstreamCaptureMode before;
	CUresult r;

	if (!w)
		return;
	before = slu_cuda_capture_relax();
	r = result == CUDA_SUCCESS ? SLU_REAL(cuEventRecord)(w->over, stream) : result;
	if (r != CUDA_SUCCESS)
		wait_end(w);
	slu_cuda_capture_restore(before);
	if (r != CUDA_SUCCESS)
		return;
	slu_lock_take(&d->waits.lock);
	w->next = d->waits.list;
	d->waits.list = w;
	slu_lock_give(&d->waits.lock);
}

static bool address_is_ours(CUdeviceptr address)
{
	bool r;

	slu_lock_take(&slu_cuda.lock);
	r = slu_cuda.ledger && slu_ledger_find(slu_cuda.ledger, address);
	slu_lock_give(&slu_cuda.lock);
	return r;
}

static void work_note(struct slu_cuda_device *d, CUstream stream)
{
	uint64_t n;

	slu_cuda_flight_add(&d->flight, &n);
	slu_cuda_streams_note(&d->stream_uses, stream, n);
}

/* @touches: whether the wait, or what is in the same call, reads or writes memory that moves. */
#define WAITING(name, arguments, stream_meant, waits, touches, ...)                 \
	CUresult name(__VA_ARGS__)                                                  \
	{                                                                           \
		struct slu_cuda_device *d = slu_cuda_device_here();                 \
		CUresult r = d ? slu_cuda_gate_enter(d) : SLU_REAL(name) arguments; \
		struct slu_cuda_wait *w;                                            \
                                                                                    \
		if (!d || r != CUDA_SUCCESS)                                        \
			return r;                                                   \
		w = (waits) ? wait_prepare(d, stream_meant) : NULL;                 \
		r = SLU_REAL(name) arguments;                                       \
		wait_commit(d, stream_meant, w, r);                                 \
		if (!w || (touches))                                                \
			work_note(d, stream_meant);                                 \
		slu_cuda_gate_leave(d);                                             \
		return r;                                                           \
	}

#define MINE (stream ? stream : SLU_STREAM_PER_THREAD)

#define WAIT_VALUE(name, stream_meant, word)                                                \
	WAITING(name, (stream, address, value, flags), stream_meant, true,                  \
		address_is_ours(address), CUstream stream, CUdeviceptr address, word value, \
		unsigned int flags)

WAIT_VALUE(cuStreamWaitValue32, stream, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_ptsz, MINE, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2, stream, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2_ptsz, MINE, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue64, stream, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_ptsz, MINE, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2, stream, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2_ptsz, MINE, cuuint64_t)

static bool batch_waits(unsigned int n, const CUstreamBatchMemOpParams *ops)
{
	for (unsigned int i = 0; ops && i < n; i++)
		if (ops[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
		    ops[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
			return true;
	return false;
}

#define BATCH(name, stream_meant)                                                       \
	WAITING(name, (stream, n, ops, flags), stream_meant, batch_waits(n, ops), true, \
		CUstream stream, unsigned int n, CUstreamBatchMemOpParams *ops,         \
		unsigned int flags)

BATCH(cuStreamBatchMemOp, stream)
BATCH(cuStreamBatchMemOp_ptsz, MINE)
BATCH(cuStreamBatchMemOp_v2, stream)
BATCH(cuStreamBatchMemOp_v2_ptsz, MINE)

/* The shim does not see what the other API does meanwhile; that has no memory of ours. */
#define SEMAPHORES(name, stream_meant)                                             \
	WAITING(name, (semaphores, params, n, stream), stream_meant, true, false,  \
		const CUexternalSemaphore *semaphores,                             \
		const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned int n, \
		CUstream stream)

SEMAPHORES(cuWaitExternalSemaphoresAsync, stream)
SEMAPHORES(cuWaitExternalSemaphoresAsync_ptsz, MINE)
