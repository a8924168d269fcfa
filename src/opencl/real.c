/* SPDX-License-Identifier: Apache-2.0 */

#include "base/util.h"
#include "opencl/memory.h"
#include "opencl/real.h"

#define PIXEL_MAX 16

static bool is_image(const struct slu_proxy *proxy)
{
	return proxy->type != CL_MEM_OBJECT_BUFFER;
}

cl_mem slu_real_make(const struct slu_proxy *root, const void *initial, cl_int *ret_r)
{
	cl_mem_flags flags = root->flags & (SLU_MEMORY_ACCESS_FLAGS | CL_MEM_USE_HOST_PTR);
	void *host = slu_real_is_in_host(root) ? root->host_ptr : (void *)initial;
	cl_image_desc desc = root->shape.desc;

	if (initial)
		flags |= CL_MEM_COPY_HOST_PTR;
	if (!is_image(root))
		return slu_layer_next.clCreateBuffer(root->context->handle, flags, root->size_bytes,
						     host, ret_r);
	if (!slu_real_is_in_host(root))
		desc.image_row_pitch = desc.image_slice_pitch = 0;
	return slu_layer_next.clCreateImage(root->context->handle, flags, &root->shape.format,
					    &desc, host, ret_r);
}

cl_mem slu_real_make_child(const struct slu_proxy *child, cl_mem parent, cl_int *ret_r)
{
	cl_mem_flags flags = child->flags & SLU_MEMORY_ACCESS_FLAGS;
	cl_image_desc desc = child->shape.desc;
	cl_buffer_region region = {
		.origin = child->origin_bytes - child->parent->origin_bytes,
		.size = child->size_bytes,
	};

	if (!is_image(child))
		return slu_layer_next.clCreateSubBuffer(parent, flags, CL_BUFFER_CREATE_TYPE_REGION,
							&region, ret_r);
	desc.mem_object = parent;
	return slu_layer_next.clCreateImage(child->context->handle, flags, &child->shape.format,
					    &desc, NULL, ret_r);
}

/* Memory of the program's is only read: it may be such that cannot be written. */
cl_int slu_real_touch(const struct slu_proxy *root, const struct slu_device *device, cl_mem real,
		      const void *initial)
{
	cl_command_queue queue = slu_context_queue(root->context, device, SLU_DIRECTION_IN);
	const size_t origin[3] = { 0 }, region[3] = { 1, 1, 1 };
	static const char zeros[PIXEL_MAX];
	char pixel[PIXEL_MAX];

	if (!queue)
		return CL_OUT_OF_RESOURCES;
	if (!initial)
		initial = zeros;
	if (slu_real_is_in_host(root))
		return is_image(root) ? slu_layer_next.clEnqueueReadImage(queue, real, CL_TRUE,
									  origin, region, 0, 0,
									  pixel, 0, NULL, NULL)
				      : slu_layer_next.clEnqueueReadBuffer(queue, real, CL_TRUE, 0,
									   1, pixel, 0, NULL, NULL);
	return is_image(root)
		       ? slu_layer_next.clEnqueueWriteImage(queue, real, CL_TRUE, origin, region, 0,
							    0, initial, 0, NULL, NULL)
		       : slu_layer_next.clEnqueueWriteBuffer(queue, real, CL_TRUE, 0, 1, initial, 0,
							     NULL, NULL);
}

/* -- copies: our queues are in order, so the last event stands for all ------------------------ */

static void real_keep_last(cl_event *last, cl_event next)
{
	if (*last)
		slu_layer_next.clReleaseEvent(*last);
	*last = next;
}

static cl_int buffer_copy(const struct slu_proxy *root, cl_command_queue queue,
			  enum slu_direction direction, uint64_t offset, void *host, uint64_t bytes,
			  cl_event *ret_event)
{
	if (direction == SLU_DIRECTION_IN)
		return slu_layer_next.clEnqueueWriteBuffer(queue, root->real, CL_FALSE, offset,
							   bytes, host, 0, NULL, ret_event);
	return slu_layer_next.clEnqueueReadBuffer(queue, root->real, CL_FALSE, offset, bytes, host,
						  0, NULL, ret_event);
}

