/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-wait.h"

#include <time.h>

#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/pool-release.h"
#include "cuda/pool-stream.h"
#include "cuda/real.h"

#define LOOK_NS 200000

/* Whether a stream of @context has frees before it. */
static bool context_is_pending(CUcontext context)
{
	struct slu_pool_stream *s;
	bool is = false;
	uint64_t id = 0;

	slu_lock_take(&slu_cuda.lock);
	while (!is && (s = slu_pool_stream_next_locked(id))) {
		id = s->id;
		is = s->context == context && slu_pool_stream_is_pending(s);
	}
	slu_lock_give(&slu_cuda.lock);
	return is;
}

/* The per-thread streams of others are past their frees when the context was waited for. */
static bool context_wait_frees(struct slu_cuda_device *d)
{
	CUcontext context = slu_cuda_contexts_current();
	uint64_t position = atomic_load(&slu_pool_stream_n_frees);
	CUstreamCaptureMode before;
	CUresult r;

	if (!context || !context_is_pending(context) || slu_pool_stream_is_capturing() ||
	    slu_cuda_waits_for_host(d))
		return false;
	before = slu_cuda_capture_relax();
	r = SLU_REAL(cuCtxSynchronize)();
	slu_cuda_capture_restore(before);
	if (r != CUDA_SUCCESS)
		return false;
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_pool_release_pass_locked(context, position);
	slu_lock_give(&slu_cuda.lock);
	return true;
}

bool slu_cuda_pool_wait_device(struct slu_cuda_device *d)
{
	struct timespec pause = { .tv_nsec = LOOK_NS };
	struct slu_cuda_pool_sight sight;

	for (;;) {
		slu_lock_take(&slu_cuda.lock);
		sight = slu_cuda_pool_release_look_locked(d);
		slu_lock_give(&slu_cuda.lock);
		if (sight.is_more)
			return true;
		if (!sight.is_busy || slu_cuda_waits_for_host(d))
			break;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return sight.is_unseen && context_wait_frees(d);
}

void slu_cuda_pool_wait_context(CUcontext context)
{
	uint64_t position = atomic_load(&slu_pool_stream_n_frees);
	CUstreamCaptureMode before;
	CUcontext popped;

	if (!context_is_pending(context))
		return;
	if (SLU_REAL(cuCtxPushCurrent_v2)(context) == CUDA_SUCCESS) {
		before = slu_cuda_capture_relax();
		SLU_REAL(cuCtxSynchronize)();
		slu_cuda_capture_restore(before);
		SLU_REAL(cuCtxPopCurrent_v2)(&popped);
	}
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_pool_release_pass_locked(context, position);
	slu_lock_give(&slu_cuda.lock);
}
