/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "cl-costs.h"

/* A handle's first word is the dispatch pointer, as the ICD rule asks. */
struct object {
	const cl_icd_dispatch *dispatch;
};

static const cl_icd_dispatch calls;
static struct object context = { &calls }, queue = { &calls }, kernel = { &calls };
static struct object out_of_order_queue = { &calls };
static struct object event = { &calls }, device = { &calls };
static char memory[4096];

static cl_int answer(const void *value, size_t size, size_t param_size, void *param, size_t *ret)
{
	if (param && param_size < size)
		return CL_INVALID_VALUE;
	if (param)
		memcpy(param, value, size);
	if (ret)
		*ret = size;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_context_info(cl_context c, cl_context_info what, size_t size,
					   void *param, size_t *ret_size)
{
	cl_device_id one = (cl_device_id)(void *)&device;

	return what == CL_CONTEXT_DEVICES ? answer(&one, sizeof(one), size, param, ret_size)
					  : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_device_info(cl_device_id d, cl_device_info what, size_t size,
					  void *param, size_t *ret_size)
{
	cl_ulong bytes = (cl_ulong)1 << 32;
	cl_uint bits = 1024;

	switch (what) {
	case CL_DEVICE_GLOBAL_MEM_SIZE:
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		return answer(&bytes, sizeof(bytes), size, param, ret_size);
	case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
		return answer(&bits, sizeof(bits), size, param, ret_size);
	case CL_DEVICE_NAME:
	case CL_DEVICE_EXTENSIONS:
		return answer("", 1, size, param, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue q, cl_command_queue_info what,
					 size_t size, void *param, size_t *ret_size)
{
	cl_device_id one = (cl_device_id)(void *)&device;
	cl_context of = (cl_context)(void *)&context;
	cl_command_queue_properties properties =
		(void *)q == &out_of_order_queue ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
	cl_uint count = 1;

	switch (what) {
	case CL_QUEUE_DEVICE:
		return answer(&one, sizeof(one), size, param, ret_size);
	case CL_QUEUE_CONTEXT:
		return answer(&of, sizeof(of), size, param, ret_size);
	case CL_QUEUE_PROPERTIES:
		return answer(&properties, sizeof(properties), size, param, ret_size);
	case CL_QUEUE_REFERENCE_COUNT:
		return answer(&count, sizeof(count), size, param, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL get_kernel_info(cl_kernel k, cl_kernel_info what, size_t size,
					  void *param, size_t *ret_size)
{
	cl_uint n_args = 4;

	return what == CL_KERNEL_NUM_ARGS ? answer(&n_args, sizeof(n_args), size, param, ret_size)
					  : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_event_info(cl_event e, cl_event_info what, size_t size, void *param,
					 size_t *ret_size)
{
	cl_command_queue of = (cl_command_queue)(void *)&queue;
	cl_int status = CL_COMPLETE;

	return what == CL_EVENT_COMMAND_QUEUE
		       ? answer(&of, sizeof(of), size, param, ret_size)
		       : answer(&status, sizeof(status), size, param, ret_size);
}

static void *made(void *object, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = CL_SUCCESS;
	return object;
}

static cl_int done(cl_event *ret_event)
{
	if (ret_event)
		*ret_event = (cl_event)(void *)&event;
	return CL_SUCCESS;
}

static cl_mem CL_API_CALL create_buffer(cl_context c, cl_mem_flags flags, size_t size, void *host,
					cl_int *errcode_ret)
{
	struct object *o = malloc(sizeof(*o));

	if (o)
		o->dispatch = &calls;
	return made(o, errcode_ret);
}

static cl_int CL_API_CALL release_buffer(cl_mem m)
{
	free(m);
	return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context c, cl_device_id d,
						 cl_command_queue_properties properties,
						 cl_int *errcode_ret)
{
	return made(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? &out_of_order_queue
									: &queue,
		    errcode_ret);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint n,
					     const cl_device_id *devices,
					     void(CL_CALLBACK *notify)(const char *, const void *,
								       size_t, void *),
					     void *data, cl_int *errcode_ret)
{
	return made(&context, errcode_ret);
}

static cl_kernel CL_API_CALL create_kernel(cl_program p, const char *name, cl_int *errcode_ret)
{
	return made(&kernel, errcode_ret);
}

static cl_int CL_API_CALL set_arg(cl_kernel k, cl_uint index, size_t size, const void *value)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue q, cl_kernel k, cl_uint n_dims,
					 const size_t *offset, const size_t *global,
					 const size_t *local, cl_uint n_wait, const cl_event *wait,
					 cl_event *ret_event)
{
	return done(ret_event);
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue q, cl_mem m, cl_bool blocking,
					size_t offset, size_t size, const void *host,
					cl_uint n_wait, const cl_event *wait, cl_event *ret_event)
{
	return done(ret_event);
}

static void *CL_API_CALL enqueue_map(cl_command_queue q, cl_mem m, cl_bool blocking,
				     cl_map_flags flags, size_t offset, size_t size, cl_uint n_wait,
				     const cl_event *wait, cl_event *ret_event, cl_int *errcode_ret)
{
	done(ret_event);
	return made(memory, errcode_ret);
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue q, cl_mem m, void *pointer, cl_uint n_wait,
					const cl_event *wait, cl_event *ret_event)
{
	return done(ret_event);
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue q, cl_uint n_wait, const cl_event *wait,
					 cl_event *ret_event)
{
	return done(ret_event);
}

static cl_int CL_API_CALL wait_for(cl_uint n, const cl_event *events)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL nothing_context(cl_context c)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL nothing_queue(cl_command_queue q)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL nothing_kernel(cl_kernel k)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL nothing_event(cl_event e)
{
	return CL_SUCCESS;
}

static const cl_icd_dispatch calls = {
	.clCreateContext = create_context,
	.clRetainContext = nothing_context,
	.clReleaseContext = nothing_context,
	.clGetContextInfo = get_context_info,
	.clGetDeviceInfo = get_device_info,
	.clCreateCommandQueue = create_queue,
	.clRetainCommandQueue = nothing_queue,
	.clReleaseCommandQueue = nothing_queue,
	.clGetCommandQueueInfo = get_queue_info,
	.clFlush = nothing_queue,
	.clFinish = nothing_queue,
	.clCreateBuffer = create_buffer,
	.clReleaseMemObject = release_buffer,
	.clCreateKernel = create_kernel,
	.clReleaseKernel = nothing_kernel,
	.clGetKernelInfo = get_kernel_info,
	.clSetKernelArg = set_arg,
	.clEnqueueNDRangeKernel = enqueue_kernel,
	.clEnqueueWriteBuffer = enqueue_write,
	.clEnqueueMapBuffer = enqueue_map,
	.clEnqueueUnmapMemObject = enqueue_unmap,
	.clEnqueueMarkerWithWaitList = enqueue_marker,
	.clWaitForEvents = wait_for,
	.clGetEventInfo = get_event_info,
	.clRetainEvent = nothing_event,
	.clReleaseEvent = nothing_event,
};

const cl_icd_dispatch *cl_costs_driver(void)
{
	return &calls;
}
