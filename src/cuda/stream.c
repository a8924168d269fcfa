/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "cuda/device.h"
#include "cuda/real.h"

__thread struct slu_cuda_use_memory slu_cuda_streams_mine[SLU_STREAM_MEMORIES];

static __thread uint64_t thread_mine __attribute__((__tls_model__("initial-exec")));

/* All of the process; one more is put in front, and none ever goes. */
static _Atomic(struct slu_cuda_streams *) all_streams;

static struct {
	pthread_once_t once;
	pthread_key_t key; /* constant after once */
	bool works;	   /* constant after once */
} ends = { .once = PTHREAD_ONCE_INIT };

static void uses_depart(struct slu_cuda_streams *s, uint64_t thread)
{
	slu_lock_take(&s->lock);
	for (struct slu_cuda_use_block *b = s->blocks; b; b = b->next)
		for (unsigned i = 0; i < SLU_STREAM_BLOCK_USES; i++)
			if (b->uses[i].stream && b->uses[i].thread == thread)
				b->uses[i].is_departed = true;
	slu_lock_give(&s->lock);
}

/* A destructor that runs after this one may still submit work: then as a thread that is new. */
static void thread_end(void *unused)
{
	(void)unused;
	for (struct slu_cuda_streams *s = atomic_load(&all_streams); s; s = s->next)
		uses_depart(s, thread_mine);
	memset(slu_cuda_streams_mine, 0, sizeof(slu_cuda_streams_mine));
	thread_mine = 0;
}

static void thread_watch_end(void)
{
	ends.works = !pthread_key_create(&ends.key, thread_end);
}

/* Threads are numbered: the system gives its own names for them out again. */
static uint64_t thread_here(void)
{
	static _Atomic uint64_t n_threads;

	if (!thread_mine) {
		thread_mine = atomic_fetch_add(&n_threads, 1) + 1;
		/* unwatched, it keeps its uses for ever */
		if (ends.works)
			pthread_setspecific(ends.key, &ends);
	}
	return thread_mine;
}

static CUstream stream_name(CUstream stream)
{
	return stream ? stream : SLU_STREAM_LEGACY;
}

void slu_cuda_streams_init(struct slu_cuda_streams *s)
{
	slu_lock_init(&s->lock, SLU_LOCK_LEAF);
	pthread_cond_init(&s->asked, NULL);
	pthread_once(&ends.once, thread_watch_end);
	s->next = atomic_load(&all_streams);
	while (!atomic_compare_exchange_weak(&all_streams, &s->next, s))
		;
}

/*
 * Not uthash: its key would be a copy of stream and thread, hashed byte by byte, with the lock held
 * by a thread of the program at its first work in a stream.
 */
static struct slu_cuda_use **use_bucket(struct slu_cuda_streams *s, CUstream stream,
					uint64_t thread)
{
	uint64_t bits = ((uint64_t)(uintptr_t)stream ^ thread << 48) * UINT64_C(0x9e3779b97f4a7c15);

	return &s->buckets[bits >> 32 & (SLU_STREAM_BUCKETS - 1)];
}

/* Its owner does not use it any more, or will find that the generation has changed. */
static void use_free_locked(struct slu_cuda_streams *s, struct slu_cuda_use *use)
{
	struct slu_cuda_use **at = use_bucket(s, use->stream, use->thread);

	while (*at != use)
		at = &(*at)->next;
	*at = use->next;
	use->stream = NULL;
	use->is_departed = false;
	atomic_store(&use->last, 0);
	use->next = s->spare;
	s->spare = use;
}

void slu_cuda_streams_reset(struct slu_cuda_streams *s)
{
	slu_lock_take(&s->lock);
	for (struct slu_cuda_use_block *b = s->blocks; b; b = b->next)
		for (unsigned i = 0; i < SLU_STREAM_BLOCK_USES; i++)
			if (b->uses[i].stream)
				use_free_locked(s, &b->uses[i]);
	for (struct slu_cuda_host_call *h = s->host_calls; h; h = h->next)
		h->ahead = 0;
	s->unproven = s->rested = 0;
	/* threads may remember uses of the table as it was, and numbers */
	atomic_fetch_add(&s->generation, 1);
	atomic_fetch_add(&s->n_services, 1);
	slu_lock_give(&s->lock);
}

