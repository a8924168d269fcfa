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
#include "softgpu/driver/execution/stream.h"

struct dev_mark {
	unsigned n_refs; /* guarded by the queues' lock, as everything here */
	struct dev_point point;
	uint64_t time_ns; /* the device's time; valid when the point is done */
};

struct dev_event {
	struct dev_object object;
	struct dev_context *context; /* constant, as the flags */
	unsigned flags;
	struct dev_mark *mark;	     /* NULL: never recorded */
	struct dev_capture *capture; /* recorded inside this capture last; may be gone */
	unsigned long long capture_id;
	struct dev_graph_node *capture_node;
	struct dev_card_ticket ticket; /* of one that several processes know; else zeros */
	bool is_shared, is_opened;     /* … and of one that another process made; constant */
};

CUresult dev_event_new(struct dev_context *context, unsigned flags, struct dev_event **ret_event);

/* One that another process made. Return: INVALID_VALUE where that is gone. */
CUresult dev_event_open(struct dev_context *context, const struct dev_card_ticket *ticket,
			struct dev_event **ret_event);
void dev_event_free(struct dev_event *event);
struct dev_event *dev_event_get(CUevent handle);

CUresult dev_event_record(struct dev_event *event, struct dev_stream *stream);
CUresult dev_event_wait_in(struct dev_event *event, struct dev_stream *stream);

/* Whether what was recorded last is reached; @wait: until it is. */
bool dev_event_is_reached(struct dev_event *event, bool wait);

/* A hold on the newest mark; NULL if there is none. */
struct dev_mark *dev_event_mark(struct dev_event *event);
void dev_event_mark_unref(struct dev_mark *mark);
