/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Commands that do not cross the bus. They go to the driver as they are; the limiter notes that
 * the queue has a command of the driver's as its last, meets faults, and charges what is used for
 * the first time.
 */

#include "limiter/bus.h"
#include "limiter/fault.h"

static cl_int enqueue_admit(cl_command_queue queue, cl_uint n_mems, const cl_mem *mems)
{
	struct dev_limiter_device *device = dev_limiter_queue_device(queue);
	cl_int r;

	if (dev_limiter_fault_meet(device, DEV_LIMITER_FAULT_ENQUEUE))
		return CL_OUT_OF_RESOURCES;
	r = dev_limiter_memory_use(device, n_mems, mems);
	if (!r)
		dev_limiter_queue_note(queue, NULL);
	return r;
}

cl_int CL_API_CALL dev_limiter_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
						      cl_uint n_dims, const size_t *offset,
						      const size_t *global, const size_t *local,
						      cl_uint n_wait, const cl_event *wait,
						      cl_event *event)
{
	cl_int r = enqueue_admit(queue, 0, NULL);

	if (!r)
		r = dev_limiter_kernel_use(dev_limiter_queue_device(queue), kernel);
	return r ? r
		 : dev_limiter_driver.clEnqueueNDRangeKernel(queue, kernel, n_dims, offset, global,
							     local, n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueTask(cl_command_queue queue, cl_kernel kernel,
					     cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	cl_int r = enqueue_admit(queue, 0, NULL);

	if (!r)
		r = dev_limiter_kernel_use(dev_limiter_queue_device(queue), kernel);
	return r ? r : dev_limiter_driver.clEnqueueTask(queue, kernel, n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueNativeKernel(cl_command_queue queue,
						     void(CL_CALLBACK *function)(void *),
						     void *args, size_t args_bytes, cl_uint n_mems,
						     const cl_mem *mems, const void **places,
						     cl_uint n_wait, const cl_event *wait,
						     cl_event *event)
{
	cl_int r = enqueue_admit(queue, mems ? n_mems : 0, mems);

	return r ? r
		 : dev_limiter_driver.clEnqueueNativeKernel(queue, function, args, args_bytes,
							    n_mems, mems, places, n_wait, wait,
							    event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueFillBuffer(cl_command_queue queue, cl_mem mem,
						   const void *pattern, size_t pattern_bytes,
						   size_t offset, size_t bytes, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	cl_int r = enqueue_admit(queue, 1, &mem);

	return r ? r
		 : dev_limiter_driver.clEnqueueFillBuffer(queue, mem, pattern, pattern_bytes,
							  offset, bytes, n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueFillImage(cl_command_queue queue, cl_mem image,
						  const void *colour, const size_t *origin,
						  const size_t *region, cl_uint n_wait,
						  const cl_event *wait, cl_event *event)
{
	cl_int r = enqueue_admit(queue, 1, &image);

	return r ? r
		 : dev_limiter_driver.clEnqueueFillImage(queue, image, colour, origin, region,
							 n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n_mems,
							  const cl_mem *mems,
							  cl_mem_migration_flags flags,
							  cl_uint n_wait, const cl_event *wait,
							  cl_event *event)
{
	cl_int r = mems ? dev_limiter_memory_use(dev_limiter_queue_device(queue), n_mems, mems)
			: CL_SUCCESS;

	if (r)
		return r;
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueMigrateMemObjects(queue, n_mems, mems, flags, n_wait,
							     wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueMarker(queue, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint n,
						      const cl_event *events)
{
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueWaitForEvents(queue, n, events);
}

cl_int CL_API_CALL dev_limiter_clEnqueueBarrier(cl_command_queue queue)
{
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueBarrier(queue);
}

cl_int CL_API_CALL dev_limiter_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_wait,
							   const cl_event *wait, cl_event *event)
{
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueMarkerWithWaitList(queue, n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n_wait,
							    const cl_event *wait, cl_event *event)
{
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueBarrierWithWaitList(queue, n_wait, wait, event);
}