static cl_int box_copy(const struct slu_proxy *root, cl_command_queue queue,
		       enum slu_direction direction, const struct slu_shape_box *box, void *host,
		       cl_event *ret_event)
{
	if (direction == SLU_DIRECTION_IN)
		return slu_layer_next.clEnqueueWriteImage(queue, root->real, CL_FALSE, box->origin,
							  box->region, 0, 0, host, 0, NULL,
							  ret_event);
	return slu_layer_next.clEnqueueReadImage(queue, root->real, CL_FALSE, box->origin,
						 box->region, 0, 0, host, 0, NULL, ret_event);
}

/* Where a box fails, those before it come to their end, for they use the caller's bytes. */
static cl_int image_copy(const struct slu_proxy *root, cl_command_queue queue,
			 enum slu_direction direction, uint64_t offset, void *host, uint64_t bytes,
			 cl_event *ret_event)
{
	struct slu_shape_box box;
	cl_event last = NULL;
	uint64_t done = 0, n;

	while ((n = slu_shape_next_box(&root->shape, offset + done, bytes - done, &box))) {
		cl_event event = NULL;
		cl_int r = box_copy(root, queue, direction, &box, (char *)host + done, &event);

		if (r != CL_SUCCESS) {
			if (last)
				slu_layer_next.clWaitForEvents(1, &last);
			real_keep_last(&last, NULL);
			return r;
		}
		real_keep_last(&last, event);
		done += n;
	}
	*ret_event = last;
	return CL_SUCCESS;
}

static void *image_map(const struct slu_proxy *root, cl_command_queue queue, cl_event *ret_event,
		       cl_int *ret_r)
{
	const size_t origin[3] = { 0 };
	size_t row, slice;

	return slu_layer_next.clEnqueueMapImage(queue, root->real, CL_FALSE, CL_MAP_READ, origin,
						root->shape.size, &row, &slice, 0, NULL, ret_event,
						ret_r);
}

/* Brings the program's memory up to date; an image's in one piece, with its first bytes. */
static cl_int host_sync(const struct slu_proxy *root, cl_command_queue queue, uint64_t offset,
			uint64_t bytes, cl_event *ret_event)
{
	cl_event mapped = NULL;
	cl_int r = CL_SUCCESS;
	void *p;

	if (!is_image(root))
		p = slu_layer_next.clEnqueueMapBuffer(queue, root->real, CL_FALSE, CL_MAP_READ,
						      offset, bytes, 0, NULL, &mapped, &r);
	else if (!offset)
		p = image_map(root, queue, &mapped, &r);
	else
		return CL_SUCCESS;
	if (r != CL_SUCCESS)
		return r;
	r = slu_layer_next.clEnqueueUnmapMemObject(queue, root->real, p, 1, &mapped, ret_event);
	slu_layer_next.clReleaseEvent(mapped);
	return r;
}

cl_int slu_real_copy(const struct slu_proxy *root, const struct slu_device *device,
		     enum slu_direction direction, uint64_t offset, void *host, uint64_t bytes,
		     cl_event *ret_event)
{
	cl_command_queue queue = slu_context_queue(root->context, device, direction);
	cl_int r;

	*ret_event = NULL;
	/* the client counts in rounded sizes, the driver in the program's */
	bytes = SLU_MIN(bytes, slu_sub_floor(root->size_bytes, offset));
	if (!bytes)
		return CL_SUCCESS;
	if (!queue)
		return CL_OUT_OF_RESOURCES;
	if (slu_real_is_in_host(root))
		r = direction == SLU_DIRECTION_IN
			    ? CL_SUCCESS
			    : host_sync(root, queue, offset, bytes, ret_event);
	else if (is_image(root))
		r = image_copy(root, queue, direction, offset, host, bytes, ret_event);
	else
		r = buffer_copy(root, queue, direction, offset, host, bytes, ret_event);
	if (r == CL_SUCCESS && *ret_event)
		slu_layer_next.clFlush(queue);
	return r;
}
