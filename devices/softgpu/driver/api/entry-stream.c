/* SPDX-License-Identifier: Apache-2.0 */

/* Streams, events, host functions, values in memory. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/operation.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/pool.h"

#define PRIORITY_LEAST	  0
#define PRIORITY_GREATEST (-5)

CUresult cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags, int priority)
{
	struct dev_context *context;
	struct dev_stream *stream;
	CUresult result;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	if (priority > PRIORITY_LEAST)
		priority = PRIORITY_LEAST;
	if (priority < PRIORITY_GREATEST)
		priority = PRIORITY_GREATEST;
	dev_context_lock(context);
	result = dev_stream_new(context, flags, priority, false, &stream);
	dev_context_unlock(context);
	if (!result)
		*ret_stream = (CUstream)(void *)stream;
	return result;
}

CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(ret_stream, flags, 0);
}

static bool is_special(CUstream handle)
{
	return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	if (is_special(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(dev_stream_get(context, handle, &stream));
	dev_stream_free(stream, false);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle)
{
	return cuStreamDestroy_v2(handle);
}

CUresult cuStreamSynchronize(CUstream handle)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	DEV_TRY(dev_capture_no_sync(stream));
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(dev_stream_synchronize(stream));
	dev_managed_notice();
	dev_pool_synchronized();
	return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	DEV_TRY(dev_capture_no_sync(stream));
	return dev_stream_is_idle(stream) ? dev_context_error(stream->context)
					  : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetPriority(CUstream handle, int *ret_priority)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_priority)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_priority = stream->priority;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *ret_flags)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = stream->flags;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *ret_id)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_id)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_id = stream->id;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *ret_context)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_context = dev_context_handle(stream->context);
	return CUDA_SUCCESS;
}

/* There are no green contexts here. */
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *ret_context, CUgreenCtx *ret_green)
{
	DEV_TRY(cuStreamGetCtx(handle, ret_context));
	if (ret_green)
		*ret_green = NULL;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *ret_device)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_device = (CUdevice)stream->context->card->index;
	return CUDA_SUCCESS;
}

/* An event that is meant for others than the capture becomes a node of its own. */
static CUresult external_event(struct dev_stream *stream, enum dev_command_kind kind, CUevent event)
{
	struct dev_command *command = dev_command_new(kind);

	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->event = event;
	return dev_stream_submit(stream, command);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags)
{
	struct dev_event *event = dev_event_get(event_handle);
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags && stream->capture)
		return external_event(stream, DEV_COMMAND_AWAIT, event_handle);
	return dev_event_wait_in(event, stream);
}

static CUresult host_command(CUstream handle, enum dev_command_kind kind, CUhostFn function,
			     CUstreamCallback callback, void *user)
{
	struct dev_command *command = dev_command_new(kind);

	if (command) {
		command->host.function = function;
		command->host.callback = callback;
		command->host.stream = handle;
		command->host.user = user;
	}
	return dev_entry_submit(handle, command, false);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user)
{
	DEV_TRY(dev_driver_enter());
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return host_command(handle, DEV_COMMAND_HOST, function, NULL, user);
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *user,
			     unsigned int flags)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	/* a callback cannot be recorded */
	DEV_TRY(dev_capture_no_sync(stream));
	return host_command(handle, DEV_COMMAND_CALLBACK, NULL, callback, user);
}

static CUresult value_command(CUstream handle, enum dev_command_kind kind, CUdeviceptr address,
			      uint64_t value, unsigned size, unsigned flags)
{
	struct dev_command *command;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_operation_value(kind, address, value, size, flags, &command));
	return dev_entry_submit(handle, command, false);
}

CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value,
				 unsigned int flags)
{
	return value_command(handle, DEV_COMMAND_WRITE, address, value, 4, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream handle, CUdeviceptr address, cuuint64_t value,
				 unsigned int flags)
{
	return value_command(handle, DEV_COMMAND_WRITE, address, value, 8, flags);
}

CUresult cuStreamWaitValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value,
				unsigned int flags)
{
	return value_command(handle, DEV_COMMAND_WAIT, address, value, 4, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream handle, CUdeviceptr address, cuuint64_t value,
				unsigned int flags)
{
	return value_command(handle, DEV_COMMAND_WAIT, address, value, 8, flags);
}

CUresult cuStreamWriteValue32(CUstream handle, CUdeviceptr address, cuuint32_t value,
			      unsigned int flags)
{
	return cuStreamWriteValue32_v2(handle, address, value, flags);
}

CUresult cuStreamWriteValue64(CUstream handle, CUdeviceptr address, cuuint64_t value,
			      unsigned int flags)
{
	return cuStreamWriteValue64_v2(handle, address, value, flags);
}

CUresult cuStreamWaitValue32(CUstream handle, CUdeviceptr address, cuuint32_t value,
			     unsigned int flags)
{
	return cuStreamWaitValue32_v2(handle, address, value, flags);
}

CUresult cuStreamWaitValue64(CUstream handle, CUdeviceptr address, cuuint64_t value,
			     unsigned int flags)
{
	return cuStreamWaitValue64_v2(handle, address, value, flags);
}

/* -- events --------------------------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	struct dev_context *context;
	struct dev_event *event;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_event || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
					       CU_EVENT_INTERPROCESS)))
		return CUDA_ERROR_INVALID_VALUE;
	if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_event_new(context, flags, &event));
	*ret_event = (CUevent)(void *)event;
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle)
{
	struct dev_event *event;

	DEV_TRY(dev_driver_enter());
	event = dev_event_get(handle);
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	dev_event_free(event);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle)
{
	return cuEventDestroy_v2(handle);
}

CUresult cuEventRecordWithFlags(CUevent event_handle, CUstream handle, unsigned int flags)
{
	struct dev_event *event = dev_event_get(event_handle);
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->context != context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags && stream->capture)
		return external_event(stream, DEV_COMMAND_RECORD, event_handle);
	return dev_event_record(event, stream);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return cuEventRecordWithFlags(event, stream, 0);
}

static CUresult look_at(CUevent handle, struct dev_event **ret_event)
{
	DEV_TRY(dev_driver_enter());
	*ret_event = dev_event_get(handle);
	if (!*ret_event)
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(dev_capture_unsafe());
	if (dev_capture_has_event(*ret_event))
		return CUDA_ERROR_CAPTURED_EVENT;
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent handle)
{
	struct dev_event *event;

	DEV_TRY(look_at(handle, &event));
	return dev_event_is_reached(event, false) ? dev_context_error(event->context)
						  : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle)
{
	struct dev_event *event;

	DEV_TRY(look_at(handle, &event));
	dev_event_is_reached(event, true);
	dev_managed_notice();
	dev_pool_synchronized();
	return dev_context_error(event->context);
}

CUresult cuEventElapsedTime_v2(float *ret_ms, CUevent start_handle, CUevent end_handle)
{
	struct dev_event *start, *end;
	struct dev_mark *first, *last;
	CUresult result = CUDA_SUCCESS;

	DEV_TRY(look_at(start_handle, &start));
	DEV_TRY(look_at(end_handle, &end));
	if (!ret_ms)
		return CUDA_ERROR_INVALID_VALUE;
	first = dev_event_mark(start);
	last = dev_event_mark(end);
	if (!first || !last || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (!dev_timeline_point_is_done(&first->point) ||
		 !dev_timeline_point_is_done(&last->point))
		result = CUDA_ERROR_NOT_READY;
	else
		*ret_ms = (float)((double)(int64_t)(last->time_ns - first->time_ns) / 1e6);
	dev_event_mark_unref(first);
	dev_event_mark_unref(last);
	return result;
}

CUresult cuEventElapsedTime(float *ret_ms, CUevent start, CUevent end)
{
	return cuEventElapsedTime_v2(ret_ms, start, end);
}
