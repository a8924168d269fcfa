/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/bypass.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/real.h"

#define N_MEMORIES 8 /* a power of two */

_Atomic uint64_t slu_pool_stream_n_frees;

/* guarded by the front lock */
static LIST_HEAD(, slu_pool_stream) streams = LIST_HEAD_INITIALIZER(streams);
static uint64_t last_id;
static unsigned n_asked;
static uint64_t generation = 1; /* streams that threads remember are of this one */

/* Streams that this thread remembers: looked at with the lock. */
static __thread struct {
	CUcontext context;
	CUstream stream;
	uint64_t generation;
	struct slu_pool_stream *found;
} memories[N_MEMORIES] __attribute__((__tls_model__("initial-exec")));

static __thread uint64_t thread_mine __attribute__((__tls_model__("initial-exec")));

static struct {
	pthread_once_t once;
	pthread_key_t key; /* constant after once */
	bool works;	   /* constant after once */
} ends = { .once = PTHREAD_ONCE_INIT };

/* A destructor that runs after this one may still free: then as a thread that is new. */
static void thread_end(void *unused)
{
	struct slu_pool_stream *s;

	(void)unused;
	slu_lock_take(&slu_cuda.lock);
	LIST_FOREACH (s, &streams, link)
		s->is_dead = s->is_dead || (s->thread && s->thread == thread_mine);
	slu_lock_give(&slu_cuda.lock);
	memset(memories, 0, sizeof(memories));
	thread_mine = 0;
}

static void thread_watch_end(void)
{
	ends.works = !pthread_key_create(&ends.key, thread_end);
}

static uint64_t thread_here(void)
{
	static _Atomic uint64_t n_threads;

	if (!thread_mine) {
		pthread_once(&ends.once, thread_watch_end);
		thread_mine = atomic_fetch_add(&n_threads, 1) + 1;
		if (ends.works)
			pthread_setspecific(ends.key, &ends);
	}
	return thread_mine;
}

static CUstream stream_name(CUstream stream)
{
	return stream ? stream : SLU_STREAM_LEGACY;
}

static struct slu_pool_stream *stream_find_locked(CUcontext context, CUstream stream)
{
	struct slu_pool_stream *s;

	LIST_FOREACH (s, &streams, link)
		if (!s->is_dead && s->stream == stream && (!context || s->context == context) &&
		    (!s->thread || s->thread == thread_mine))
			break;
	return s;
}

struct slu_pool_stream *slu_pool_stream_here_locked(CUcontext context, CUstream stream)
{
	uint64_t bits = (uint64_t)(uintptr_t)stream * UINT64_C(0x9e3779b97f4a7c15);
	__typeof__(&memories[0]) m = &memories[bits >> 32 & (N_MEMORIES - 1)];

	if (m->stream == stream && m->context == context && m->generation == generation)
		return m->found;
	m->found = stream_find_locked(context, stream_name(stream));
	m->stream = stream;
	m->context = context;
	m->generation = m->found ? generation : 0;
	return m->found;
}

/* The device of a context that we know. */
static struct slu_cuda_device *context_device_locked(CUcontext context)
{
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++)
		for (unsigned k = 0; k < slu_cuda.n_devices; k++)
			if (slu_cuda.contexts[i].context == context &&
			    slu_cuda.contexts[i].ordinal == slu_cuda.devices[k].ordinal)
				return &slu_cuda.devices[k];
	return NULL;
}

/* Unlinks one that is not needed any more. Return: NULL if there is none. */
static struct slu_pool_stream *stream_take_out_locked(void)
{
	struct slu_pool_stream *s;

	LIST_FOREACH (s, &streams, link)
		if (s->is_dead && !s->is_asked && !slu_pool_stream_is_pending(s))
			break;
	if (s) {
		LIST_REMOVE(s, link);
		generation++;
	}
	return s;
}

static void stream_discard(struct slu_pool_stream *s)
{
	if (s->event)
		SLU_REAL(cuEventDestroy_v2)(s->event);
	free(s);
}

static void streams_prune(void)
{
	struct slu_pool_stream *s;

	do {
		slu_lock_take(&slu_cuda.lock);
		s = stream_take_out_locked();
		slu_lock_give(&slu_cuda.lock);
		if (s)
			stream_discard(s);
	} while (s);
}

bool slu_pool_stream_meet(CUcontext context, CUstream stream)
{
	struct slu_pool_stream *s;
	CUcontext owner = context;
	int saved = errno;

	if (!owner && SLU_REAL(cuStreamGetCtx)(stream, &owner) != CUDA_SUCCESS)
		return false;
	streams_prune();
	s = calloc(1, sizeof(*s));
	if (!s) {
		errno = saved;
		return false;
	}
	s->context = owner;
	s->stream = stream_name(stream);
	s->thread = stream == SLU_STREAM_PER_THREAD ? thread_here() : 0;
	slu_lock_take(&slu_cuda.lock);
	s->device = context_device_locked(owner);
	/* another thread may have been faster */
	if (s->device && !stream_find_locked(context, s->stream)) {
		s->id = ++last_id;
		LIST_INSERT_HEAD(&streams, s, link);
		s = NULL;
	}
	slu_lock_give(&slu_cuda.lock);
	if (s && !s->device) {
		free(s);
		return false;
	}
	free(s);
	return true;
}

uint64_t slu_pool_stream_free_locked(struct slu_pool_stream *s)
{
	s->freed = atomic_fetch_add(&slu_pool_stream_n_frees, 1) + 1;
	return s->freed;
}

