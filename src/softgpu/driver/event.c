/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/event.h"

#include <stdlib.h>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/command.h"
#include "softgpu/driver/context.h"

static struct slu_objects objects = SLU_OBJECTS_INIT(struct slu_event);

CUresult slu_event_new(struct slu_context *context, unsigned flags, struct slu_event **ret_event)
{
	struct slu_event *event = slu_objects_new(&objects);

	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = flags;
	*ret_event = event;
	return CUDA_SUCCESS;
}

void slu_event_free(struct slu_event *event)
{
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
