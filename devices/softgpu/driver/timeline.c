/* SPDX-License-Identifier: Apache-2.0 */

/* Timelines, points in them, and the one lock and signal that all queues share. */

#include "softgpu/driver/timeline.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/lock.h"
#include "softgpu/driver/driver.h"

static struct slu_lock queues = SLU_LOCK_INIT(SLU_DRIVER_QUEUE_RANK);
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* something was done */

void slu_stream_lock(void)
{
	slu_lock_take(&queues);
}

void slu_stream_unlock(void)
{
	slu_lock_give(&queues);
}

void slu_timeline_wait_locked(pthread_cond_t *wake)
{
	slu_lock_wait(&queues, wake ? wake : &progress, NULL);
}

void slu_timeline_progress_locked(void)
{
	pthread_cond_broadcast(&progress);
}

void slu_timeline_unref_locked(struct slu_timeline *timeline)
{
	if (timeline && !--timeline->n_refs)
		free(timeline);
}

bool slu_point_is_done_locked(const struct slu_point *point)
{
	return !point->timeline || point->timeline->n_done >= point->number;
}

void slu_point_wait_locked(const struct slu_point *point)
{
	while (!slu_point_is_done_locked(point))
		slu_timeline_wait_locked(NULL);
}

struct slu_point slu_stream_point_locked(struct slu_stream *stream)
{
	stream->timeline->n_refs++;
	return (struct slu_point){ stream->timeline, stream->timeline->n_submitted };
}

struct slu_point slu_stream_point(struct slu_stream *stream)
{
	struct slu_point point;

	slu_stream_lock();
	point = slu_stream_point_locked(stream);
	slu_stream_unlock();
	return point;
}

struct slu_point slu_point_copy(const struct slu_point *point)
{
	slu_stream_lock();
	if (point->timeline)
		point->timeline->n_refs++;
	slu_stream_unlock();
	return *point;
}

void slu_point_drop(struct slu_point *point)
{
	slu_stream_lock();
	slu_timeline_unref_locked(point->timeline);
	slu_stream_unlock();
	*point = (struct slu_point){ 0 };
}

bool slu_point_is_done(const struct slu_point *point)
{
	bool done;

	slu_stream_lock();
	done = slu_point_is_done_locked(point);
	slu_stream_unlock();
	return done;
}

void slu_point_wait(const struct slu_point *point)
{
	slu_stream_lock();
	slu_point_wait_locked(point);
	slu_stream_unlock();
}