struct slu_pool_stream *slu_pool_stream_next_locked(uint64_t id)
{
	struct slu_pool_stream *s, *found = NULL;

	LIST_FOREACH (s, &streams, link)
		if (s->id > id && (!found || s->id < found->id))
			found = s;
	return found;
}

bool slu_pool_stream_is_past_locked(uint64_t id, uint64_t position)
{
	const struct slu_pool_stream *s;

	LIST_FOREACH (s, &streams, link)
		if (s->id == id)
			return s->past >= position;
	return true;
}

bool slu_pool_stream_is_capturing(void)
{
	for (unsigned i = 0; i < slu_cuda.n_devices; i++)
		if (atomic_load(&slu_cuda.devices[i].n_capturing))
			return true;
	return false;
}

/* -- asking the driver ----------------------------------------------------------------------------
 */

static bool stream_mark(struct slu_pool_stream *s)
{
	const unsigned flags = CU_EVENT_DISABLE_TIMING;
	CUresult r;

	if (!s->event && SLU_REAL(cuEventCreate)(&s->event, flags) != CUDA_SUCCESS) {
		s->event = NULL;
		return false;
	}
	slu_cuda_bypass_begin();
	r = SLU_REAL(cuEventRecord)(s->event, s->stream);
	slu_cuda_bypass_end();
	return r == CUDA_SUCCESS;
}

/* Return: the driver's word on what is in front of the mark, or in the stream. */
static CUresult stream_ask(struct slu_pool_stream *s, bool *is_marked)
{
	if (s->stream == SLU_STREAM_LEGACY)
		return SLU_REAL(cuStreamQuery)(s->stream);
	if (!*is_marked)
		*is_marked = stream_mark(s);
	return *is_marked ? SLU_REAL(cuEventQuery)(s->event) : CUDA_ERROR_UNKNOWN;
}

/* The same where its context is current. */
static CUresult stream_ask_in_context(struct slu_pool_stream *s, bool *is_marked)
{
	CUstreamCaptureMode before;
	CUcontext popped = NULL;
	CUresult r;

	if (slu_cuda_contexts_current() != s->context) {
		r = SLU_REAL(cuCtxPushCurrent_v2)(s->context);
		if (r != CUDA_SUCCESS)
			return r;
		popped = s->context;
	}
	before = slu_cuda_capture_relax();
	r = stream_ask(s, is_marked);
	slu_cuda_capture_restore(before);
	if (popped)
		SLU_REAL(cuCtxPopCurrent_v2)(&popped);
	return r;
}

static bool stream_can_ask(const struct slu_pool_stream *s)
{
	if (s->is_asked || slu_pool_stream_is_capturing())
		return false;
	return s->marked || (!s->is_dead && (!s->thread || s->thread == thread_mine));
}

enum slu_pool_look slu_pool_stream_look_locked(struct slu_pool_stream *s)
{
	uint64_t position = s->marked ? s->marked : atomic_load(&slu_pool_stream_n_frees);
	bool is_marked = s->marked;
	CUresult r;

	if (!stream_can_ask(s))
		return SLU_POOL_LOOK_UNSEEN;
	s->is_asked = true;
	n_asked++;
	slu_lock_give(&slu_cuda.lock);
	r = stream_ask_in_context(s, &is_marked);
	slu_lock_take(&slu_cuda.lock);
	s->is_asked = false;
	n_asked--;
	pthread_cond_broadcast(&slu_cuda.changed);
	s->marked = is_marked && r != CUDA_SUCCESS ? position : 0;
	if (r == CUDA_ERROR_NOT_READY)
		return SLU_POOL_LOOK_BUSY;
	if (r != CUDA_SUCCESS)
		return SLU_POOL_LOOK_UNSEEN;
	s->past = SLU_MAX(s->past, position);
	return SLU_POOL_LOOK_MORE;
}

static void stream_wait_unasked_locked(const struct slu_pool_stream *s)
{
	while (s->is_asked)
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
}

struct slu_pool_stream *slu_pool_stream_end_locked(CUstream stream)
{
	struct slu_pool_stream *s =
		slu_pool_stream_is_special(stream) ? NULL : stream_find_locked(NULL, stream);

	if (!s)
		return NULL;
	stream_wait_unasked_locked(s);
	/* its handle may be given out again, and only the mark tells of its frees */
	if (slu_pool_stream_is_pending(s) && s->marked < s->freed) {
		s->marked = 0;
		slu_pool_stream_look_locked(s);
	}
	s->is_dead = true;
	generation++;
	return s;
}

void slu_pool_stream_hush(void)
{
	slu_lock_take(&slu_cuda.lock);
	while (n_asked)
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
	slu_lock_give(&slu_cuda.lock);
}

void slu_pool_stream_forget(struct slu_cuda_device *device, CUcontext context)
{
	struct slu_pool_stream *s;

	do {
		slu_lock_take(&slu_cuda.lock);
		LIST_FOREACH (s, &streams, link)
			if (s->device == device && (!context || s->context == context))
				break;
		if (s) {
			stream_wait_unasked_locked(s);
			LIST_REMOVE(s, link);
			generation++;
		}
		slu_lock_give(&slu_cuda.lock);
		if (s)
			stream_discard(s);
	} while (s);
}

void slu_pool_stream_forked(void)
{
	LIST_INIT(&streams);
	generation++;
	n_asked = 0;
}
