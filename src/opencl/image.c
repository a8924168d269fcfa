/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Images. An image of a common shape moves like a buffer (real.h). The driver answers calls that
 * are unusual or wrong; an image that it creates then does not move: mip-maps, packed formats,
 * flags and properties of a vendor. An image on a buffer, or on another image, is a child of that
 * and is created again with it.
 */

#include <stdlib.h>

#include "base/util.h"
#include "opencl/alloc.h"
#include "opencl/bracket.h"
#include "opencl/headroom.h"
#include "opencl/memory.h"
#include "opencl/real.h"

/* The creation of an image, to be tried again where the driver has no memory. */
struct making {
	struct slu_headroom headroom;
	struct slu_context *known;
	cl_context context;
	const cl_mem_properties *properties;
	cl_mem_flags flags;
	const cl_image_format *format;
	const cl_image_desc *desc;
	void *host_ptr;
	cl_mem made;
};

static cl_mem image_make(cl_context context, const cl_mem_properties *properties,
			 cl_mem_flags flags, const cl_image_format *format,
			 const cl_image_desc *desc, void *host_ptr, cl_int *ret_r)
{
	if (properties && properties[0])
		return slu_layer_next.clCreateImageWithProperties(context, properties, flags,
								  format, desc, host_ptr, ret_r);
	return slu_layer_next.clCreateImage(context, flags, format, desc, host_ptr, ret_r);
}

static cl_int image_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	m->made = image_make(m->context, m->properties, m->flags, m->format, m->desc, m->host_ptr,
			     &r);
	return r ? r : slu_headroom_prove(m->known, m->made);
}

/* A guess at what it takes; the driver's own measure is known only afterwards. */
static uint64_t image_guess_bytes(const struct making *m)
{
	struct slu_shape shape;
	uint64_t n;

	if (m->format && slu_shape_init(&shape, m->format, m->desc, m->host_ptr != NULL))
		return slu_shape_bytes(&shape);
	n = SLU_MAX(m->desc->image_width, (size_t)1);
	n *= SLU_MAX(m->desc->image_height, (size_t)1);
	n *= SLU_MAX(m->desc->image_depth, (size_t)1);
	n *= SLU_MAX(m->desc->image_array_size, (size_t)1);
	return n * 4;
}

/*
 * What the driver says about a child, while it can be asked. But the object of a root that moves
 * was made without what the program said about the host, so the flags come from its proxy.
 */
static void child_learn(struct slu_proxy *child, cl_mem_flags flags, const cl_image_format *format,
			const cl_image_desc *desc)
{
	struct slu_shape *s = &child->shape;

	if (child->root->is_movable)
		child->flags = slu_memory_inherit(child->parent->flags, flags);

	s->format = *format;
	s->desc = *desc;
	s->desc.mem_object = NULL;
	slu_layer_next.clGetImageInfo(child->real, CL_IMAGE_ELEMENT_SIZE, sizeof(s->element_bytes),
				      &s->element_bytes, NULL);
	slu_layer_next.clGetImageInfo(child->real, CL_IMAGE_ROW_PITCH, sizeof(s->row_pitch),
				      &s->row_pitch, NULL);
	slu_layer_next.clGetImageInfo(child->real, CL_IMAGE_SLICE_PITCH, sizeof(s->slice_pitch),
				      &s->slice_pitch, NULL);
	slu_layer_next.clGetMemObjectInfo(child->real, CL_MEM_HOST_PTR, sizeof(child->host_ptr),
					  &child->host_ptr, NULL);
}

/* Where a root is charged, the device that has it. */
static struct slu_client_device *client_of(const struct slu_proxy *root)
{
	const struct slu_device *device = root->device;

	if (!device || !root->unit)
		return NULL;
	if (root->is_movable)
		device = slu_context_device_of(root->context, root->unit);
	return device->client;
}

/* With properties it could not be made again. */
static cl_mem child_create(cl_context context, const cl_mem_properties *properties,
			   cl_mem_flags flags, const cl_image_format *format,
			   const cl_image_desc *desc, void *host_ptr, cl_int *errcode_ret)
{
	struct slu_proxy *parent = slu_proxy_find(desc->mem_object), *child = NULL;
	struct slu_client_device *client;
	cl_image_desc inner = *desc;
	bool is_inside = false;
	cl_int r = CL_SUCCESS;
	cl_mem real = NULL;

	if (!parent)
		return slu_memory_answer(NULL, CL_INVALID_IMAGE_DESCRIPTOR, errcode_ret);
	if (properties && properties[0] && parent->root->is_movable)
		return slu_memory_answer(NULL, CL_INVALID_PROPERTY, errcode_ret);
	client = client_of(parent->root);
	if (client) {
		r = slu_layer_error(slu_client_command_begin(client, &parent->root->unit, 1));
		is_inside = !r;
	}
	if (!r)
		r = slu_bracket_real(parent, &inner.mem_object);
	if (!r)
		real = image_make(context, properties, flags, format, &inner, host_ptr, &r);
	if (!r)
		r = slu_memory_adopt(context, real, SLU_FROZEN_IMAGE, &(struct slu_reserve){ 0 },
				     parent, &child);
	if (!r)
		child_learn(child, flags, format, desc);
	if (is_inside)
		slu_client_command_end(client, &parent->root->unit, 1);
	return slu_memory_answer(r ? NULL : slu_proxy_handle(child), r, errcode_ret);
}

