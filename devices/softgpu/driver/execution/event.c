/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/event.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/execution/capture.h"
#include "softgpu/driver/execution/command.h"

#define POLL_NS (50 * SLU_NS_PER_US)

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_event);

CUresult dev_event_new(struct dev_context *context, unsigned flags, struct dev_event **ret_event)
{
	struct dev_event *event = dev_object_new(&objects);

	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = flags;
	if (flags & CU_EVENT_INTERPROCESS) {
		if (dev_card_event_new(context->card, &event->ticket)) {
			dev_object_free(&objects, event);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		event->is_shared = true;
	}
	*ret_event = event;
	return CUDA_SUCCESS;
}

CUresult dev_event_open(struct dev_context *context, const struct dev_card_ticket *ticket,
			struct dev_event **ret_event)
{
	struct dev_event *event;

	if (!dev_card_event_exists(context->card, ticket))
		return CUDA_ERROR_INVALID_VALUE;
	event = dev_object_new(&objects);
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
	event->ticket = *ticket;
	event->is_shared = event->is_opened = true;
	*ret_event = event;
	return CUDA_SUCCESS;
}

/* -- events that several processes know ----------------------------------------------------- */

static CUresult submit_signal(struct dev_event *event, struct dev_stream *stream,
			      enum dev_command_kind kind, uint64_t number)
{
	struct dev_command *command = dev_command_new(kind);

	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->signal.ticket = event->ticket;
	command->signal.number = number;
	return dev_stream_submit(stream, command);
}

static CUresult record_shared(struct dev_event *event, struct dev_stream *stream)
{
	uint64_t number;

	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	number = dev_card_event_record(stream->context->card, &event->ticket);
	return submit_signal(event, stream, DEV_COMMAND_SIGNAL, number);
}

static CUresult wait_shared(struct dev_event *event, struct dev_stream *stream)
{
	struct dev_card *card = stream->context->card;
	uint64_t number = dev_card_event_newest(card, &event->ticket);

	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (dev_card_event_is_reached(card, &event->ticket, number))
		return CUDA_SUCCESS;
	return submit_signal(event, stream, DEV_COMMAND_LISTEN, number);
}

bool dev_event_is_reached(struct dev_event *event, bool wait)
{
	struct dev_mark *mark;
	bool is_reached;

	if (event->is_shared) {
		struct dev_card *card = event->context->card;
		uint64_t number = dev_card_event_newest(card, &event->ticket);

		do {
			is_reached = dev_card_event_is_reached(card, &event->ticket, number);
			if (!is_reached && wait)
				dev_card_sleep_until(slu_clock_now_ns() + POLL_NS);
		} while (!is_reached && wait);
		return is_reached;
	}
	mark = dev_event_mark(event);
	if (mark && wait)
		dev_timeline_point_wait(&mark->point);
	is_reached = !mark || dev_timeline_point_is_done(&mark->point);
	dev_event_mark_unref(mark);
	return is_reached;
}

/* -- all events ----------------------------------------------------------------------------- */

void dev_event_free(struct dev_event *event)
{
	if (event->is_shared && !event->is_opened)
		dev_card_event_free(event->context->card, &event->ticket);
	dev_event_mark_unref(event->mark);
	dev_object_free(&objects, event);
}

struct dev_event *dev_event_get(CUevent handle)
{
	return dev_object_get(&objects, handle);
}

void dev_event_mark_unref(struct dev_mark *mark)
{
	bool last;

	if (!mark)
		return;
	dev_timeline_lock();
	last = !--mark->n_refs;
	dev_timeline_unlock();
	if (last) {
		dev_timeline_point_drop(&mark->point);
		free(mark);
	}
}

struct dev_mark *dev_event_mark(struct dev_event *event)
{
	struct dev_mark *mark;

	dev_timeline_lock();
	mark = event->mark;
	if (mark)
		mark->n_refs++;
	dev_timeline_unlock();
	return mark;
}

CUresult dev_event_record(struct dev_event *event, struct dev_stream *stream)
{
	struct dev_command *command;
	struct dev_mark *mark, *old;
	CUresult result;

	if (event->is_shared)
		return record_shared(event, stream);
	if (dev_capture_record(event, stream))
		return CUDA_SUCCESS;
	command = dev_command_new(DEV_COMMAND_MARK);
	mark = calloc(1, sizeof(*mark));
	if (!command || !mark) {
		free(mark);
		dev_command_free(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	mark->n_refs = 2; /* the command's and ours */
	command->mark = mark;
	result = dev_stream_submit_mark(stream, command);
	if (result) {
		dev_event_mark_unref(mark);
		return result;
	}
	dev_timeline_lock();
	old = event->mark;
	event->mark = mark;
	event->capture = NULL;
	dev_timeline_unlock();
	dev_event_mark_unref(old);
	return CUDA_SUCCESS;
}

CUresult dev_event_wait_in(struct dev_event *event, struct dev_stream *stream)
{
	struct dev_command *command;
	struct dev_mark *mark;
	struct dev_point point;
	CUresult result;

	if (event->is_shared)
		return wait_shared(event, stream);
	result = dev_capture_wait(event, stream);
	if (result != CUDA_ERROR_NOT_FOUND)
		return result;
	mark = dev_event_mark(event);
	if (!mark || dev_timeline_point_is_done(&mark->point)) {
		dev_event_mark_unref(mark);
		return CUDA_SUCCESS;
	}
	command = dev_command_new(DEV_COMMAND_EMPTY);
	dev_timeline_lock();
	point = mark->point;
	point.timeline->n_refs++;
	dev_timeline_unlock();
	dev_event_mark_unref(mark);
	if (!command || dev_command_depend(command, point)) {
		dev_command_free(command);
		dev_timeline_point_drop(&point);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return dev_stream_submit(stream, command);
}
