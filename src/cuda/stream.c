/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/stream.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/util.h"
#include "cuda/device.h"
#include "cuda/real.h"

__thread struct slu_cuda_use_memory slu_cuda_uses_mine[SLU_STREAM_MEMORIES];

/* Threads are numbered: the system gives its own names for them out again. */
static uint64_t thread_here(void)
{
	static _Atomic uint64_t n_threads;
	static __thread uint64_t mine __attribute__((__tls_model__("initial-exec")));

	if (!mine)
		mine = atomic_fetch_add(&n_threads, 1) + 1;
	return mine;
}

static CUstream name_of(CUstream stream)
{
	return stream ? stream : SLU_STREAM_LEGACY;
}

void slu_cuda_streams_init(struct slu_cuda_streams *s)
{
	slu_lock_init(&s->lock, SLU_LOCK_LEAF);
	pthread_cond_init(&s->asked, NULL);
}

void slu_cuda_streams_reset(struct slu_cuda_streams *s)
{
	slu_lock_take(&s->lock);
	for (unsigned i = 0; i < SLU_STREAM_USES; i++) {
		s->uses[i].stream = NULL;
		atomic_store(&s->uses[i].last, 0);
	}
	for (struct slu_cuda_host_call *h = s->host_calls; h; h = h->next)
		h->ahead = 0;
	s->unproven = s->rested = 0;
	/* threads may remember uses of the table as it was */
	atomic_fetch_add(&s->generation, 1);
	slu_lock_give(&s->lock);
}

static struct slu_cuda_use *take_locked(struct slu_cuda_streams *s, CUstream stream)
{
	struct slu_cuda_use *spare = NULL;
	uint64_t thread = thread_here();

	for (unsigned i = 0; i < SLU_STREAM_USES; i++) {
		struct slu_cuda_use *use = &s->uses[i];

		if (use->stream == stream && use->thread == thread)
			return use;
		if (!use->stream && !spare)
			spare = use;
	}
	if (spare) {
		spare->stream = stream;
		spare->thread = thread;
	}
	return spare;
}

void slu_cuda_streams_note_slow(struct slu_cuda_streams *s, CUstream stream, uint64_t number)
{
	struct slu_cuda_use *use;

	slu_lock_take(&s->lock);
	use = take_locked(s, name_of(stream));
	if (use) {
		atomic_store(&use->last, number);
		*slu_cuda_use_memory_of(stream) = (struct slu_cuda_use_memory){
			.streams = s,
			.stream = stream,
			.generation = atomic_load(&s->generation),
			.use = use,
		};
	} else {
		s->unproven = SLU_MAX(s->unproven, number);
	}
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_host_add(struct slu_cuda_device *device, CUstream stream,
			       struct slu_cuda_host_call *ret_call)
{
	struct slu_cuda_streams *s = &device->stream_uses;

	*ret_call = (struct slu_cuda_host_call){
		.device = device,
		.stream = name_of(stream),
		.thread = stream == SLU_STREAM_PER_THREAD ? thread_here() : 0,
		.ahead = atomic_load(&device->flight.n_launched),
	};
	slu_lock_take(&s->lock);
	ret_call->next = s->host_calls;
	ret_call->back = &s->host_calls;
	if (ret_call->next)
		ret_call->next->back = &ret_call->next;
	s->host_calls = ret_call;
	atomic_fetch_add(&s->n_host_calls, 1);
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_host_begin(struct slu_cuda_host_call *call)
{
	struct slu_cuda_streams *s = &call->device->stream_uses;
	uint64_t now_ns = slu_clock_now_ns();

	slu_lock_take(&s->lock);
	call->since_ns = now_ns;
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_host_end(struct slu_cuda_host_call *call)
{
	struct slu_cuda_streams *s = &call->device->stream_uses;

	slu_lock_take(&s->lock);
	*call->back = call->next;
	if (call->next)
		call->next->back = call->back;
	atomic_fetch_sub(&s->n_host_calls, 1);
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_destroy(struct slu_cuda_streams *s, CUstream stream)
{
	slu_lock_take(&s->lock);
	while (s->asking == stream)
		slu_lock_wait(&s->lock, &s->asked, NULL);
	for (unsigned i = 0; i < SLU_STREAM_USES; i++) {
		struct slu_cuda_use *use = &s->uses[i];

		if (use->stream != stream)
			continue;
		/* its work goes on without it, and its handle may be given out again */
		s->unproven = SLU_MAX(s->unproven, atomic_load(&use->last));
		use->stream = NULL;
		atomic_fetch_add(&s->generation, 1);
	}
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_rest(struct slu_cuda_streams *s, uint64_t number)
{
	slu_lock_take(&s->lock);
	s->rested = SLU_MAX(s->rested, number);
	slu_lock_give(&s->lock);
}

uint64_t slu_cuda_streams_host_since(struct slu_cuda_streams *s)
{
	uint64_t since_ns = 0;

	slu_lock_take(&s->lock);
	for (struct slu_cuda_host_call *h = s->host_calls; h; h = h->next)
		if (h->since_ns && (!since_ns || h->since_ns < since_ns))
			since_ns = h->since_ns;
	slu_lock_give(&s->lock);
	return since_ns;
}

enum proof { ENDED, UNPROVEN, ASK };

/* What is known of @use without the driver. */
static enum proof look_locked(const struct slu_cuda_streams *s, const struct slu_cuda_use *use)
{
	uint64_t last = atomic_load(&use->last);
	bool has_host_call = false, is_running = false;

	if (last <= s->rested)
		return ENDED;
	for (const struct slu_cuda_host_call *h = s->host_calls; h; h = h->next) {
		if (h->stream != use->stream || (h->thread && h->thread != use->thread))
			continue;
		if (last > h->ahead)
			return UNPROVEN;
		has_host_call = true;
		is_running = is_running || h->since_ns;
	}
	if (has_host_call)
		return is_running ? ENDED : UNPROVEN;
	return use->stream == SLU_STREAM_PER_THREAD ? UNPROVEN : ASK;
}

bool slu_cuda_streams_is_at_rest(struct slu_cuda_device *device)
{
	struct slu_cuda_streams *s = &device->stream_uses;
	bool is_at_rest;

	slu_lock_take(&s->lock);
	is_at_rest = s->unproven <= s->rested;
	for (unsigned i = 0; is_at_rest && i < SLU_STREAM_USES; i++) {
		CUstream stream = s->uses[i].stream;
		enum proof proof = stream ? look_locked(s, &s->uses[i]) : ENDED;

		if (proof == ASK) {
			s->asking = stream;
			slu_lock_give(&s->lock);
			proof = SLU_REAL(cuStreamQuery)(stream) == CUDA_SUCCESS ? ENDED : UNPROVEN;
			slu_lock_take(&s->lock);
			s->asking = NULL;
			pthread_cond_broadcast(&s->asked);
		}
		/* a stream may have been destroyed meanwhile */
		is_at_rest = proof == ENDED && s->unproven <= s->rested;
	}
	slu_lock_give(&s->lock);
	return is_at_rest;
}
