/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/capture.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "softgpu/driver/context.h"
#include "softgpu/driver/execution/command.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/graph.h"

struct dev_capture {
	struct dev_object object;
	LIST_ENTRY(dev_capture) link;
	unsigned long long id;
	struct dev_stream *origin;
	struct dev_graph *graph;
	CUstreamCaptureMode mode;
	pthread_t thread;
	bool is_spoiled;
	bool is_given; /* the graph is the program's, which gave it */
};

/* all guarded by the queues' lock */
static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_capture);
static LIST_HEAD(, dev_capture) captures = LIST_HEAD_INITIALIZER(captures);
static unsigned long long last_id;

static unsigned n_captures; /* atomic: lets everybody else pass without the lock */

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void detach_locked(struct dev_capture *capture)
{
	struct dev_stream *stream;

	LIST_FOREACH (stream, &capture->origin->context->streams, link)
		if (stream->capture == capture) {
			stream->capture = NULL;
			stream->capture_tail = NULL;
		}
	LIST_REMOVE(capture, link);
	__atomic_sub_fetch(&n_captures, 1, __ATOMIC_RELEASE);
	dev_object_free(&objects, capture);
}

/* Makes @nodes what the next work of @stream waits for. */
static CUresult set_tail_locked(struct dev_stream *stream, struct dev_graph_node *const *nodes,
				size_t n)
{
	struct dev_graph_node *node = n ? nodes[0] : NULL;
	struct dev_command *empty;

	if (n > 1) {
		empty = dev_command_new(DEV_COMMAND_EMPTY);
		node = empty ? dev_graph_add(stream->capture->graph, empty, nodes, n) : NULL;
		if (!node) {
			stream->capture->is_spoiled = true;
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	stream->capture_tail = node;
	return CUDA_SUCCESS;
}

CUresult dev_capture_begin(struct dev_stream *stream, CUstreamCaptureMode mode,
			   struct dev_graph *graph, struct dev_graph_node *const *deps, size_t n)
{
	struct dev_capture *capture;
	CUresult result;

	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	dev_timeline_lock();
	if (stream->capture) {
		dev_timeline_unlock();
		return CUDA_ERROR_ILLEGAL_STATE;
	}
	capture = dev_object_new(&objects);
	if (capture) {
		capture->graph = graph ? graph : dev_graph_new();
		capture->is_given = graph != NULL;
	}
	if (!capture || !capture->graph) {
		dev_object_free(&objects, capture);
		dev_timeline_unlock();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->id = ++last_id;
	capture->origin = stream;
	capture->mode = mode;
	capture->thread = pthread_self();
	LIST_INSERT_HEAD(&captures, capture, link);
	__atomic_add_fetch(&n_captures, 1, __ATOMIC_RELEASE);
	stream->capture = capture;
	result = set_tail_locked(stream, deps, n);
	dev_timeline_unlock();
	return result;
}

CUresult dev_capture_set_tail(struct dev_stream *stream, struct dev_graph_node *const *nodes,
			      size_t n, bool keeps_old)
{
	struct dev_graph_node **all = calloc(n + 1, sizeof(*all));
	CUresult result = CUDA_ERROR_ILLEGAL_STATE;
	size_t n_all = 0;

	if (!all)
		return CUDA_ERROR_OUT_OF_MEMORY;
	dev_timeline_lock();
	if (stream->capture && stream->capture->is_spoiled) {
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else if (stream->capture) {
		if (keeps_old && stream->capture_tail)
			all[n_all++] = stream->capture_tail;
		for (size_t i = 0; i < n; i++)
			if (!n_all || nodes[i] != all[0])
				all[n_all++] = nodes[i];
		result = set_tail_locked(stream, all, n_all);
	}
	dev_timeline_unlock();
	free(all);
	return result;
}

/* Every stream that joined must have been waited for. */
static bool is_joined_locked(const struct dev_capture *capture)
{
	const struct dev_stream *stream;

	LIST_FOREACH (stream, &capture->origin->context->streams, link)
		if (stream->capture == capture && stream->capture_tail &&
		    !dev_graph_follows(capture->origin->capture_tail, stream->capture_tail))
			return false;
	return true;
}

CUresult dev_capture_end(struct dev_stream *stream, CUgraph *ret_graph)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_capture *capture;
	struct dev_graph *graph;
	bool is_given;

	dev_timeline_lock();
	capture = stream->capture;
	if (!capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (capture->origin != stream)
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		 !pthread_equal(capture->thread, pthread_self()))
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	else if (!ret_graph && !capture->is_given)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result) {
		dev_timeline_unlock();
		return result;
	}
	graph = capture->graph;
	is_given = capture->is_given;
	if (capture->is_spoiled)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined_locked(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	detach_locked(capture);
	dev_timeline_unlock();
	if (result) {
		if (!is_given)
			dev_graph_free(graph);
		graph = NULL;
	}
	if (ret_graph)
		*ret_graph = (CUgraph)(void *)graph;
	return result;
}

void dev_capture_state(struct dev_stream *stream, CUstreamCaptureStatus *ret_status,
		       unsigned long long *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_tail,
		       size_t *ret_n)
{
	dev_timeline_lock();
	/* told by address: it holds until the stream's next work */
	*ret_tail = (const CUgraphNode *)(const void *)&stream->capture_tail;
	*ret_n = stream->capture && stream->capture_tail ? 1 : 0;
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
	dev_timeline_unlock();
}

CUresult dev_capture_exchange_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	if (*mode != CU_STREAM_CAPTURE_MODE_GLOBAL &&
	    *mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && *mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static bool bars_this_thread(const struct dev_capture *capture)
{
	if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (pthread_equal(capture->thread, pthread_self()))
		return true;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult dev_capture_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_capture *capture;

	if (!__atomic_load_n(&n_captures, __ATOMIC_ACQUIRE) ||
	    thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	dev_timeline_lock();
	LIST_FOREACH (capture, &captures, link)
		if (bars_this_thread(capture)) {
			capture->is_spoiled = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	dev_timeline_unlock();
	return result;
}

CUresult dev_capture_no_sync(struct dev_stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	dev_timeline_lock();
	if (stream->capture) {
		stream->capture->is_spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else if (stream->is_legacy && dev_capture_bars_legacy_locked(stream->context)) {
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	dev_timeline_unlock();
	return result;
}

CUresult dev_capture_append_locked(struct dev_stream *stream, struct dev_command *command)
{
	struct dev_capture *capture = stream->capture;
	struct dev_graph_node *node = NULL;

	if (capture->is_spoiled)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	node = dev_graph_add(capture->graph, command, &stream->capture_tail,
			     stream->capture_tail ? 1 : 0);
	if (!node) {
		capture->is_spoiled = true;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	stream->capture_tail = node;
	return CUDA_SUCCESS;
}

bool dev_capture_bars_legacy_locked(struct dev_context *context)
{
	struct dev_stream *stream;
	bool bars = false;

	LIST_FOREACH (stream, &context->streams, link)
		if (stream->capture && !(stream->flags & CU_STREAM_NON_BLOCKING)) {
			stream->capture->is_spoiled = true;
			bars = true;
		}
	return bars;
}

bool dev_capture_record(struct dev_event *event, struct dev_stream *stream)
{
	bool captures_it;

	dev_timeline_lock();
	captures_it = stream->capture != NULL;
	if (captures_it) {
		event->capture = stream->capture;
		event->capture_id = stream->capture->id;
		event->capture_node = stream->capture_tail;
	}
	dev_timeline_unlock();
	return captures_it;
}

static struct dev_capture *capture_of_locked(const struct dev_event *event)
{
	struct dev_capture *capture = dev_object_get(&objects, event->capture);

	return capture && capture->id == event->capture_id ? capture : NULL;
}

/* From here on the stream waits for both. */
static CUresult join_locked(struct dev_stream *stream, struct dev_graph_node *node)
{
	struct dev_graph_node *both[] = { node, stream->capture_tail };

	if (!node || dev_graph_follows(stream->capture_tail, node))
		return CUDA_SUCCESS;
	return set_tail_locked(stream, both, stream->capture_tail ? 2 : 1);
}

CUresult dev_capture_wait(struct dev_event *event, struct dev_stream *stream)
{
	CUresult result = CUDA_ERROR_NOT_FOUND;
	struct dev_capture *capture;

	if (!__atomic_load_n(&n_captures, __ATOMIC_ACQUIRE))
		return CUDA_ERROR_NOT_FOUND;
	dev_timeline_lock();
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
	dev_timeline_unlock();
	return result;
}

bool dev_capture_has_event(struct dev_event *event)
{
	bool has;

	if (!__atomic_load_n(&n_captures, __ATOMIC_ACQUIRE))
		return false;
	dev_timeline_lock();
	has = capture_of_locked(event) != NULL;
	dev_timeline_unlock();
	return has;
}

/* Return: the graph that is to be freed when the lock is given; NULL: none. */
static struct dev_graph *drop_locked(struct dev_capture *capture)
{
	struct dev_graph *graph = capture->is_given ? NULL : capture->graph;

	detach_locked(capture);
	return graph;
}

void dev_capture_drop_stream(struct dev_stream *stream)
{
	struct dev_graph *graph = NULL;

	dev_timeline_lock();
	if (stream->capture && stream->capture->origin == stream)
		graph = drop_locked(stream->capture);
	dev_timeline_unlock();
	dev_graph_free(graph);
}

void dev_capture_drop_context(struct dev_context *context)
{
	struct dev_capture *capture;
	struct dev_graph *graph;

	do {
		dev_timeline_lock();
		LIST_FOREACH (capture, &captures, link)
			if (capture->origin->context == context)
				break;
		graph = capture ? drop_locked(capture) : NULL;
		dev_timeline_unlock();
		dev_graph_free(graph);
	} while (capture);
}
