/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bus: copies between host and device take the time that their bytes need, on the engine of
 * their direction, one after the other with the copies of all other processes.
 *
 * A copy is delayed *before* it is done, not after: the driver gets it with one more event in its
 * wait list, a user event of ours (its *arrival*), which is set when the bus would have brought the
 * last byte. So everything that depends on the copy is the driver's business as ever: in-order
 * queues, wait lists, callbacks, status, errors. The event that the program gets is the driver's
 * own. A blocking call is the same call, not blocking, and a wait for its event.
 *
 * The bus begins with a copy when it is *ready*: all that it waits for has happened. For
 * commands of the driver a marker in front of the copy shows that. But a copy behind another copy
 * must follow it without a gap, as on a card, and the marker would only fire after the first one
 * was really done and every thread had been woken. So one of our own jobs is waited for in the
 * time of the timeline: a job is ready when the jobs that it follows have
 * reached their booked end, and it is booked for that instant, however late our thread wakes.
 *
 *   WAITING -> BOOKED   [ready]   all that it follows has ended: the engine is booked
 *   BOOKED  -> ENDED    [run]     the clock has reached its end: it arrives
 *
 *   WAITING:  n_pending > 0
 *   BOOKED:   end_ns is known; in the list of timers
 *   ENDED:    its arrival is set or about to be; the jobs that follow it know
 *
 * What a job follows:
 *   in-order queue       the last command of the queue: the job itself if it was one, else a marker
 *   out-of-order queue   nothing (a barrier delays the copy, but not the booking)
 *   wait list            each event that is not complete: the job itself if it is one's, else a
 *                        marker that waits for it
 *
 * Profiling: the driver sees only the copy itself, after its arrival. START is reported as END less
 * the time on the bus, and SUBMIT as not later than that.
 */

#include <stdint.h>

#include "limiter/limiter.h"

struct dev_limiter_job;

/* A copy on its way through a wrapper. */
struct dev_limiter_passage {
	/* what the driver has to be given */
	cl_bool blocking;
	cl_uint n_wait;
	const cl_event *wait;
	cl_event *event;

	/* ours */
	struct dev_limiter_job *job; /* NULL: not delayed */
	cl_command_queue queue;
	struct dev_limiter_device *device;
	enum dev_board_engine engine;
	uint64_t bytes;
	bool was_blocking;
	cl_event *program_event;
	cl_event own_event;
	cl_event marker;
	cl_event *list;			  /* the wait list with the arrival */
	struct dev_limiter_job **earlier; /* jobs that it follows, with a reference each */
	cl_uint n_earlier;
};

/*
 * Around the driver's call of a copy of @bytes over @engine. end() takes what the driver returned
 * and gives what the program gets.
 */
void dev_limiter_bus_begin(struct dev_limiter_passage *passage, cl_command_queue queue,
			   enum dev_board_engine engine, uint64_t bytes, cl_bool blocking,
			   cl_uint n_wait, const cl_event *wait, cl_event *event);
cl_int dev_limiter_bus_end(struct dev_limiter_passage *passage, cl_int r);

/* A copy that the calling thread makes by itself: books it and waits for its end. */
void dev_limiter_bus_take(struct dev_limiter_device *device, enum dev_board_engine engine,
			  uint64_t bytes);

void dev_limiter_bus_job_ref_locked(struct dev_limiter_job *job);
void dev_limiter_bus_job_unref_locked(struct dev_limiter_job *job);
uint64_t dev_limiter_bus_job_duration_ns(const struct dev_limiter_job *job);

/* -- queue.c -------------------------------------------------------------------------------- */

struct dev_limiter_queue_view {
	cl_context context;
	struct dev_limiter_device *device;
	struct dev_limiter_job *last; /* the last command, where it is a job; a reference if set */
	bool needs_marker;	      /* the last command is one of the driver's */
};

/* Return: whether the queue is known. Without @ret_view only that. */
bool dev_limiter_queue_look(cl_command_queue queue, struct dev_limiter_queue_view *ret_view);

/* A command was put into the queue: @job, or (NULL) one that the bus has nothing to do with. */
void dev_limiter_queue_note(cl_command_queue queue, struct dev_limiter_job *job);

struct dev_limiter_device *dev_limiter_queue_device(cl_command_queue queue);

/* -- event.c -------------------------------------------------------------------------------- */

/* @event, which the program gets, is @job's. Return: 0 or -ENOMEM. */
int dev_limiter_event_add(cl_event event, struct dev_limiter_job *job);

/* The job behind an event; a reference, or NULL. */
struct dev_limiter_job *dev_limiter_event_job(cl_event event);
