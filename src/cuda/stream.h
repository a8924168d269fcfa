/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The streams in which the program queued work, and the host functions that it queued there. They
 * tell a program that waits for the host from one that keeps the device busy.
 *
 * A host function may wait for another process. Work behind it cannot run before it ends. So when a
 * turn ends while a host function runs, the shim decides whether any queued work can still touch
 * device memory:
 *
 *   for each use (a stream, on a thread) since the last rest:
 *     a host function of the same stream runs, and nothing was submitted after it   -> at rest
 *     no host function is queued there, and the driver says that the stream is idle -> at rest
 *     anything else                                                                 -> unproven
 *
 * Submissions are numbered by the flight's counter, taken after the driver's call: a number that is
 * not above the one that a host function got before its own call belongs to work ahead of it.
 * Per-thread streams of other threads cannot be asked about; they stay unproven until the whole
 * context was waited for, by us or by the program. So do streams that were destroyed with work in
 * them, and those for which there was no memory.
 *
 * A use lives as long as its thread and its stream do. One whose thread has ended is given out
 * again once its work has ended; where very many have not, they are summed up in one number
 * (unproven), which loses precision, never safety. So the table is as large as what the program has
 * at a time, however many threads and streams it has had.
 *
 *   FREE     -> TAKEN     [slu_cuda_streams_note]  a thread's first work in a stream
 *   TAKEN    -> DEPARTED  [the thread's end]       no thread writes it any more
 *   DEPARTED -> FREE      [slu_cuda_streams_note]  a thread needs one, and the work has ended
 *   TAKEN, DEPARTED -> FREE  [slu_cuda_streams_destroy, _forget, _reset]  what threads remember is
 *                                                                         void from then on
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_device;

/* The driver's special handles, and what the older calls mean by 0. */
#define SLU_STREAM_LEGACY     ((CUstream)(uintptr_t)1)
#define SLU_STREAM_PER_THREAD ((CUstream)(uintptr_t)2)
/* Our own: a host function that runs in a stream which we do not know. */
#define SLU_STREAM_UNKNOWN ((CUstream)(uintptr_t)3)

#define SLU_STREAM_MEMORIES    16 /* a power of two */
#define SLU_STREAM_BLOCK_USES  64
#define SLU_STREAM_BUCKETS     64 /* a power of two */
#define SLU_STREAM_USES_PLENTY 1024

/* One thread's work in one stream. */
struct slu_cuda_use {
	struct slu_cuda_use *next; /* guarded by lock: of its bucket, or of those that are free */
	CUstream stream;	   /* guarded by lock; NULL: free */
	CUcontext context;	   /* guarded by lock: in which its thread used it first */
	uint64_t thread;	   /* guarded by lock */
	bool is_departed;	   /* guarded by lock: its thread has ended */
	_Atomic uint64_t last; /* the number of its last submission; written by its thread only */
};

/* Uses are made by the block and stay where they are: threads remember them. */
struct slu_cuda_use_block {
	struct slu_cuda_use_block *next; /* constant */
	struct slu_cuda_use uses[SLU_STREAM_BLOCK_USES];
};

/* A host function, or a wait of a stream, between its submission and its end. */
struct slu_cuda_host_call {
	struct slu_cuda_host_call *next, **back; /* guarded by lock */
	struct slu_cuda_device *device;
	CUstream stream;
	uint64_t thread;   /* the owner of a per-thread stream; else 0 */
	uint64_t ahead;	   /* what is numbered so or lower is not behind it */
	uint64_t since_ns; /* guarded by lock; when it began to run, 0 before */
};

struct slu_cuda_streams {
	_Atomic uint32_t generation;   /* uses that threads remember are of this one */
	_Atomic uint32_t n_services;   /* service contexts so far; numbers are of the last one */
	_Atomic uint32_t n_host_calls; /* in the list */
	_Atomic bool has_nodes;	       /* graphs have host functions (nodes.h) */
	struct slu_lock lock;	       /* SLU_LOCK_LEAF, for what follows */
	pthread_cond_t asked;	       /* the stream that was asked about no longer is */
	struct slu_cuda_use_block *blocks;
	struct slu_cuda_use *buckets[SLU_STREAM_BUCKETS]; /* by stream and thread */
	struct slu_cuda_use *spare;
	unsigned n_uses; /* in all blocks */
	struct slu_cuda_host_call *host_calls;
	uint64_t unproven; /* up to this number there may be work that no use tells of */
	uint64_t rested;   /* up to this number everything has ended */
	CUstream asking;   /* the driver is being asked about it: not to be destroyed */
	struct slu_cuda_streams *next; /* constant after init: all of the process */
};

/* Once, for the life of the process: a host function may outlive the context it was queued in. */
void slu_cuda_streams_init(struct slu_cuda_streams *streams);

/* A new service context: submissions are numbered anew, and no stream is known. */
void slu_cuda_streams_reset(struct slu_cuda_streams *streams);

/* The uses that this thread remembers. */
struct slu_cuda_use_memory {
	struct slu_cuda_streams *streams;
	CUstream stream;
	uint32_t generation;
	struct slu_cuda_use *use;
};

extern __thread struct slu_cuda_use_memory slu_cuda_streams_mine[SLU_STREAM_MEMORIES]
	__attribute__((__tls_model__("initial-exec")));

static inline struct slu_cuda_use_memory *slu_cuda_streams_memory_of(CUstream stream)
{
	uint64_t bits = (uint64_t)(uintptr_t)stream * UINT64_C(0x9e3779b97f4a7c15);

	return &slu_cuda_streams_mine[bits >> 32 & (SLU_STREAM_MEMORIES - 1)];
}

void slu_cuda_streams_note_slow(struct slu_cuda_streams *streams, CUstream stream, uint64_t number);

/* This thread has submitted work to @stream, as number @number. */
static inline void slu_cuda_streams_note(struct slu_cuda_streams *streams, CUstream stream,
					 uint64_t number)
{
	struct slu_cuda_use_memory *m = slu_cuda_streams_memory_of(stream);

	if (__builtin_expect(m->stream == stream && m->streams == streams &&
				     m->generation == atomic_load_explicit(&streams->generation,
									   memory_order_relaxed),
			     1))
		atomic_store_explicit(&m->use->last, number, memory_order_relaxed);
	else
		slu_cuda_streams_note_slow(streams, stream, number);
}

/* A host function is about to be queued; queued it will begin and end, else it ends. */
void slu_cuda_streams_host_add(struct slu_cuda_device *device, CUstream stream,
			       struct slu_cuda_host_call *ret_call);
void slu_cuda_streams_host_begin(struct slu_cuda_host_call *call);
void slu_cuda_streams_host_end(struct slu_cuda_host_call *call);

/* A stream is about to be destroyed. Waits while the driver is asked about it. */
void slu_cuda_streams_destroy(struct slu_cuda_streams *streams, CUstream stream);

/*
 * @context is about to be destroyed, and its streams with it. Waits while the driver is asked about
 * a stream.
 */
void slu_cuda_streams_forget(struct slu_cuda_streams *streams, CUcontext context);

/* A capture is about to begin, and is counted: waits while the driver is asked about a stream. */
void slu_cuda_streams_hush(struct slu_cuda_streams *streams);

/*
 * What is numbered @number or lower has ended, unless submissions have been numbered anew since
 * n_services was @n_services.
 */
void slu_cuda_streams_rest(struct slu_cuda_streams *streams, uint32_t n_services, uint64_t number);

/* Since when a host function runs, of those that run the oldest; 0 if none does. */
uint64_t slu_cuda_streams_host_since(struct slu_cuda_streams *streams);

/* Whether nothing that could touch memory is left, host functions or not. Does not block. */
bool slu_cuda_streams_is_at_rest(struct slu_cuda_device *device);

/* Whether the driver calls every stream that we can name idle. Does not block. */
bool slu_cuda_streams_are_idle(struct slu_cuda_device *device);
