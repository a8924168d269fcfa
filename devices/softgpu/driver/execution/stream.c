/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/stream.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/capture.h"
#include "softgpu/driver/execution/command.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/timeline.h"

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_stream);
static uint64_t last_id;
static uint64_t n_pending; /* commands in all queues; guarded by the queues' lock */
static __thread bool is_in_command;

/* -- carrying out --------------------------------------------------------------------------- */

/* The stream may be gone afterwards, if this was its last command. */
static void execute_first_locked(struct dev_stream *stream)
{
	struct dev_command *command = TAILQ_FIRST(&stream->queue);
	uint64_t start_ns = SLU_MAX(stream->timeline->done_ns, command->submitted_ns), end_ns;

	stream->is_executing = true;
	for (unsigned i = 0; i < command->n_deps; i++) {
		dev_timeline_point_wait_locked(&command->deps[i]);
		if (command->deps[i].timeline)
			start_ns = SLU_MAX(start_ns, command->deps[i].timeline->done_ns);
	}
	dev_timeline_unlock();
	is_in_command = true;
	end_ns = dev_command_execute(stream, command, start_ns);
	is_in_command = false;
	dev_timeline_lock();
	TAILQ_REMOVE(&stream->queue, command, link);
	stream->n_queued--;
	n_pending--;
	stream->timeline->done_ns = end_ns;
	stream->is_executing = false;
	pthread_cond_signal(&stream->wake);
	dev_timeline_done_locked(stream->timeline);
	dev_timeline_unlock();
	dev_command_free(command);
	dev_timeline_lock();
}

bool dev_stream_is_in_command(void)
{
	return is_in_command;
}

static bool may_help_locked(const struct dev_stream *stream)
{
	const struct dev_command *command = TAILQ_FIRST(&stream->queue);

	if (stream->is_executing || command->kind == DEV_COMMAND_HOST ||
	    command->kind == DEV_COMMAND_CALLBACK)
		return false;
	for (unsigned i = 0; i < command->n_deps; i++)
		if (!dev_timeline_point_is_done_locked(&command->deps[i]))
			return false;
	return true;
}

/* While the point is not reached, its stream has commands left and therefore lives. */
static void help_locked(struct dev_stream *stream, const struct dev_point *point)
{
	while (!dev_timeline_point_is_done_locked(point)) {
		if (may_help_locked(stream))
			execute_first_locked(stream);
		else
			dev_timeline_wait_locked(NULL);
	}
}

/* The end of a stream: by its own thread, if it has one. */
static void retire_locked(struct dev_stream *stream)
{
	LIST_REMOVE(stream, link);
	dev_timeline_unref_locked(stream->timeline);
	pthread_cond_destroy(&stream->wake);
	dev_object_free(&objects, stream);
	dev_timeline_progress_locked();
}

static void *thread_main(void *data)
{
	struct dev_stream *stream = data;

	/* the device's times are short: let the timer be exact */
	prctl(PR_SET_TIMERSLACK, 1000UL);
	prctl(PR_SET_NAME, "softgpu-stream");
	dev_timeline_lock();
	for (;;) {
		if (stream->is_executing || (TAILQ_EMPTY(&stream->queue) && !stream->is_closing))
			dev_timeline_wait_locked(&stream->wake);
		else if (!TAILQ_EMPTY(&stream->queue))
			execute_first_locked(stream);
		else
			break;
	}
	retire_locked(stream);
	dev_timeline_unlock();
	return NULL;
}

static int start_thread_locked(struct dev_stream *stream)
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

