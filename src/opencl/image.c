/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Images, pipes and objects shared with other APIs: made by the driver, hidden behind proxies
 * like everything else, charged, and not moved. An image on a buffer is a child of that buffer
 * and keeps it in place.
 */

#include "base/util.h"
#include "opencl/bracket.h"
#include "opencl/memory.h"
#include "opencl/room.h"

/* The creation of an image, to be tried again where the driver has no room. */
struct making {
	struct slu_room room;
	struct slu_context *known;
	cl_context context;
	const cl_mem_properties *properties;
	cl_mem_flags flags;
	const cl_image_format *format;
	const cl_image_desc *desc;
	void *host_ptr;
	cl_mem made;
};

static cl_mem adopted(cl_context context, cl_mem real, cl_int r, enum slu_frozen why,
		      struct slu_proxy *parent, cl_int *errcode_ret)
{
	struct slu_proxy *proxy = NULL;

	if (r == CL_SUCCESS)
		r = slu_memory_adopt(context, real, why, parent, &proxy);
	return slu_memory_answer(r ? NULL : slu_proxy_handle(proxy), r, errcode_ret);
}

static cl_mem make(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
		   const cl_image_format *format, const cl_image_desc *desc, void *host_ptr,
		   cl_int *ret_r)
{
	if (properties && properties[0])
		return slu_layer_next.clCreateImageWithProperties(context, properties, flags,
								  format, desc, host_ptr, ret_r);
	return slu_layer_next.clCreateImage(context, flags, format, desc, host_ptr, ret_r);
}

static cl_int attempt(struct slu_room *room)
{
	struct making *m = slu_container_of(room, struct making, room);
	cl_int r = CL_SUCCESS;

	m->made = make(m->context, m->properties, m->flags, m->format, m->desc, m->host_ptr, &r);
	return r ? r : slu_room_prove(m->known, m->made);
}

/* A guess at what it takes; the driver's own measure is known only afterwards. */
static uint64_t guess_bytes(const cl_image_desc *desc)
{
	uint64_t n = SLU_MAX(desc->image_width, (size_t)1);

	n *= SLU_MAX(desc->image_height, (size_t)1);
	n *= SLU_MAX(desc->image_depth, (size_t)1);
	n *= SLU_MAX(desc->image_array_size, (size_t)1);
	return n * 4;
}

static cl_mem create_on(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
			const cl_image_format *format, const cl_image_desc *desc, void *host_ptr,
			cl_int *errcode_ret)
{
	struct slu_proxy *parent = slu_proxy_find(desc->mem_object);
	struct slu_client_device *client;
	cl_image_desc inner = *desc;
	cl_mem real = NULL, image;
	bool is_inside = false;
	cl_int r = CL_SUCCESS;

	if (!parent)
		return slu_memory_answer(NULL, CL_INVALID_IMAGE_DESCRIPTOR, errcode_ret);
	client = parent->root->device ? parent->root->device->client : NULL;
	if (client && parent->root->unit) {
		r = slu_layer_error(slu_client_command_begin(client, &parent->root->unit, 1));
		is_inside = !r;
	}
	if (!r)
		r = slu_bracket_real(parent, &inner.mem_object);
	if (!r)
		real = make(context, properties, flags, format, &inner, host_ptr, &r);
	image = adopted(context, real, r, SLU_FROZEN_IMAGE, parent, errcode_ret);
	if (is_inside)
		slu_client_command_end(client, &parent->root->unit, 1);
	return image;
}

static cl_mem create(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
		     const cl_image_format *format, const cl_image_desc *desc, void *host_ptr,
		     cl_int *errcode_ret)
{
	struct making m = { .room.attempt = attempt,
			    .context = context,
			    .properties = properties,
			    .flags = flags,
			    .format = format,
			    .desc = desc,
			    .host_ptr = host_ptr };
	cl_int r;

	if (desc && desc->mem_object)
		return create_on(context, properties, flags, format, desc, host_ptr, errcode_ret);
	/* what is wrong with the call, the driver says best */
	if (!desc || slu_context_get(context, &m.known)) {
		m.made = make(context, properties, flags, format, desc, host_ptr, &r);
		return adopted(context, m.made, r, SLU_FROZEN_IMAGE, NULL, errcode_ret);
	}
	r = slu_room_try(&m.room, m.known->payer, guess_bytes(desc));
	slu_context_unref(m.known);
	return adopted(context, m.made, r,
		       flags & CL_MEM_USE_HOST_PTR ? SLU_FROZEN_HOST_PTR : SLU_FROZEN_IMAGE, NULL,
		       errcode_ret);
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_mem slu_call_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
			      const cl_image_desc *desc, void *host_ptr, cl_int *errcode_ret)
{
	return create(context, NULL, flags, format, desc, host_ptr, errcode_ret);
}

cl_mem slu_call_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
					    cl_mem_flags flags, const cl_image_format *format,
					    const cl_image_desc *desc, void *host_ptr,
					    cl_int *errcode_ret)
{
	return create(context, properties, flags, format, desc, host_ptr, errcode_ret);
}

cl_mem slu_call_clCreateImage2D(cl_context context, cl_mem_flags flags,
				const cl_image_format *format, size_t width, size_t height,
				size_t row_pitch, void *host_ptr, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateImage2D(context, flags, format, width, height,
						     row_pitch, host_ptr, &r);

	return adopted(context, real, r, SLU_FROZEN_IMAGE, NULL, errcode_ret);
}

cl_mem slu_call_clCreateImage3D(cl_context context, cl_mem_flags flags,
				const cl_image_format *format, size_t width, size_t height,
				size_t depth, size_t row_pitch, size_t slice_pitch, void *host_ptr,
				cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateImage3D(context, flags, format, width, height, depth,
						     row_pitch, slice_pitch, host_ptr, &r);

	return adopted(context, real, r, SLU_FROZEN_IMAGE, NULL, errcode_ret);
}

cl_mem slu_call_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size,
			     cl_uint max_packets, const cl_pipe_properties *properties,
			     cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreatePipe(context, flags, packet_size, max_packets,
						  properties, &r);

	return adopted(context, real, r, SLU_FROZEN_OTHER, NULL, errcode_ret);
}

cl_mem slu_call_clCreateFromGLBuffer(cl_context context, cl_mem_flags flags, cl_GLuint bufobj,
				     cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLBuffer(context, flags, bufobj, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, NULL, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture(cl_context context, cl_mem_flags flags, cl_GLenum target,
				      cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real =
		slu_layer_next.clCreateFromGLTexture(context, flags, target, miplevel, texture, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, NULL, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags, cl_GLenum target,
					cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLTexture2D(context, flags, target, miplevel,
							     texture, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, NULL, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture3D(cl_context context, cl_mem_flags flags, cl_GLenum target,
					cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLTexture3D(context, flags, target, miplevel,
							     texture, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, NULL, errcode_ret);
}

cl_mem slu_call_clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags flags,
					   cl_GLuint renderbuffer, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLRenderbuffer(context, flags, renderbuffer, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, NULL, errcode_ret);
}

cl_mem slu_call_clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR display,
					CLeglImageKHR image, cl_mem_flags flags,
					const cl_egl_image_properties_khr *properties,
					cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromEGLImageKHR(context, display, image, flags,
							     properties, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, NULL, errcode_ret);
}
