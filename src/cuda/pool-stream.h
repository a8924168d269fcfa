/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The streams in which the program frees memory, and how far each of them has come.
 *
 * Frees are numbered over all streams, under the front lock, after the program has submitted what
 * uses the memory. A stream has come past a free when something that was put behind it, or the
 * whole stream, is seen to have ended:
 *
 *   - the program waited for the stream or its context: all frees that were numbered before;
 *   - a *mark*, an event behind the frees, has come. None is recorded until another stream
 *     needs memory, or a pool gives memory back; one at a time;
 *   - the legacy stream is asked instead: an event in it would make other streams wait for each
 *     other.
 *
 * The per-thread streams of other threads can be neither marked nor asked about: they are past
 * their frees when the context was waited for. So are streams that were destroyed during a capture.
 *
 *   KNOWN -> DEAD  [slu_pool_stream_end_locked, the thread's end]  marked before, where that can be
 *   DEAD  -> gone  [slu_pool_stream_meet]                          it is past all of its frees
 *   KNOWN, DEAD -> gone  [slu_pool_stream_forget]                  its context ends
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuda/device.h"

/* guarded by the front lock */
struct slu_pool_stream {
	LIST_ENTRY(slu_pool_stream) link;
	uint64_t id;			/* never used again; constant, as what follows */
	struct slu_cuda_device *device; /* of its context */
	CUcontext context;
	CUstream stream;
	uint64_t thread; /* the owner of a per-thread stream; else 0 */

	bool is_dead;
	bool is_asked;	 /* a thread makes driver calls for it: it stays */
	CUevent event;	 /* NULL until there is a first mark */
	uint64_t marked; /* the mark is behind the frees up to here; 0: there is none */
	uint64_t past;	 /* it has come past the frees up to here */
	uint64_t freed;	 /* the number of its last free */
};

/* How many frees there have been. Changes under the front lock. */
extern _Atomic uint64_t slu_pool_stream_n_frees;

/* Whether the stream is the same in no two contexts: then the context that is current matters. */
static inline bool slu_pool_stream_is_special(CUstream stream)
{
	return (uintptr_t)stream <= (uintptr_t)SLU_STREAM_PER_THREAD;
}

/*
 * The stream that @stream means to this thread, with @context current (NULL unless it is special).
 * Return: NULL if it is not known.
 */
struct slu_pool_stream *slu_pool_stream_here_locked(CUcontext context, CUstream stream);

/* Makes it known. Without the lock. Return: whether it is; else it is the driver's business. */
bool slu_pool_stream_meet(CUcontext context, CUstream stream);

/* Numbers a free in @stream. */
uint64_t slu_pool_stream_free_locked(struct slu_pool_stream *stream);

static inline bool slu_pool_stream_is_pending(const struct slu_pool_stream *stream)
{
	return stream->past < stream->freed;
}

/* The one with the lowest id above @id, or NULL. */
struct slu_pool_stream *slu_pool_stream_next_locked(uint64_t id);

/* Whether the stream with this id has come past a free. */
bool slu_pool_stream_is_past_locked(uint64_t id, uint64_t position);

enum slu_pool_look {
	SLU_POOL_LOOK_MORE,   /* it has come further */
	SLU_POOL_LOOK_BUSY,   /* its mark has not come */
	SLU_POOL_LOOK_UNSEEN, /* it can be neither marked nor asked about, by this thread and now */
};

/*
 * Asks the driver how far @stream has come. The lock is left meanwhile; @stream stays. Does not
 * block.
 */
enum slu_pool_look slu_pool_stream_look_locked(struct slu_pool_stream *stream);

/*
 * The program is about to destroy @stream. Leaves the lock.
 * Return: what it was, perhaps further than before; NULL if it is not known.
 */
struct slu_pool_stream *slu_pool_stream_end_locked(CUstream stream);

/* A capture is about to begin, and is counted: waits until no stream is asked about. */
void slu_pool_stream_hush(void);

/* Whether the program captures anywhere. */
bool slu_pool_stream_is_capturing(void);

/* Drops the streams of @device in @context (NULL: in all), which are past all frees or end now. */
void slu_pool_stream_forget(struct slu_cuda_device *device, CUcontext context);

/* In a child: none is known. */
void slu_pool_stream_forked(void);
