/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/stream.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/command.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/event.h"
#include "softgpu/driver/timeline.h"

static struct slu_objects objects = SLU_OBJECTS_INIT(struct slu_stream);
static uint64_t last_id;
static __thread bool is_in_command;

/* -- carrying out --------------------------------------------------------------------------- */

/* The stream may be gone afterwards, if this was its last command. */
static void execute_first_locked(struct slu_stream *stream)
{
	struct slu_command *command = TAILQ_FIRST(&stream->queue);
	uint64_t start_ns = SLU_MAX(stream->timeline->done_ns, command->submitted_ns), end_ns;

	stream->is_executing = true;
	for (unsigned i = 0; i < command->n_deps; i++) {
		slu_point_wait_locked(&command->deps[i]);
		if (command->deps[i].timeline)
			start_ns = SLU_MAX(start_ns, command->deps[i].timeline->done_ns);
	}
	slu_stream_unlock();
	is_in_command = true;
	end_ns = slu_command_execute(stream, command, start_ns);
	is_in_command = false;
	slu_stream_lock();
	TAILQ_REMOVE(&stream->queue, command, link);
	stream->n_queued--;
	stream->timeline->done_ns = end_ns;
	stream->timeline->n_done++;
	stream->is_executing = false;
	pthread_cond_signal(&stream->wake);
	slu_timeline_progress_locked();
	slu_stream_unlock();
	slu_command_free(command);
	slu_stream_lock();
}

bool slu_stream_is_in_command(void)
{
	return is_in_command;
}

static bool may_help_locked(const struct slu_stream *stream)
{
	const struct slu_command *command = TAILQ_FIRST(&stream->queue);

	if (stream->is_executing || command->kind == SLU_COMMAND_HOST ||
	    command->kind == SLU_COMMAND_CALLBACK)
		return false;
	for (unsigned i = 0; i < command->n_deps; i++)
		if (!slu_point_is_done_locked(&command->deps[i]))
			return false;
	return true;
}

/* While the point is not reached, its stream has commands left and therefore lives. */
static void help_locked(struct slu_stream *stream, const struct slu_point *point)
{
	while (!slu_point_is_done_locked(point)) {
		if (may_help_locked(stream))
			execute_first_locked(stream);
		else
			slu_timeline_wait_locked(NULL);
	}
}

/* The end of a stream: by its own thread, if it has one. */
static void retire_locked(struct slu_stream *stream)
{
	LIST_REMOVE(stream, link);
	slu_timeline_unref_locked(stream->timeline);
	pthread_cond_destroy(&stream->wake);
	slu_objects_free(&objects, stream);
	slu_timeline_progress_locked();
}

static void *thread_main(void *data)
{
	struct slu_stream *stream = data;

	/* the device's times are short: let the timer be exact */
	prctl(PR_SET_TIMERSLACK, 1000UL);
	prctl(PR_SET_NAME, "softgpu-stream");
	slu_stream_lock();
	for (;;) {
		if (stream->is_executing || (TAILQ_EMPTY(&stream->queue) && !stream->is_closing))
			slu_timeline_wait_locked(&stream->wake);
		else if (!TAILQ_EMPTY(&stream->queue))
			execute_first_locked(stream);
		else
			break;
	}
	retire_locked(stream);
	slu_stream_unlock();
	return NULL;
}

static int start_thread_locked(struct slu_stream *stream)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, thread_main, stream);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!r)
		stream->has_thread = true;
	return -r;
}

/* -- streams -------------------------------------------------------------------------------- */

CUresult slu_stream_new(struct slu_context *context, unsigned flags, int priority, bool is_legacy,
			struct slu_stream **ret_stream)
{
	struct slu_stream *stream = slu_objects_new(&objects);
	pthread_condattr_t attr;

	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->timeline = calloc(1, sizeof(*stream->timeline));
	if (!stream->timeline) {
		slu_objects_free(&objects, stream);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	stream->timeline->n_refs = 1;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	stream->is_legacy = is_legacy;
	stream->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	TAILQ_INIT(&stream->queue);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&stream->wake, &attr);
	pthread_condattr_destroy(&attr);
	slu_stream_lock();
	LIST_INSERT_HEAD(&context->streams, stream, link);
	slu_stream_unlock();
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

void slu_stream_free(struct slu_stream *stream, bool wait)
{
	uint64_t id = stream->id;

	slu_capture_drop_stream(stream);
	slu_stream_lock();
	stream->is_closing = true;
	if (stream->has_thread)
		pthread_cond_signal(&stream->wake);
	else
		retire_locked(stream);
	while (wait && slu_stream_find(stream, id))
		slu_timeline_wait_locked(NULL);
	slu_stream_unlock();
}

struct slu_stream *slu_stream_find(struct slu_stream *stream, uint64_t id)
{
	stream = slu_objects_get(&objects, stream);
	return stream && stream->id == id ? stream : NULL;
}

CUresult slu_stream_get(struct slu_context *context, CUstream handle,
			struct slu_stream **ret_stream)
{
	struct slu_stream *stream;