/* Frees what threads that have ended left; all of it, or only where the work has ended, too. */
static void uses_harvest_locked(struct slu_cuda_streams *s, bool takes_all)
{
	for (struct slu_cuda_use_block *b = s->blocks; b; b = b->next)
		for (unsigned i = 0; i < SLU_STREAM_BLOCK_USES; i++) {
			struct slu_cuda_use *use = &b->uses[i];
			uint64_t last = atomic_load(&use->last);

			if (!use->stream || !use->is_departed || (!takes_all && last > s->rested))
				continue;
			s->unproven = SLU_MAX(s->unproven, last);
			use_free_locked(s, use);
		}
}

static void uses_grow_locked(struct slu_cuda_streams *s)
{
	struct slu_cuda_use_block *b = calloc(1, sizeof(*b));

	if (!b)
		return;
	b->next = s->blocks;
	s->blocks = b;
	s->n_uses += SLU_STREAM_BLOCK_USES;
	for (unsigned i = 0; i < SLU_STREAM_BLOCK_USES; i++) {
		b->uses[i].next = s->spare;
		s->spare = &b->uses[i];
	}
}

/* The calling thread's use of @stream, or NULL without memory. */
static struct slu_cuda_use *use_take_locked(struct slu_cuda_streams *s, CUstream stream,
					    CUcontext context)
{
	uint64_t thread = thread_here();
	struct slu_cuda_use **bucket = use_bucket(s, stream, thread), *use;

	for (use = *bucket; use; use = use->next)
		if (use->stream == stream && use->thread == thread)
			return use;
	if (!s->spare)
		uses_harvest_locked(s, s->n_uses >= SLU_STREAM_USES_PLENTY);
	if (!s->spare)
		uses_grow_locked(s);
	use = s->spare;
	if (!use)
		return NULL;
	s->spare = use->next;
	use->stream = stream;
	use->context = context;
	use->thread = thread;
	use->next = *bucket;
	*bucket = use;
	return use;
}

void slu_cuda_streams_note_slow(struct slu_cuda_streams *s, CUstream stream, uint64_t number)
{
	int saved = errno;
	CUcontext here = NULL;
	struct slu_cuda_use *use;

	SLU_REAL(cuCtxGetCurrent)(&here);
	slu_lock_take(&s->lock);
	use = use_take_locked(s, stream_name(stream), here);
	if (use) {
		atomic_store(&use->last, number);
		*slu_cuda_streams_memory_of(stream) = (struct slu_cuda_use_memory){
			.streams = s,
			.stream = stream,
			.generation = atomic_load(&s->generation),
			.use = use,
		};
	} else {
		s->unproven = SLU_MAX(s->unproven, number);
	}
	slu_lock_give(&s->lock);
	errno = saved;
}

void slu_cuda_streams_host_add(struct slu_cuda_device *device, CUstream stream,
			       struct slu_cuda_host_call *ret_call)
{
	struct slu_cuda_streams *s = &device->stream_uses;

