/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Streams: ordered queues, each with a thread that carries out its commands one after the other.
 *
 * Order between streams is by dependencies on timelines. A timeline counts what was submitted to a
 * stream and what of it is done; a command waits until the timelines it names have come far enough.
 * A dependency always points to what was submitted earlier, so no ring of waits can arise. The
 * legacy stream waits for all blocking streams of its context, and they for it.
 *
 * Beside the real time runs the device's: a command ends, on the card, at a time that its engine's
 * timeline tells, and its successor begins there and not when our thread happens to wake up. So the
 * engines are busy without gaps although the threads of this machine come late at times.
 *
 * Whoever waits for a stream may carry out its first command instead of sleeping: the way over to
 * another thread and back costs more than a small command. Host functions are left to the stream's
 * own thread.
 *
 * Everything is guarded by one lock of the process, the queues' lock.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/object.h"

struct dev_command;
struct dev_context;
struct dev_capture;

struct dev_timeline_waiter;

struct dev_timeline {
	unsigned n_refs;
	uint64_t n_submitted;
	uint64_t n_done;
	uint64_t done_ns; /* when the last one that is done ended, in the device's time */
	LIST_HEAD(, dev_timeline_waiter) waiters; /* threads that wait for a point of it */
};

/* A place in a stream: done when its timeline has come so far. */
struct dev_point {
	struct dev_timeline *timeline; /* NULL: was never reached, is always done */
	uint64_t number;
};

struct dev_stream {
	struct dev_object object;
	struct dev_context *context; /* constant, as the next ones */
	unsigned flags;
	int priority;
	int synchronization_policy; /* as set; changes nothing */
	bool is_legacy;
	uint64_t id;
	struct dev_timeline *timeline;
	TAILQ_HEAD(, dev_command) queue; /* submitted and not done */
	unsigned n_queued;
	bool has_thread;   /* which carries out the commands, and frees the stream at its end */
	bool is_executing; /* somebody carries out the first command */
	bool is_closing;
	pthread_cond_t wake; /* there is work, or the end has come */
	LIST_ENTRY(dev_stream) link;
	/* what its work is recorded into; guarded by the queues' lock */
	struct dev_capture *capture;
	struct dev_graph_node *capture_tail;
};

/* What a stream takes before the launching thread must wait. */
#define DEV_STREAM_DEPTH 1024

CUresult dev_stream_new(struct dev_context *context, unsigned flags, int priority, bool is_legacy,
			struct dev_stream **ret_stream);

/* Work that is queued still runs; the thread ends after it. @wait: for that. */
void dev_stream_free(struct dev_stream *stream, bool wait);

/*
 * The stream of @handle in @context: 0 and LEGACY are the legacy stream, PER_THREAD is the calling
 * thread's own.
 */
CUresult dev_stream_get(struct dev_context *context, CUstream handle,
			struct dev_stream **ret_stream);

/* stream-own.c: the calling thread's own stream in @context, which is made if there is none. */
CUresult dev_stream_get_own(struct dev_context *context, struct dev_stream **ret_stream);

/* Return: @stream, if it is still the one with that id, else NULL. */
struct dev_stream *dev_stream_find(struct dev_stream *stream, uint64_t id);

/* Appends @command, which belongs to the stream from now on, also on failure. */
CUresult dev_stream_submit(struct dev_stream *stream, struct dev_command *command);

/* As submit; the mark that the command carries gets the command's own place as its point. */
CUresult dev_stream_submit_mark(struct dev_stream *stream, struct dev_command *command);

CUresult dev_stream_synchronize(struct dev_stream *stream);
bool dev_stream_is_idle(struct dev_stream *stream);

/* Whether nothing is queued in any stream of the process; with the queues' lock held. */
bool dev_stream_all_idle_locked(void);

/* Waits until that is so, or until @until_ns. */
void dev_stream_wait_all_idle(uint64_t until_ns);

/* Waits until everything that was submitted in @context before is done. */
void dev_stream_drain(struct dev_context *context);

/* The place that the stream has come to now. The point holds its timeline until it is dropped. */
struct dev_point dev_timeline_stream_point(struct dev_stream *stream);
struct dev_point dev_timeline_point_copy(const struct dev_point *point);
void dev_timeline_point_drop(struct dev_point *point);
bool dev_timeline_point_is_done(const struct dev_point *point);
void dev_timeline_point_wait(const struct dev_point *point);

/* Whether the calling thread carries out a command, its own stream's or another one's. */
bool dev_stream_is_in_command(void);

void dev_timeline_lock(void);
void dev_timeline_unlock(void);
