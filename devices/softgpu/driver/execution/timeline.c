/* SPDX-License-Identifier: Apache-2.0 */

/* Timelines, points in them, and the one lock and signal that all queues share. */

#include "softgpu/driver/execution/timeline.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "softgpu/driver/driver.h"

static struct slu_lock queues = SLU_LOCK_INIT(DEV_DRIVER_QUEUE_RANK);
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* something was done */

/* A thread that waits for a point. To wake it for each command would cost a context switch each. */
struct dev_timeline_waiter {
	LIST_ENTRY(dev_timeline_waiter) link;
	uint64_t number;
	pthread_cond_t reached;
};

void dev_timeline_lock(void)
{
	slu_lock_take(&queues);
}

void dev_timeline_unlock(void)
{
	slu_lock_give(&queues);
}

void dev_timeline_wait_locked(pthread_cond_t *wake)
{
	slu_lock_wait_nested(&queues, wake ? wake : &progress, NULL);
}

bool dev_timeline_wait_until_locked(uint64_t until_ns)
{
	const struct timespec until = slu_clock_timespec(until_ns);
	int r;

	slu_lock_note(&queues, -1);
	r = pthread_cond_clockwait(&progress, &queues.mutex, CLOCK_MONOTONIC, &until);
	slu_lock_note(&queues, 1);
	return r != 0;
}

void dev_timeline_progress_locked(void)
{
	pthread_cond_broadcast(&progress);
}

void dev_timeline_done_locked(struct dev_timeline *timeline)
{
	struct dev_timeline_waiter *waiter;

	timeline->n_done++;
	LIST_FOREACH (waiter, &timeline->waiters, link)
		if (waiter->number <= timeline->n_done)
			pthread_cond_signal(&waiter->reached);
	dev_timeline_progress_locked();
}

void dev_timeline_unref_locked(struct dev_timeline *timeline)
{
	if (timeline && !--timeline->n_refs)
		free(timeline);
}

bool dev_timeline_point_is_done_locked(const struct dev_point *point)
{
	return !point->timeline || point->timeline->n_done >= point->number;
}

void dev_timeline_point_wait_locked(const struct dev_point *point)
{
	struct dev_timeline_waiter waiter = {
		.number = point->number,
		.reached = PTHREAD_COND_INITIALIZER,
	};

	if (dev_timeline_point_is_done_locked(point))
		return;
	LIST_INSERT_HEAD(&point->timeline->waiters, &waiter, link);
	while (!dev_timeline_point_is_done_locked(point))
		dev_timeline_wait_locked(&waiter.reached);
	LIST_REMOVE(&waiter, link);
}

struct dev_point dev_timeline_stream_point_locked(struct dev_stream *stream)
{
	stream->timeline->n_refs++;
	return (struct dev_point){ stream->timeline, stream->timeline->n_submitted };
}

struct dev_point dev_timeline_stream_point(struct dev_stream *stream)
{
	struct dev_point point;

	dev_timeline_lock();
	point = dev_timeline_stream_point_locked(stream);
	dev_timeline_unlock();
	return point;
}

struct dev_point dev_timeline_point_copy(const struct dev_point *point)
{
	dev_timeline_lock();
	if (point->timeline)
		point->timeline->n_refs++;
	dev_timeline_unlock();
	return *point;
}

void dev_timeline_point_drop(struct dev_point *point)
{
	dev_timeline_lock();
	dev_timeline_unref_locked(point->timeline);
	dev_timeline_unlock();
	*point = (struct dev_point){ 0 };
}

bool dev_timeline_point_is_done(const struct dev_point *point)
{
	bool done;

	dev_timeline_lock();
	done = dev_timeline_point_is_done_locked(point);
	dev_timeline_unlock();
	return done;
}

void dev_timeline_point_wait(const struct dev_point *point)
{
	dev_timeline_lock();
	dev_timeline_point_wait_locked(point);
	dev_timeline_unlock();
}
