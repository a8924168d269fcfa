/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/event.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/command.h"
#include "softgpu/driver/context.h"

#define POLL_NS (50 * SLU_NS_PER_US)

static struct slu_objects objects = SLU_OBJECTS_INIT(struct slu_event);

CUresult slu_event_new(struct slu_context *context, unsigned flags, struct slu_event **ret_event)
{
	struct slu_event *event = slu_objects_new(&objects);

	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = flags;
	if (flags & CU_EVENT_INTERPROCESS) {
		if (slu_card_event_new(context->card, &event->ticket)) {
			slu_objects_free(&objects, event);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		event->is_shared = true;
	}
	*ret_event = event;
	return CUDA_SUCCESS;
}

CUresult slu_event_open(struct slu_context *context, const struct slu_card_ticket *ticket,
			struct slu_event **ret_event)
{
	struct slu_event *event;

	if (!slu_card_event_exists(context->card, ticket))
		return CUDA_ERROR_INVALID_VALUE;
	event = slu_objects_new(&objects);
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

static CUresult submit_signal(struct slu_event *event, struct slu_stream *stream,
			      enum slu_command_kind kind, uint64_t number)
{
	struct slu_command *command = slu_command_new(kind);

	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->signal.ticket = event->ticket;
	command->signal.number = number;
	return slu_stream_submit(stream, command);
}

static CUresult record_shared(struct slu_event *event, struct slu_stream *stream)
{
	uint64_t number;

	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	number = slu_card_event_record(stream->context->card, &event->ticket);
	return submit_signal(event, stream, SLU_COMMAND_SIGNAL, number);
}

static CUresult wait_shared(struct slu_event *event, struct slu_stream *stream)
{
	struct slu_card *card = stream->context->card;
	uint64_t number = slu_card_event_newest(card, &event->ticket);

	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (slu_card_event_is_reached(card, &event->ticket, number))
		return CUDA_SUCCESS;
	return submit_signal(event, stream, SLU_COMMAND_LISTEN, number);
}

bool slu_event_is_reached(struct slu_event *event, bool wait)
{
	struct slu_mark *mark;
	bool is_reached;

	if (event->is_shared) {
		struct slu_card *card = event->context->card;
		uint64_t number = slu_card_event_newest(card, &event->ticket);

		do {
			is_reached = slu_card_event_is_reached(card, &event->ticket, number);
			if (!is_reached && wait)
				slu_card_sleep_until(slu_clock_now_ns() + POLL_NS);
		} while (!is_reached && wait);
		return is_reached;
	}
	mark = slu_event_mark(event);
	if (mark && wait)
		slu_point_wait(&mark->point);
	is_reached = !mark || slu_point_is_done(&mark->point);
	slu_mark_unref(mark);
	return is_reached;
}

/* -- all events ----------------------------------------------------------------------------- */

void slu_event_free(struct slu_event *event)
{
	if (event->is_shared && !event->is_opened)
		slu_card_event_free(event->context->card, &event->ticket);
	slu_mark_unref(event->mark);
	slu_objects_free(&objects, event);
}

struct slu_event *slu_event_get(CUevent handle)
{
	return slu_objects_get(&objects, handle);
}

void slu_mark_unref(struct slu_mark *mark)
{
	bool last;

	if (!mark)
		return;
	slu_stream_lock();
	last = !--mark->n_refs;
	slu_stream_unlock();
	if (last) {
		slu_point_drop(&mark->point);
		free(mark);
	}
}

struct slu_mark *slu_event_mark(struct slu_event *event)
{
	struct slu_mark *mark;

	slu_stream_lock();
	mark = event->mark;
	if (mark)
		mark->n_refs++;
	slu_stream_unlock();
	return mark;
}

CUresult slu_event_record(struct slu_event *event, struct slu_stream *stream)
{
	struct slu_command *command;
	struct slu_mark *mark, *old;
	CUresult result;

	if (event->is_shared)
		return record_shared(event, stream);
	if (slu_capture_record(event, stream))
		return CUDA_SUCCESS;
	command = slu_command_new(SLU_COMMAND_MARK);
	mark = calloc(1, sizeof(*mark));
	if (!command || !mark) {
		free(mark);
		slu_command_free(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	mark->n_refs = 2; /* the command's and ours */
	command->mark = mark;
	result = slu_stream_submit_mark(stream, command);
	if (result) {
		slu_mark_unref(mark);
		return result;
	}
	slu_stream_lock();
	old = event->mark;
	event->mark = mark;
	event->capture = NULL;
	slu_stream_unlock();
	slu_mark_unref(old);
	return CUDA_SUCCESS;
}

CUresult slu_event_wait_in(struct slu_event *event, struct slu_stream *stream)
{
	struct slu_command *command;
	struct slu_mark *mark;
	struct slu_point point;
	CUresult result;

	if (event->is_shared)
		return wait_shared(event, stream);
	result = slu_capture_wait(event, stream);
	if (result != CUDA_ERROR_NOT_FOUND)
		return result;
	mark = slu_event_mark(event);
	if (!mark || slu_point_is_done(&mark->point)) {
		slu_mark_unref(mark);
		return CUDA_SUCCESS;
	}
	command = slu_command_new(SLU_COMMAND_EMPTY);
	slu_stream_lock();
	point = mark->point;
	point.timeline->n_refs++;
	slu_stream_unlock();
	slu_mark_unref(mark);
	if (!command || slu_command_depend(command, point)) {
		slu_command_free(command);
		slu_point_drop(&point);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return slu_stream_submit(stream, command);
}
