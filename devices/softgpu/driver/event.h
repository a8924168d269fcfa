/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Events. Recording one makes a new mark: a place in a stream, and later the time when it was
 * reached. The event shows the newest mark; whoever waits for an older one keeps that.
 *
 * An event that several processes know has, in place of marks, an entry on the card with two
 * numbers: recorded so often, reached so often.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/card-export.h"
#include "softgpu/driver/stream.h"

struct slu_mark {
	unsigned n_refs; /* guarded by the queues' lock, as everything here */
	struct slu_point point;
	uint64_t time_ns; /* the device's time; valid when the point is done */
};

struct slu_event {
	struct slu_object object;
	struct slu_context *context; /* constant, as the flags */
	unsigned flags;
	struct slu_mark *mark;	     /* NULL: never recorded */
	struct slu_capture *capture; /* recorded inside this capture last; may be gone */
	unsigned long long capture_id;
	struct slu_graph_node *capture_node;
	struct slu_card_ticket ticket; /* of one that several processes know; else zeros */
	bool is_shared, is_opened;     /* … and of one that another process made; constant */
};

CUresult slu_event_new(struct slu_context *context, unsigned flags, struct slu_event **ret_event);

/* One that another process made. Return: INVALID_VALUE where that is gone. */
CUresult slu_event_open(struct slu_context *context, const struct slu_card_ticket *ticket,
			struct slu_event **ret_event);
void slu_event_free(struct slu_event *event);
struct slu_event *slu_event_get(CUevent handle);

CUresult slu_event_record(struct slu_event *event, struct slu_stream *stream);
CUresult slu_event_wait_in(struct slu_event *event, struct slu_stream *stream);

/* Whether what was recorded last is reached; @wait: until it is. */
bool slu_event_is_reached(struct slu_event *event, bool wait);

/* A hold on the newest mark; NULL if there is none. */
struct slu_mark *slu_event_mark(struct slu_event *event);
void slu_mark_unref(struct slu_mark *mark);