	if (!handle || handle == CU_STREAM_LEGACY) {
		*ret_stream = context->legacy;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD)
		return slu_stream_get_own(context, ret_stream);
	stream = slu_objects_get(&objects, handle);
	if (!stream || stream->is_closing)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

/* -- work ----------------------------------------------------------------------------------- */

static bool is_blocking(const struct slu_stream *stream)
{
	return !stream->is_legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The legacy stream and the blocking streams of a context wait for each other. */
static int add_legacy_order_locked(struct slu_stream *stream, struct slu_command *command)
{
	struct slu_stream *other;
	int r = 0;

	if (is_blocking(stream) && stream->context->legacy->n_queued)
		return slu_command_depend(command,
					  slu_stream_point_locked(stream->context->legacy));
	if (!stream->is_legacy)
		return 0;
	LIST_FOREACH (other, &stream->context->streams, link) {
		if (is_blocking(other) && other->n_queued && !r)
			r = slu_command_depend(command, slu_stream_point_locked(other));
	}
	return r;
}

static int submit_locked(struct slu_stream *stream, struct slu_command *command)
{
	int r = stream->has_thread ? 0 : start_thread_locked(stream);

	if (!r)
		r = add_legacy_order_locked(stream, command);
	if (r)
		return r;
	command->submitted_ns = slu_clock_now_ns();
	TAILQ_INSERT_TAIL(&stream->queue, command, link);
	stream->n_queued++;
	stream->timeline->n_submitted++;
	pthread_cond_signal(&stream->wake);
	return 0;
}

static CUresult submit(struct slu_stream *stream, struct slu_command *command,
		       struct slu_mark *mark)
{
	CUresult result;
	int r;

	slu_stream_lock();
	while (stream->n_queued >= SLU_STREAM_DEPTH)
		slu_timeline_wait_locked(NULL);
	if (stream->capture) {
		result = slu_capture_append_locked(stream, command);
		slu_stream_unlock();
		if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
			slu_command_free(command);
		return result;
	}
	if (stream->is_legacy && slu_capture_bars_legacy_locked(stream->context)) {
		slu_stream_unlock();
		slu_command_free(command);
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	r = submit_locked(stream, command);
	if (!r && mark)
		mark->point = slu_stream_point_locked(stream);
	slu_stream_unlock();
	if (r) {
		slu_command_free(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

CUresult slu_stream_submit(struct slu_stream *stream, struct slu_command *command)
{
	return submit(stream, command, NULL);
}

CUresult slu_stream_submit_mark(struct slu_stream *stream, struct slu_command *command)
{
	return submit(stream, command, command->mark);
}

CUresult slu_stream_run(struct slu_stream *stream, struct slu_command *command)
{
	CUresult result = slu_stream_submit(stream, command);

	return result ? result : slu_stream_synchronize(stream);
}

CUresult slu_stream_synchronize(struct slu_stream *stream)
{
	struct slu_context *context = stream->context;
	struct slu_point point = slu_stream_point(stream);

	if (stream->is_legacy) {
		struct slu_stream *other;

		slu_stream_lock();
	again:
		LIST_FOREACH (other, &context->streams, link) {
			struct slu_point its = { other->timeline, other->timeline->n_submitted };

			if (!is_blocking(other) || slu_point_is_done_locked(&its))
				continue;
			its = slu_stream_point_locked(other);
			slu_point_wait_locked(&its);
			slu_timeline_unref_locked(its.timeline);
			goto again;
		}
		slu_stream_unlock();
	}
	slu_stream_lock();
	help_locked(stream, &point);
	slu_timeline_unref_locked(point.timeline);
	slu_stream_unlock();
	return slu_context_error(context);
}

bool slu_stream_is_idle(struct slu_stream *stream)
{
	struct slu_stream *other;
	bool idle;

	slu_stream_lock();
	idle = !stream->n_queued;
	if (stream->is_legacy)
		LIST_FOREACH (other, &stream->context->streams, link)
			if (is_blocking(other) && other->n_queued)
				idle = false;
	slu_stream_unlock();
	return idle;
}

void slu_stream_drain(struct slu_context *context)
{
	struct place {
		struct slu_stream *stream;
		struct slu_point point;
	} * places;
	struct slu_stream *stream;
	size_t n = 0, i = 0;

	slu_stream_lock();
	LIST_FOREACH (stream, &context->streams, link)
		n++;
	places = calloc(n ? n : 1, sizeof(*places));
	LIST_FOREACH (stream, &context->streams, link)
		if (places)
			places[i++] = (struct place){ stream, slu_stream_point_locked(stream) };
	/* without memory for the list: until there is a moment in which nothing is queued */
	for (bool busy = !places; busy;) {
		busy = false;
		LIST_FOREACH (stream, &context->streams, link)
			busy = busy || stream->n_queued;
		if (busy)
			slu_timeline_wait_locked(NULL);
	}
	for (i = 0; places && i < n; i++) {
		help_locked(places[i].stream, &places[i].point);
		slu_timeline_unref_locked(places[i].point.timeline);
	}
	slu_stream_unlock();
	free(places);
}
