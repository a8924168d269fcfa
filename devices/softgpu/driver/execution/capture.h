/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stream capture: work submitted to a stream is recorded into a graph instead of being done.
 *
 *   NONE ─begin─▶ ACTIVE ─end─▶ NONE                  a graph
 *                   └─an unsafe call─▶ INVALIDATED ─end─▶ NONE      an error
 *
 * A stream joins a capture by waiting for an event that was recorded in it. Calls that could
 * synchronise behind the program's back ("unsafe") are barred by mode: a capture in GLOBAL mode
 * bars them on every thread whose own mode is GLOBAL; a capture begun by a thread, unless RELAXED,
 * bars them on that thread unless its mode is RELAXED. A barred call fails and spoils the capture:
 * that is what a guest in a program must not do, and what this makes visible.
 */

#include <stdbool.h>

#include "cuabi/cuda-min.h"

struct dev_command;
struct dev_context;
struct dev_event;
struct dev_graph;
struct dev_graph_node;
struct dev_stream;

/* @graph: what to record into, behind @deps; NULL: a new one. */
CUresult dev_capture_begin(struct dev_stream *stream, CUstreamCaptureMode mode,
			   struct dev_graph *graph, struct dev_graph_node *const *deps, size_t n);
/* @ret_graph may be NULL where the program gave the graph. */
CUresult dev_capture_end(struct dev_stream *stream, CUgraph *ret_graph);
void dev_capture_state(struct dev_stream *stream, CUstreamCaptureStatus *ret_status,
		       unsigned long long *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_tail,
		       size_t *ret_n);

/* The stream's next work waits for @nodes; @keeps_old: and for what it waits for already. */
CUresult dev_capture_set_tail(struct dev_stream *stream, struct dev_graph_node *const *nodes,
			      size_t n, bool keeps_old);

/* The calling thread's mode becomes *mode, and *mode what it was. */
CUresult dev_capture_exchange_mode(CUstreamCaptureMode *mode);

/* In front of an unsafe call. Return: CUDA_SUCCESS, or the error that it shall give. */
CUresult dev_capture_unsafe(void);

/* In front of a call that looks at a stream: an error if it captures, which that spoils. */
CUresult dev_capture_no_sync(struct dev_stream *stream);

/* With the queues' lock held: records @command, and owns it unless the answer is INVALIDATED. */
CUresult dev_capture_append_locked(struct dev_stream *stream, struct dev_command *command);

/* With the queues' lock held: whether work in the legacy stream is barred, which spoils it. */
bool dev_capture_bars_legacy_locked(struct dev_context *context);

/* Records @event in the capture of @stream. Return: whether that captures. */
bool dev_capture_record(struct dev_event *event, struct dev_stream *stream);

/* @stream waits for @event. Return: NOT_FOUND where no capture has to do with it. */
CUresult dev_capture_wait(struct dev_event *event, struct dev_stream *stream);

/* Whether @event was recorded last in a capture that is still going on. */
bool dev_capture_has_event(struct dev_event *event);

/* The stream ends: what it began to capture is forgotten. */
void dev_capture_drop_stream(struct dev_stream *stream);

/* The context ends: its captures are forgotten. */
void dev_capture_drop_context(struct dev_context *context);
