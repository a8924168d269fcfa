/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads, writes and copies. Reads and writes of device objects cross the bus; a copy does when one
 * end is host memory (CL_MEM_ALLOC_HOST_PTR) and the other is not. What does not cross it goes to
 * the driver as it is.
 */

#include "limiter/bus.h"
#include "limiter/fault.h"

/* Before any copy: the fault that was ordered, and memory for what is used for the first time. */
static cl_int transfer_admit(cl_command_queue queue, enum dev_limiter_fault kind, cl_mem a,
			     cl_mem b)
{
	struct dev_limiter_device *device = dev_limiter_queue_device(queue);
	const cl_mem mems[] = { a, b };

	if (dev_limiter_fault_meet(device, kind))
		return CL_OUT_OF_RESOURCES;
	return dev_limiter_memory_use(device, b ? 2 : 1, mems);
}

static uint64_t transfer_volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
	size_t element = 0;

	dev_limiter_driver.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element,
					  NULL);
	return transfer_volume(region) * element;
}

static void transfer_begin(struct dev_limiter_passage *p, cl_command_queue queue, cl_mem mem,
			   enum dev_board_engine engine, uint64_t bytes, cl_bool blocking,
			   cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	if (dev_limiter_memory_is_host(mem))
		bytes = 0;
	dev_limiter_bus_begin(p, queue, engine, bytes, blocking, n_wait, wait, event);
}

static void begin_copy(struct dev_limiter_passage *p, cl_command_queue queue, cl_mem from,
		       cl_mem to, uint64_t bytes, cl_uint n_wait, const cl_event *wait,
		       cl_event *event)
{
	bool from_host = dev_limiter_memory_is_host(from), to_host = dev_limiter_memory_is_host(to);

	dev_limiter_bus_begin(p, queue, to_host ? DEV_BOARD_ENGINE_OUT : DEV_BOARD_ENGINE_IN,
			      from_host != to_host ? bytes : 0, CL_FALSE, n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem,
						   cl_bool blocking, size_t offset, size_t bytes,
						   void *to, cl_uint n_wait, const cl_event *wait,
						   cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_READ, mem, NULL);

	if (r)
		return r;
	transfer_begin(&p, queue, mem, DEV_BOARD_ENGINE_OUT, bytes, blocking, n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueReadBuffer(queue, mem, p.blocking, offset, bytes, to,
						   p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem,
						    cl_bool blocking, size_t offset, size_t bytes,
						    const void *from, cl_uint n_wait,
						    const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_WRITE, mem, NULL);

	if (r)
		return r;
	transfer_begin(&p, queue, mem, DEV_BOARD_ENGINE_IN, bytes, blocking, n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueWriteBuffer(queue, mem, p.blocking, offset, bytes, from,
						    p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueReadBufferRect(
	cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, void *to, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_READ, mem, NULL);

	if (r)
		return r;
	transfer_begin(&p, queue, mem, DEV_BOARD_ENGINE_OUT, transfer_volume(region), blocking,
		       n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueReadBufferRect(queue, mem, p.blocking, origin, host_origin,
						       region, row, slice, host_row, host_slice, to,
						       p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueWriteBufferRect(
	cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, const void *from, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_WRITE, mem, NULL);

	if (r)
		return r;
	transfer_begin(&p, queue, mem, DEV_BOARD_ENGINE_IN, transfer_volume(region), blocking,
		       n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueWriteBufferRect(queue, mem, p.blocking, origin, host_origin,
							region, row, slice, host_row, host_slice,
							from, p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueReadImage(cl_command_queue queue, cl_mem image,
						  cl_bool blocking, const size_t *origin,
						  const size_t *region, size_t row, size_t slice,
						  void *to, cl_uint n_wait, const cl_event *wait,
						  cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_READ, image, NULL);

	if (r)
		return r;
	transfer_begin(&p, queue, image, DEV_BOARD_ENGINE_OUT, image_bytes(image, region), blocking,
		       n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueReadImage(queue, image, p.blocking, origin, region, row,
						  slice, to, p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueWriteImage(cl_command_queue queue, cl_mem image,
						   cl_bool blocking, const size_t *origin,
						   const size_t *region, size_t row, size_t slice,
						   const void *from, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_WRITE, image, NULL);

	if (r)
		return r;
	transfer_begin(&p, queue, image, DEV_BOARD_ENGINE_IN, image_bytes(image, region), blocking,
		       n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueWriteImage(queue, image, p.blocking, origin, region, row,
						   slice, from, p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
						   size_t from_offset, size_t to_offset,
						   size_t bytes, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_ENQUEUE, from, to);

	if (r)
		return r;
	begin_copy(&p, queue, from, to, bytes, n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes,
						   p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueCopyBufferRect(
	cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
	const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
	size_t to_row, size_t to_slice, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_ENQUEUE, from, to);

	if (r)
		return r;
	begin_copy(&p, queue, from, to, transfer_volume(region), n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin,
						       region, from_row, from_slice, to_row,
						       to_slice, p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to,
						  const size_t *from_origin,
						  const size_t *to_origin, const size_t *region,
						  cl_uint n_wait, const cl_event *wait,
						  cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_ENQUEUE, from, to);

	if (r)
		return r;
	begin_copy(&p, queue, from, to, image_bytes(from, region), n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region,
						  p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem from,
							  cl_mem to, const size_t *origin,
							  const size_t *region, size_t offset,
							  cl_uint n_wait, const cl_event *wait,
							  cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_ENQUEUE, from, to);

	if (r)
		return r;
	begin_copy(&p, queue, from, to, image_bytes(from, region), n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset,
							  p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from,
							  cl_mem to, size_t offset,
							  const size_t *origin,
							  const size_t *region, cl_uint n_wait,
							  const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r = transfer_admit(queue, DEV_LIMITER_FAULT_ENQUEUE, from, to);

	if (r)
		return r;
	begin_copy(&p, queue, from, to, image_bytes(to, region), n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region,
							  p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}