static bool image_is_within(cl_device_id device, cl_device_info what, size_t n)
{
	size_t max = 0;

	return slu_layer_next.clGetDeviceInfo(device, what, sizeof(max), &max, NULL) ==
		       CL_SUCCESS &&
	       n <= max;
}

static bool device_has_sides(cl_device_id device, const struct slu_shape *s)
{
	bool is_3d = s->desc.image_type == CL_MEM_OBJECT_IMAGE3D;

	if (is_3d)
		return image_is_within(device, CL_DEVICE_IMAGE3D_MAX_WIDTH, s->size[0]) &&
		       image_is_within(device, CL_DEVICE_IMAGE3D_MAX_HEIGHT, s->size[1]) &&
		       image_is_within(device, CL_DEVICE_IMAGE3D_MAX_DEPTH, s->size[2]);
	if (s->desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
		return image_is_within(device, CL_DEVICE_IMAGE2D_MAX_WIDTH, s->size[0]) &&
		       image_is_within(device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, s->size[1]);
	return image_is_within(device, CL_DEVICE_IMAGE2D_MAX_WIDTH, s->size[0]) &&
	       image_is_within(device, CL_DEVICE_IMAGE2D_MAX_HEIGHT, s->size[1]) &&
	       (s->size[2] == 1 ||
		image_is_within(device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, s->size[2]));
}

static bool context_has_sides(const struct slu_context *context, const struct slu_shape *s)
{
	for (unsigned i = 0; i < context->n_places; i++)
		if (!device_has_sides(context->places[i].handle, s))
			return false;
	return true;
}

/* Whether the driver makes such images at all, tried with one pixel. */
static bool context_has_format(cl_context context, cl_mem_flags flags, const struct slu_shape *s)
{
	cl_image_desc one = {
		.image_type = s->desc.image_type,
		.image_width = 1,
		.image_height = SLU_MIN(s->desc.image_height, (size_t)1),
		.image_depth = SLU_MIN(s->desc.image_depth, (size_t)1),
		.image_array_size = SLU_MIN(s->desc.image_array_size, (size_t)1),
	};
	cl_int r;
	cl_mem mem = slu_layer_next.clCreateImage(context, flags & SLU_MEMORY_ACCESS_FLAGS,
						  &s->format, &one, NULL, &r);

	if (r == CL_SUCCESS)
		slu_layer_next.clReleaseMemObject(mem);
	return r == CL_SUCCESS || slu_headroom_is_refusal(r);
}

static bool image_may_move(const struct making *m, struct slu_shape *ret_shape)
{
	const struct slu_context *context = m->known;

	return context->is_managed && m->format && !(m->properties && m->properties[0]) &&
	       !(m->flags & CL_MEM_ALLOC_HOST_PTR) &&
	       !(m->flags & ~(cl_mem_flags)SLU_MEMORY_KNOWN_FLAGS) &&
	       !slu_alloc_check_flags(m->flags, m->host_ptr) &&
	       slu_shape_init(ret_shape, m->format, m->desc, m->host_ptr != NULL) &&
	       slu_shape_bytes(ret_shape) <= context->max_alloc_bytes &&
	       context_has_sides(context, ret_shape) &&
	       context_has_format(m->context, m->flags, ret_shape);
}

/* Takes over the context's reference. */
static cl_int image_create_movable(struct making *m, const struct slu_shape *shape,
				   struct slu_proxy **ret_proxy)
{
	const struct slu_proxy like = {
		.type = shape->desc.image_type,
		.flags = m->flags,
		.size_bytes = slu_shape_bytes(shape),
		.host_ptr = m->flags & CL_MEM_USE_HOST_PTR ? m->host_ptr : NULL,
		.shape = *shape,
	};
	const void *initial = m->flags & CL_MEM_COPY_HOST_PTR ? m->host_ptr : NULL;
	void *packed = NULL;
	cl_int r;

	if (initial && !slu_shape_is_tight(shape)) {
		packed = malloc(like.size_bytes);
		if (!packed) {
			slu_context_unref(m->known);
			return CL_OUT_OF_HOST_MEMORY;
		}
		slu_shape_pack(shape, initial, packed);
		initial = packed;
	}
	r = slu_alloc_movable(m->known, &like, initial, ret_proxy);
	free(packed);
	if (!r && !like.host_ptr) /* the pitches were those of memory that is forgotten */
		slu_shape_init(&(*ret_proxy)->shape, m->format,
			       &(cl_image_desc){ .image_type = shape->desc.image_type,
						 .image_width = shape->desc.image_width,
						 .image_height = shape->desc.image_height,
						 .image_depth = shape->desc.image_depth,
						 .image_array_size = shape->desc.image_array_size },
			       false);
	return r;
}

static enum slu_frozen image_frozen_reason(cl_mem_flags flags)
{
	return flags & CL_MEM_ALLOC_HOST_PTR ? SLU_FROZEN_NO
	       : flags & CL_MEM_USE_HOST_PTR ? SLU_FROZEN_HOST_PTR
					     : SLU_FROZEN_IMAGE;
}

/* Takes over the context's reference. */
static cl_mem image_create_fixed(struct making *m, cl_int *errcode_ret)
{
	enum slu_frozen why = image_frozen_reason(m->flags);
	uint64_t bytes = image_guess_bytes(m);
	struct slu_reserve reserve = { 0 };
	cl_int r = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	cl_mem handle;

	if (why == SLU_FROZEN_NO || slu_memory_reserve(m->known, bytes, &reserve))
		r = slu_headroom_try(&m->headroom, m->known->payer, bytes);
	handle = slu_memory_hand_out(m->context, m->made, r, why, &reserve, errcode_ret);
	slu_memory_unreserve(&reserve);
	slu_context_unref(m->known);
	return handle;
}

static cl_mem image_create(cl_context context, const cl_mem_properties *properties,
			   cl_mem_flags flags, const cl_image_format *format,
			   const cl_image_desc *desc, void *host_ptr, cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = image_attempt,
			    .context = context,
			    .properties = properties,
			    .flags = flags,
			    .format = format,
			    .desc = desc,
			    .host_ptr = host_ptr };
	struct slu_proxy *proxy = NULL;
	struct slu_shape shape;
	cl_int r;

	if (desc && desc->mem_object)
		return child_create(context, properties, flags, format, desc, host_ptr,
				    errcode_ret);
	/* what is wrong with the call, the driver says best */
	if (!desc || slu_context_get(context, &m.known)) {
		m.made = image_make(context, properties, flags, format, desc, host_ptr, &r);
		return slu_memory_hand_out(context, m.made, r, SLU_FROZEN_IMAGE,
					   &(struct slu_reserve){ 0 }, errcode_ret);
	}
	if (image_may_move(&m, &shape)) {
		r = image_create_movable(&m, &shape, &proxy);
		return slu_memory_answer(r ? NULL : slu_proxy_handle(proxy), r, errcode_ret);
	}
	return image_create_fixed(&m, errcode_ret);
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_mem slu_call_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
			      const cl_image_desc *desc, void *host_ptr, cl_int *errcode_ret)
{
	return image_create(context, NULL, flags, format, desc, host_ptr, errcode_ret);
}

