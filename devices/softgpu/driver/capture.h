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

struct slu_command;
struct slu_context;
struct slu_event;
struct slu_graph;
struct slu_graph_node;
struct slu_stream;

/* @graph: what to record into, behind @deps; NULL: a new one. */
CUresult slu_capture_begin(struct slu_stream *stream, CUstreamCaptureMode mode,
			   struct slu_graph *graph, struct slu_graph_node *const *deps, size_t n);
/* @ret_graph may be NULL where the program gave the graph. */
CUresult slu_capture_end(struct slu_stream *stream, CUgraph *ret_graph);
void slu_capture_state(struct slu_stream *stream, CUstreamCaptureStatus *ret_status,
		       unsigned long long *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_tail,
		       size_t *ret_n);

/* The stream's next work waits for @nodes; @keeps_old: and for what it waits for already. */
CUresult slu_capture_set_tail(struct slu_stream *stream, struct slu_graph_node *const *nodes,
			      size_t n, bool keeps_old);

/* The calling thread's mode becomes *mode, and *mode what it was. */
CUresult slu_capture_exchange_mode(CUstreamCaptureMode *mode);

/* In front of an unsafe call. Return: CUDA_SUCCESS, or the error that it shall give. */
CUresult slu_capture_unsafe(void);

/* In front of a call that looks at a stream: an error if it captures, which that spoils. */
CUresult slu_capture_no_sync(struct slu_stream *stream);

/* With the queues' lock held: records @command, and owns it unless the answer is INVALIDATED. */
CUresult slu_capture_append_locked(struct slu_stream *stream, struct slu_command *command);

/* With the queues' lock held: whether work in the legacy stream is barred, which spoils it. */
bool slu_capture_bars_legacy_locked(struct slu_context *context);

/* Records @event in the capture of @stream. Return: whether that captures. */
bool slu_capture_record(struct slu_event *event, struct slu_stream *stream);

/* @stream waits for @event. Return: NOT_FOUND where no capture has to do with it. */
CUresult slu_capture_wait(struct slu_event *event, struct slu_stream *stream);

/* Whether @event was recorded last in a capture that is still going on. */
bool slu_capture_has_event(struct slu_event *event);

/* The stream ends: what it began to capture is forgotten. */
void slu_capture_drop_stream(struct slu_stream *stream);

/* The context ends: its captures are forgotten. */
void slu_capture_drop_context(struct slu_context *context);
