/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that ask for speed or for observation and change no result: they check their arguments and
 * do what there is to do here, which is nothing.
 */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/images/module.h"

CUresult cuProfilerStart(void)
{
	return dev_driver_enter();
}

CUresult cuProfilerStop(void)
{
	return dev_driver_enter();
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	struct dev_context *context;

	return dev_context_enter(&context);
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *ret_config)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_config)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	DEV_TRY(dev_driver_enter());
	if (!dev_module_function_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

/* -- attributes of streams: kept where somebody may read them again ------------------------- */

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID which, CUstreamAttrValue *ret_value)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = (CUstreamAttrValue){ 0 };
	switch (which) {
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		ret_value->priority = stream->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		ret_value->priority = stream->synchronization_policy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID which, const CUstreamAttrValue *value)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, &stream));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (which) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		stream->synchronization_policy = value->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuStreamCopyAttributes(CUstream dst_handle, CUstream src_handle)
{
	struct dev_stream *dst, *src;
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, dst_handle, &dst));
	DEV_TRY(dev_stream_get(context, src_handle, &src));
	dst->synchronization_policy = src->synchronization_policy;
	return CUDA_SUCCESS;
}

/* -- a whole context as a stream ------------------------------------------------------------ */

/* The legacy stream stands for the context: it waits for every blocking stream, and they for it. */
CUresult cuCtxWaitEvent(CUcontext handle, CUevent event_handle)
{
	struct dev_context *context;
	struct dev_event *event;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle ? handle : dev_context_current());
	event = dev_event_get(event_handle);
	if (!context || !event)
		return CUDA_ERROR_INVALID_HANDLE;
	return dev_event_wait_in(event, context->legacy);
}

CUresult cuCtxRecordEvent(CUcontext handle, CUevent event_handle)
{
	struct dev_context *context;
	struct dev_event *event;

	DEV_TRY(dev_driver_enter());
	context = dev_context_get(handle ? handle : dev_context_current());
	event = dev_event_get(event_handle);
	if (!context || !event || event->context != context)
		return CUDA_ERROR_INVALID_HANDLE;
	return dev_event_record(event, context->legacy);
}