cl_mem slu_call_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
					    cl_mem_flags flags, const cl_image_format *format,
					    const cl_image_desc *desc, void *host_ptr,
					    cl_int *errcode_ret)
{
	return image_create(context, properties, flags, format, desc, host_ptr, errcode_ret);
}

cl_mem slu_call_clCreateImage2D(cl_context context, cl_mem_flags flags,
				const cl_image_format *format, size_t width, size_t height,
				size_t row_pitch, void *host_ptr, cl_int *errcode_ret)
{
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D,
		.image_width = width,
		.image_height = height,
		.image_row_pitch = row_pitch,
	};
	cl_mem real;
	cl_int r;

	if (width && height && (host_ptr || !row_pitch))
		return image_create(context, NULL, flags, format, &desc, host_ptr, errcode_ret);
	real = slu_layer_next.clCreateImage2D(context, flags, format, width, height, row_pitch,
					      host_ptr, &r);
	return slu_memory_hand_out(context, real, r, SLU_FROZEN_IMAGE, &(struct slu_reserve){ 0 },
				   errcode_ret);
}

cl_mem slu_call_clCreateImage3D(cl_context context, cl_mem_flags flags,
				const cl_image_format *format, size_t width, size_t height,
				size_t depth, size_t row_pitch, size_t slice_pitch, void *host_ptr,
				cl_int *errcode_ret)
{
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE3D,
		.image_width = width,
		.image_height = height,
		.image_depth = depth,
		.image_row_pitch = row_pitch,
		.image_slice_pitch = slice_pitch,
	};
	cl_mem real;
	cl_int r;

	if (width && height && depth && (host_ptr || !(row_pitch || slice_pitch)))
		return image_create(context, NULL, flags, format, &desc, host_ptr, errcode_ret);
	real = slu_layer_next.clCreateImage3D(context, flags, format, width, height, depth,
					      row_pitch, slice_pitch, host_ptr, &r);
	return slu_memory_hand_out(context, real, r, SLU_FROZEN_IMAGE, &(struct slu_reserve){ 0 },
				   errcode_ret);
}
