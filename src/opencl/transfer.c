/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads, writes, copies and fills. The layer checks the HOST_* promises of the program here,
 * because the objects behind the proxies are created without them.
 */

#include <stdlib.h>

#include "base/util.h"
#include "opencl/bracket.h"
#include "opencl/context.h"
#include "opencl/real.h"

enum host_access { HOST_READS, HOST_WRITES };

/* Only the parts of a call that name an object of the program's: what the driver checks first. */
static cl_int transfer_begin_host(struct slu_bracket *b, cl_command_queue queue,
				  struct slu_name *name, enum host_access access)
{
	cl_mem_flags against = access == HOST_READS ? CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS
						    : CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
	cl_int r = slu_bracket_open(b, queue, 1, name);

	if (!r && (name->proxy->flags & against))
		r = CL_INVALID_OPERATION;
	return r ? r : slu_bracket_enter(b);
}

/*
 * A blocking read or write of an object that is not on the device, with nothing else asked for,
 * goes to the host copy: the bytes need not travel twice. As in a queue, everything before it
 * must have ended.
 *
 * Return: whether it was done; *ret_r is then what the call answers.
 */
static bool transfer_went_to_host(cl_command_queue queue, cl_mem handle,
				  enum slu_direction direction, size_t offset, size_t size,
				  void *host, cl_uint n_wait, const cl_event *wait, cl_int *ret_r)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);
	cl_mem_flags against = direction == SLU_DIRECTION_OUT
				       ? CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS
				       : CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
	cl_context context = NULL;
	cl_event before;
	cl_int r;

	if (!proxy || proxy->root->type != CL_MEM_OBJECT_BUFFER ||
	    proxy->type != CL_MEM_OBJECT_BUFFER || !proxy->root->is_movable ||
	    slu_real_is_in_host(proxy->root) || !proxy->root->unit || (proxy->flags & against) ||
	    __atomic_load_n(&proxy->root->real, __ATOMIC_RELAXED))
		return false;
	if (!host || !size || offset > proxy->size_bytes || size > proxy->size_bytes - offset)
		return false;
	if (slu_layer_next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context,
						 NULL) != CL_SUCCESS ||
	    context != proxy->context->handle)
		return false;
	r = slu_layer_next.clEnqueueMarkerWithWaitList(queue, n_wait, wait, &before);
	if (r != CL_SUCCESS)
		return false;
	r = slu_layer_next.clWaitForEvents(1, &before);
	slu_layer_next.clReleaseEvent(before);
	if (r != CL_SUCCESS) {
		*ret_r = r;
		return true;
	}
	if (slu_client_unit_access(proxy->root->unit, direction, proxy->origin_bytes + offset, host,
				   size))
		return false;
	*ret_r = CL_SUCCESS;
	return true;
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_int slu_call_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				    size_t offset, size_t size, void *ptr, cl_uint n_wait,
				    const cl_event *wait, cl_event *event)
{
	struct slu_name name = { buffer, SLU_ACCESS_READ };
	struct slu_bracket b;
	cl_int r;

	if (blocking && !event &&
	    transfer_went_to_host(queue, buffer, SLU_DIRECTION_OUT, offset, size, ptr, n_wait, wait,
				  &r))
		return r;
	do {
		r = transfer_begin_host(&b, queue, &name, HOST_READS);
		if (!r)
			r = slu_layer_next.clEnqueueReadBuffer(queue, name.real, CL_FALSE, offset,
							       size, ptr, n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				     size_t offset, size_t size, const void *ptr, cl_uint n_wait,
				     const cl_event *wait, cl_event *event)
{
	struct slu_name name = { buffer, SLU_ACCESS_WRITE };
	struct slu_bracket b;
	cl_int r;

	if (blocking && !event &&
	    transfer_went_to_host(queue, buffer, SLU_DIRECTION_IN, offset, size, (void *)ptr,
				  n_wait, wait, &r))
		return r;
	do {
		r = transfer_begin_host(&b, queue, &name, HOST_WRITES);
		if (!r)
			r = slu_layer_next.clEnqueueWriteBuffer(queue, name.real, CL_FALSE, offset,
								size, ptr, n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
					const size_t *buffer_origin, const size_t *host_origin,
					const size_t *region, size_t buffer_row,
					size_t buffer_slice, size_t host_row, size_t host_slice,
					void *ptr, cl_uint n_wait, const cl_event *wait,
					cl_event *event)
{
	struct slu_name name = { buffer, SLU_ACCESS_READ };
	struct slu_bracket b;
	cl_int r;

	do {
		r = transfer_begin_host(&b, queue, &name, HOST_READS);
		if (!r)
			r = slu_layer_next.clEnqueueReadBufferRect(
				queue, name.real, CL_FALSE, buffer_origin, host_origin, region,
				buffer_row, buffer_slice, host_row, host_slice, ptr, n_wait, wait,
				&b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
					 const size_t *buffer_origin, const size_t *host_origin,
					 const size_t *region, size_t buffer_row,
					 size_t buffer_slice, size_t host_row, size_t host_slice,
					 const void *ptr, cl_uint n_wait, const cl_event *wait,
					 cl_event *event)
{
	struct slu_name name = { buffer, SLU_ACCESS_WRITE };
	struct slu_bracket b;
	cl_int r;

	do {
		r = transfer_begin_host(&b, queue, &name, HOST_WRITES);
		if (!r)
			r = slu_layer_next.clEnqueueWriteBufferRect(
				queue, name.real, CL_FALSE, buffer_origin, host_origin, region,
				buffer_row, buffer_slice, host_row, host_slice, ptr, n_wait, wait,
				&b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
				    size_t from_offset, size_t to_offset, size_t size,
				    cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct slu_name names[] = { { from, SLU_ACCESS_READ }, { to, SLU_ACCESS_WRITE } };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 2, names);
		if (!r)
			r = slu_layer_next.clEnqueueCopyBuffer(queue, names[0].real, names[1].real,
							       from_offset, to_offset, size, n_wait,
							       wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
					const size_t *from_origin, const size_t *to_origin,
					const size_t *region, size_t from_row, size_t from_slice,
					size_t to_row, size_t to_slice, cl_uint n_wait,
					const cl_event *wait, cl_event *event)
{
	struct slu_name names[] = { { from, SLU_ACCESS_READ }, { to, SLU_ACCESS_WRITE } };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 2, names);
		if (!r)
			r = slu_layer_next.clEnqueueCopyBufferRect(
				queue, names[0].real, names[1].real, from_origin, to_origin, region,
				from_row, from_slice, to_row, to_slice, n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
				    size_t pattern_size, size_t offset, size_t size, cl_uint n_wait,
				    const cl_event *wait, cl_event *event)
{
	struct slu_name name = { buffer, SLU_ACCESS_WRITE };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 1, &name);
		if (!r)
			r = slu_layer_next.clEnqueueFillBuffer(queue, name.real, pattern,
							       pattern_size, offset, size, n_wait,
							       wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
				   const size_t *origin, const size_t *region, size_t row_pitch,
				   size_t slice_pitch, void *ptr, cl_uint n_wait,
				   const cl_event *wait, cl_event *event)
{
	struct slu_name name = { image, SLU_ACCESS_READ };
	struct slu_bracket b;
	cl_int r;

	do {
		r = transfer_begin_host(&b, queue, &name, HOST_READS);
		if (!r)
			r = slu_layer_next.clEnqueueReadImage(queue, name.real, CL_FALSE, origin,
							      region, row_pitch, slice_pitch, ptr,
							      n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
				    const size_t *origin, const size_t *region, size_t row_pitch,
				    size_t slice_pitch, const void *ptr, cl_uint n_wait,
				    const cl_event *wait, cl_event *event)
{
	struct slu_name name = { image, SLU_ACCESS_WRITE };
	struct slu_bracket b;
	cl_int r;

	do {
		r = transfer_begin_host(&b, queue, &name, HOST_WRITES);
		if (!r)
			r = slu_layer_next.clEnqueueWriteImage(queue, name.real, CL_FALSE, origin,
							       region, row_pitch, slice_pitch, ptr,
							       n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to,
				   const size_t *from_origin, const size_t *to_origin,
				   const size_t *region, cl_uint n_wait, const cl_event *wait,
				   cl_event *event)
{
	struct slu_name names[] = { { from, SLU_ACCESS_READ }, { to, SLU_ACCESS_WRITE } };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 2, names);
		if (!r)
			r = slu_layer_next.clEnqueueCopyImage(queue, names[0].real, names[1].real,
							      from_origin, to_origin, region,
							      n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
					   const size_t *origin, const size_t *region,
					   size_t offset, cl_uint n_wait, const cl_event *wait,
					   cl_event *event)
{
	struct slu_name names[] = { { from, SLU_ACCESS_READ }, { to, SLU_ACCESS_WRITE } };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 2, names);
		if (!r)
			r = slu_layer_next.clEnqueueCopyImageToBuffer(
				queue, names[0].real, names[1].real, origin, region, offset, n_wait,
				wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from, cl_mem to,
					   size_t offset, const size_t *origin,
					   const size_t *region, cl_uint n_wait,
					   const cl_event *wait, cl_event *event)
{
	struct slu_name names[] = { { from, SLU_ACCESS_READ }, { to, SLU_ACCESS_WRITE } };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 2, names);
		if (!r)
			r = slu_layer_next.clEnqueueCopyBufferToImage(
				queue, names[0].real, names[1].real, offset, origin, region, n_wait,
				wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color,
				   const size_t *origin, const size_t *region, cl_uint n_wait,
				   const cl_event *wait, cl_event *event)
{
	struct slu_name name = { image, SLU_ACCESS_WRITE };
	struct slu_bracket b;
	cl_int r;

	do {
		r = slu_bracket_begin(&b, queue, 1, &name);
		if (!r)
			r = slu_layer_next.clEnqueueFillImage(queue, name.real, color, origin,
							      region, n_wait, wait, &b.event);
	} while (slu_bracket_again(&b, r));
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}