	*ret_call = (struct slu_cuda_host_call){
		.device = device,
		.stream = stream_name(stream),
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

/* Its work goes on without it, and its handle may be given out again. */
static void use_give_up_locked(struct slu_cuda_streams *s, struct slu_cuda_use *use)
{
	s->unproven = SLU_MAX(s->unproven, atomic_load(&use->last));
	use_free_locked(s, use);
	atomic_fetch_add(&s->generation, 1);
}

void slu_cuda_streams_destroy(struct slu_cuda_streams *s, CUstream stream)
{
	slu_lock_take(&s->lock);
	while (s->asking == stream)
		slu_lock_wait(&s->lock, &s->asked, NULL);
	for (struct slu_cuda_use_block *b = s->blocks; b; b = b->next)
		for (unsigned i = 0; i < SLU_STREAM_BLOCK_USES; i++)
			if (b->uses[i].stream == stream)
				use_give_up_locked(s, &b->uses[i]);
	slu_lock_give(&s->lock);
}

/* The driver's special handles mean streams of whichever context is current: they stay. */
static bool stream_is_special(CUstream stream)
{
	return stream == SLU_STREAM_LEGACY || stream == SLU_STREAM_PER_THREAD;
}

void slu_cuda_streams_forget(struct slu_cuda_streams *s, CUcontext context)
{
	slu_lock_take(&s->lock);
	while (s->asking)
		slu_lock_wait(&s->lock, &s->asked, NULL);
	for (struct slu_cuda_use_block *b = s->blocks; b; b = b->next)
		for (unsigned i = 0; i < SLU_STREAM_BLOCK_USES; i++) {
			struct slu_cuda_use *use = &b->uses[i];

			if (use->stream && use->context == context &&
			    !stream_is_special(use->stream))
				use_give_up_locked(s, use);
		}
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_hush(struct slu_cuda_streams *s)
{
	slu_lock_take(&s->lock);
	while (s->asking)
		slu_lock_wait(&s->lock, &s->asked, NULL);
	slu_lock_give(&s->lock);
}

void slu_cuda_streams_rest(struct slu_cuda_streams *s, uint32_t n_services, uint64_t number)
{
	slu_lock_take(&s->lock);
	if (atomic_load(&s->n_services) == n_services)
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
static enum proof use_look_locked(const struct slu_cuda_streams *s, const struct slu_cuda_use *use)
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

/* The driver's word; the lock is left meanwhile, and the stream is not destroyed. In a capture
 * no thread asks. */
static CUresult stream_ask_locked(struct slu_cuda_device *device, CUstream stream)
{
	struct slu_cuda_streams *s = &device->stream_uses;
	CUresult r;

	if (atomic_load(&device->n_capturing))
		return CUDA_ERROR_NOT_READY;
	s->asking = stream;
	slu_lock_give(&s->lock);
	r = SLU_REAL(cuStreamQuery)(stream);
	slu_lock_take(&s->lock);
	s->asking = NULL;
	pthread_cond_broadcast(&s->asked);
	return r;
}

/* Whether @use has ended; asks the driver where it must. */
static bool use_has_ended_locked(struct slu_cuda_device *device, const struct slu_cuda_use *use)
{
	const struct slu_cuda_streams *s = &device->stream_uses;
	enum proof proof = use->stream ? use_look_locked(s, use) : ENDED;

	if (proof == ASK)
		proof = stream_ask_locked(device, use->stream) == CUDA_SUCCESS ? ENDED : UNPROVEN;
	/* a stream may have been destroyed meanwhile */
	return proof == ENDED && s->unproven <= s->rested;
}

bool slu_cuda_streams_is_at_rest(struct slu_cuda_device *device)
{
	struct slu_cuda_streams *s = &device->stream_uses;
	bool is_at_rest;

	slu_lock_take(&s->lock);
	is_at_rest = s->unproven <= s->rested;
	for (struct slu_cuda_use_block *b = s->blocks; is_at_rest && b; b = b->next)
		for (unsigned i = 0; is_at_rest && i < SLU_STREAM_BLOCK_USES; i++)
			is_at_rest = use_has_ended_locked(device, &b->uses[i]);
	slu_lock_give(&s->lock);
	return is_at_rest;
}

bool slu_cuda_streams_are_idle(struct slu_cuda_device *device)
{
	struct slu_cuda_streams *s = &device->stream_uses;
	bool is_busy;

	slu_lock_take(&s->lock);
	is_busy = stream_ask_locked(device, SLU_STREAM_LEGACY) == CUDA_ERROR_NOT_READY;
	for (struct slu_cuda_use_block *b = s->blocks; !is_busy && b; b = b->next)
		for (unsigned i = 0; !is_busy && i < SLU_STREAM_BLOCK_USES; i++) {
			CUstream stream = b->uses[i].stream;

			/* the thread that asks has a per-thread stream of its own */
			if (stream && stream != SLU_STREAM_PER_THREAD)
				is_busy = stream_ask_locked(device, stream) == CUDA_ERROR_NOT_READY;
		}
	slu_lock_give(&s->lock);
	return !is_busy;
}