CUresult dev_stream_new(struct dev_context *context, unsigned flags, int priority, bool is_legacy,
			struct dev_stream **ret_stream)
{
	struct dev_stream *stream = dev_object_new(&objects);
	pthread_condattr_t attr;

	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->timeline = calloc(1, sizeof(*stream->timeline));
	if (!stream->timeline) {
		dev_object_free(&objects, stream);
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
	dev_timeline_lock();
	LIST_INSERT_HEAD(&context->streams, stream, link);
	dev_timeline_unlock();
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

void dev_stream_free(struct dev_stream *stream, bool wait)
{
	uint64_t id = stream->id;

	dev_capture_drop_stream(stream);
	dev_timeline_lock();
	stream->is_closing = true;
	if (stream->has_thread)
		pthread_cond_signal(&stream->wake);
	else
		retire_locked(stream);
	while (wait && dev_stream_find(stream, id))
		dev_timeline_wait_locked(NULL);
	dev_timeline_unlock();
}

struct dev_stream *dev_stream_find(struct dev_stream *stream, uint64_t id)
{
	stream = dev_object_get(&objects, stream);
	return stream && stream->id == id ? stream : NULL;
}

CUresult dev_stream_get(struct dev_context *context, CUstream handle,
			struct dev_stream **ret_stream)
{
	struct dev_stream *stream;

	if (!handle || handle == CU_STREAM_LEGACY) {
		*ret_stream = context->legacy;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD)
		return dev_stream_get_own(context, ret_stream);
	stream = dev_object_get(&objects, handle);
	if (!stream || stream->is_closing)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

/* -- work ----------------------------------------------------------------------------------- */

static bool is_blocking(const struct dev_stream *stream)
{
	return !stream->is_legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The legacy stream and the blocking streams of a context wait for each other. */
static int add_legacy_order_locked(struct dev_stream *stream, struct dev_command *command)
{
	struct dev_stream *other;
	int r = 0;

	if (is_blocking(stream) && stream->context->legacy->n_queued)
		return dev_command_depend(
			command, dev_timeline_stream_point_locked(stream->context->legacy));
	if (!stream->is_legacy)
		return 0;
	LIST_FOREACH (other, &stream->context->streams, link) {
		if (is_blocking(other) && other->n_queued && !r)
			r = dev_command_depend(command, dev_timeline_stream_point_locked(other));
	}
	return r;
}

static int submit_locked(struct dev_stream *stream, struct dev_command *command)
{
	int r = stream->has_thread ? 0 : start_thread_locked(stream);

	if (!r)
		r = add_legacy_order_locked(stream, command);
	if (r)
		return r;
	command->submitted_ns = slu_clock_now_ns();
	TAILQ_INSERT_TAIL(&stream->queue, command, link);
	stream->n_queued++;
	n_pending++;
	stream->timeline->n_submitted++;
	pthread_cond_signal(&stream->wake);
	return 0;
}

static void wait_for_slot_locked(struct dev_stream *stream)
{
	struct dev_point first = dev_timeline_stream_point_locked(stream);

	first.number -= DEV_STREAM_DEPTH - 1;
	dev_timeline_point_wait_locked(&first);
	dev_timeline_unref_locked(first.timeline);
}

static CUresult stream_submit(struct dev_stream *stream, struct dev_command *command,
			      struct dev_mark *mark)
{
	CUresult result;
	int r;

	dev_timeline_lock();
	while (stream->n_queued >= DEV_STREAM_DEPTH)
		wait_for_slot_locked(stream);
	if (stream->capture) {
		result = dev_capture_append_locked(stream, command);
		dev_timeline_unlock();
		if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
			dev_command_free(command);
		return result;
	}
	if (stream->is_legacy && dev_capture_bars_legacy_locked(stream->context)) {
		dev_timeline_unlock();
		dev_command_free(command);
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	r = submit_locked(stream, command);
	if (!r && mark)
		mark->point = dev_timeline_stream_point_locked(stream);
	dev_timeline_unlock();
	if (r) {
		dev_command_free(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

CUresult dev_stream_submit(struct dev_stream *stream, struct dev_command *command)
{
	return stream_submit(stream, command, NULL);
}

CUresult dev_stream_submit_mark(struct dev_stream *stream, struct dev_command *command)
{
	return stream_submit(stream, command, command->mark);
}

CUresult dev_stream_synchronize(struct dev_stream *stream)
{
	struct dev_context *context = stream->context;
	struct dev_point point = dev_timeline_stream_point(stream);

	if (stream->is_legacy) {
		struct dev_stream *other;

		dev_timeline_lock();
	again:
		LIST_FOREACH (other, &context->streams, link) {
			struct dev_point its = { other->timeline, other->timeline->n_submitted };

			if (!is_blocking(other) || dev_timeline_point_is_done_locked(&its))
				continue;
			its = dev_timeline_stream_point_locked(other);
			dev_timeline_point_wait_locked(&its);
			dev_timeline_unref_locked(its.timeline);
			goto again;
		}
		dev_timeline_unlock();
	}
	dev_timeline_lock();
	help_locked(stream, &point);
	dev_timeline_unref_locked(point.timeline);
	dev_timeline_unlock();
	return dev_context_error(context);
}

bool dev_stream_is_idle(struct dev_stream *stream)
{
	struct dev_stream *other;
	bool idle;

	dev_timeline_lock();
	idle = !stream->n_queued;
	if (stream->is_legacy)
		LIST_FOREACH (other, &stream->context->streams, link)
			if (is_blocking(other) && other->n_queued)
				idle = false;
	dev_timeline_unlock();
	return idle;
}

bool dev_stream_all_idle_locked(void)
{
	return !n_pending;
}

void dev_stream_wait_all_idle(uint64_t until_ns)
{
	dev_timeline_lock();
	while (n_pending && !dev_timeline_wait_until_locked(until_ns))
		;
	dev_timeline_unlock();
}

void dev_stream_drain(struct dev_context *context)
{
	struct place {
		struct dev_stream *stream;
		struct dev_point point;
	} * places;
	struct dev_stream *stream;
	size_t n = 0, i = 0;

	dev_timeline_lock();
	LIST_FOREACH (stream, &context->streams, link)
		n++;
	places = calloc(n ? n : 1, sizeof(*places));
	LIST_FOREACH (stream, &context->streams, link)
		if (places)
			places[i++] =
				(struct place){ stream, dev_timeline_stream_point_locked(stream) };
	/* without memory for the list: until there is a moment in which nothing is queued */
	for (bool busy = !places; busy;) {
		busy = false;
		LIST_FOREACH (stream, &context->streams, link)
			busy = busy || stream->n_queued;
		if (busy)
			dev_timeline_wait_locked(NULL);
	}
	for (i = 0; places && i < n; i++) {
		help_locked(places[i].stream, &places[i].point);
		dev_timeline_unref_locked(places[i].point.timeline);
	}
	dev_timeline_unlock();
	free(places);
}
