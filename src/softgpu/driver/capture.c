/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/capture.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "softgpu/driver/command.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/event.h"
#include "softgpu/driver/graph.h"

struct slu_capture {
	struct slu_object object;
	LIST_ENTRY(slu_capture) link;
	unsigned long long id;
	struct slu_stream *origin;
	struct slu_graph *graph;
	CUstreamCaptureMode mode;
	pthread_t thread;
	bool is_spoiled;
};

/* all guarded by the queues' lock */
static struct slu_objects objects = SLU_OBJECTS_INIT(struct slu_capture);
static LIST_HEAD(, slu_capture) captures = LIST_HEAD_INITIALIZER(captures);
static unsigned long long last_id;

static unsigned n_captures; /* atomic: lets everybody else pass without the lock */

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void detach_locked(struct slu_capture *capture)
{
	struct slu_stream *stream;

	LIST_FOREACH (stream, &capture->origin->context->streams, link)
		if (stream->capture == capture) {
			stream->capture = NULL;
			stream->capture_tail = NULL;
		}
	LIST_REMOVE(capture, link);
	__atomic_sub_fetch(&n_captures, 1, __ATOMIC_RELEASE);
	slu_objects_free(&objects, capture);
}

CUresult slu_capture_begin(struct slu_stream *stream, CUstreamCaptureMode mode)
{
	struct slu_capture *capture;

	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	slu_stream_lock();
	if (stream->capture) {
		slu_stream_unlock();
		return CUDA_ERROR_ILLEGAL_STATE;
	}
	capture = slu_objects_new(&objects);
	if (capture)
		capture->graph = slu_graph_new();
	if (!capture || !capture->graph) {
		slu_objects_free(&objects, capture);
		slu_stream_unlock();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->id = ++last_id;
	capture->origin = stream;
	capture->mode = mode;
	capture->thread = pthread_self();
	LIST_INSERT_HEAD(&captures, capture, link);
	__atomic_add_fetch(&n_captures, 1, __ATOMIC_RELEASE);
	stream->capture = capture;
	slu_stream_unlock();
	return CUDA_SUCCESS;
}

/* Every stream that joined must have been waited for. */
static bool is_joined_locked(const struct slu_capture *capture)
{
	const struct slu_stream *stream;

	LIST_FOREACH (stream, &capture->origin->context->streams, link)
		if (stream->capture == capture && stream->capture_tail &&
		    !slu_graph_follows(capture->origin->capture_tail, stream->capture_tail))
			return false;
	return true;
}

CUresult slu_capture_end(struct slu_stream *stream, CUgraph *ret_graph)
{
	CUresult result = CUDA_SUCCESS;
	struct slu_capture *capture;
	struct slu_graph *graph;

	slu_stream_lock();
	capture = stream->capture;
	if (!capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (capture->origin != stream)
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		 !pthread_equal(capture->thread, pthread_self()))
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (result) {
		slu_stream_unlock();
		return result;
	}
	graph = capture->graph;
	if (capture->is_spoiled)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined_locked(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	detach_locked(capture);
	slu_stream_unlock();
	if (result) {
		slu_graph_free(graph);
		graph = NULL;
	}
	*ret_graph = (CUgraph)(void *)graph;
	return result;
}

void slu_capture_state(struct slu_stream *stream, CUstreamCaptureStatus *ret_status,
		       unsigned long long *ret_id, CUgraph *ret_graph)
{
	slu_stream_lock();
	if (!stream->capture) {
		*ret_status = CU_STREAM_CAPTURE_STATUS_NONE;
		*ret_id = 0;
		*ret_graph = NULL;
	} else {
		*ret_status = stream->capture->is_spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
							  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
		*ret_id = stream->capture->id;
		*ret_graph = (CUgraph)(void *)stream->capture->graph;
	}
	slu_stream_unlock();
}

CUresult slu_capture_exchange_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	if (*mode != CU_STREAM_CAPTURE_MODE_GLOBAL &&
	    *mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && *mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static bool bars_this_thread(const struct slu_capture *capture)
{
	if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (pthread_equal(capture->thread, pthread_self()))
		return true;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult slu_capture_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;
	struct slu_capture *capture;

	if (!__atomic_load_n(&n_captures, __ATOMIC_ACQUIRE) ||
	    thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	slu_stream_lock();
	LIST_FOREACH (capture, &captures, link)
		if (bars_this_thread(capture)) {
			capture->is_spoiled = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	slu_stream_unlock();
	return result;
}

CUresult slu_capture_no_sync(struct slu_stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	slu_stream_lock();
	if (stream->capture) {
		stream->capture->is_spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else if (stream->is_legacy && slu_capture_bars_legacy_locked(stream->context)) {
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	slu_stream_unlock();
	return result;
}

CUresult slu_capture_append_locked(struct slu_stream *stream, struct slu_command *command)
{
	struct slu_capture *capture = stream->capture;
	struct slu_graph_node *node = NULL;

	if (capture->is_spoiled) {
		/* freeing may need the lock that we hold only for commands with dependencies */
		slu_command_free(command);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	node = slu_graph_add(capture->graph, command, &stream->capture_tail,
			     stream->capture_tail ? 1 : 0);
	if (!node) {
		capture->is_spoiled = true;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	stream->capture_tail = node;
	return CUDA_SUCCESS;
}

bool slu_capture_bars_legacy_locked(struct slu_context *context)
{
	struct slu_stream *stream;
	bool bars = false;

	LIST_FOREACH (stream, &context->streams, link)
		if (stream->capture && !(stream->flags & CU_STREAM_NON_BLOCKING)) {
			stream->capture->is_spoiled = true;
			bars = true;
		}
	return bars;
}

bool slu_capture_record(struct slu_event *event, struct slu_stream *stream)
{
	bool captures_it;

	slu_stream_lock();
	captures_it = stream->capture != NULL;
	if (captures_it) {
		event->capture = stream->capture;
		event->capture_id = stream->capture->id;
		event->capture_node = stream->capture_tail;
	}
	slu_stream_unlock();
	return captures_it;
}

static struct slu_capture *capture_of_locked(const struct slu_event *event)
{
	struct slu_capture *capture = slu_objects_get(&objects, event->capture);

	return capture && capture->id == event->capture_id ? capture : NULL;
}

/* From here on the stream waits for both. */
static CUresult join_locked(struct slu_stream *stream, struct slu_graph_node *node)
{
	struct slu_graph_node *both[] = { stream->capture_tail, node };
	struct slu_command *empty;

	if (!node || slu_graph_follows(stream->capture_tail, node))
		return CUDA_SUCCESS;
	if (!stream->capture_tail) {
		stream->capture_tail = node;
		return CUDA_SUCCESS;
	}
	empty = slu_command_new(SLU_COMMAND_EMPTY);
	node = empty ? slu_graph_add(stream->capture->graph, empty, both, 2) : NULL;
	if (!node) {
		stream->capture->is_spoiled = true;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	stream->capture_tail = node;
	return CUDA_SUCCESS;
}

CUresult slu_capture_wait(struct slu_event *event, struct slu_stream *stream)
{
	CUresult result = CUDA_ERROR_NOT_FOUND;
	struct slu_capture *capture;

	if (!__atomic_load_n(&n_captures, __ATOMIC_ACQUIRE))
		return CUDA_ERROR_NOT_FOUND;
	slu_stream_lock();
	capture = capture_of_locked(event);
	if (capture && !stream->capture && stream->is_legacy) {
		capture->is_spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	} else if (capture && (!stream->capture || stream->capture == capture)) {
		stream->capture = capture;
		result = join_locked(stream, event->capture_node);
	} else if (capture) {
		capture->is_spoiled = true;
		stream->capture->is_spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_MERGE;
	} else if (stream->capture) {
		stream->capture->is_spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	slu_stream_unlock();
	return result;
}

bool slu_capture_has_event(struct slu_event *event)
{
	bool has;

	if (!__atomic_load_n(&n_captures, __ATOMIC_ACQUIRE))
		return false;
	slu_stream_lock();
	has = capture_of_locked(event) != NULL;
	slu_stream_unlock();
	return has;
}

void slu_capture_drop_stream(struct slu_stream *stream)
{
	slu_stream_lock();
	if (stream->capture && stream->capture->origin == stream) {
		slu_graph_free(stream->capture->graph);
		detach_locked(stream->capture);
	}
	slu_stream_unlock();
}

void slu_capture_drop_context(struct slu_context *context)
{
	struct slu_capture *capture, *next;

	slu_stream_lock();
	for (capture = LIST_FIRST(&captures); capture; capture = next) {
		next = LIST_NEXT(capture, link);
		if (capture->origin->context == context) {
			slu_graph_free(capture->graph);
			detach_locked(capture);
		}
	}
	slu_stream_unlock();
}
