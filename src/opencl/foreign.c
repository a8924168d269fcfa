/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pipes, and objects shared with other APIs. The driver creates them; they have proxies like all
 * objects, are charged, and do not move, because another API uses their memory too. Others give way
 * where the driver has no memory for one.
 */

#include "base/util.h"
#include "opencl/headroom.h"
#include "opencl/memory.h"

/* The creation of one, to be tried again; each attempt reads what belongs to its call. */
struct making {
	struct slu_headroom headroom;
	cl_context context;
	cl_mem_flags flags;
	cl_mem made;

	cl_uint packet_size, max_packets;
	const cl_pipe_properties *pipe_properties;

	cl_api_clCreateFromGLBuffer by_name;
	cl_GLuint name;

	cl_api_clCreateFromGLTexture by_texture;
	cl_GLenum target;
	cl_GLint miplevel;

	CLeglDisplayKHR display;
	CLeglImageKHR image;
	const cl_egl_image_properties_khr *egl_properties;
};

static cl_int pipe_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	m->made = slu_layer_next.clCreatePipe(m->context, m->flags, m->packet_size, m->max_packets,
					      m->pipe_properties, &r);
	return r;
}

static cl_int name_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	m->made = m->by_name(m->context, m->flags, m->name, &r);
	return r;
}

static cl_int texture_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	m->made = m->by_texture(m->context, m->flags, m->target, m->miplevel, m->name, &r);
	return r;
}

static cl_int egl_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	m->made = slu_layer_next.clCreateFromEGLImageKHR(m->context, m->display, m->image, m->flags,
							 m->egl_properties, &r);
	return r;
}

/* A call with an invalid context goes to the driver, which knows the right error. */
static cl_mem foreign_make(struct making *m, uint64_t bytes, enum slu_frozen why,
			   cl_int *errcode_ret)
{
	struct slu_reserve reserve = { 0 };
	struct slu_context *context;
	cl_mem handle;
	cl_int r;

	if (slu_context_get(m->context, &context)) {
		r = m->headroom.attempt(&m->headroom);
		return slu_memory_hand_out(m->context, m->made, r, why, &reserve, errcode_ret);
	}
	r = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	if (slu_memory_reserve(context, bytes, &reserve))
		r = slu_headroom_try(&m->headroom, context->payer, bytes);
	handle = slu_memory_hand_out(m->context, m->made, r, why, &reserve, errcode_ret);
	slu_memory_unreserve(&reserve);
	slu_context_unref(context);
	return handle;
}

/* -- the calls: the size of memory of another API is not known beforehand --------------------- */

cl_mem slu_call_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size,
			     cl_uint max_packets, const cl_pipe_properties *properties,
			     cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = pipe_attempt,
			    .context = context,
			    .flags = flags,
			    .packet_size = packet_size,
			    .max_packets = max_packets,
			    .pipe_properties = properties };

	return foreign_make(&m, (uint64_t)packet_size * max_packets, SLU_FROZEN_OTHER, errcode_ret);
}

static cl_mem foreign_make_by_name(cl_api_clCreateFromGLBuffer call, cl_context context,
				   cl_mem_flags flags, cl_GLuint name, cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = name_attempt,
			    .context = context,
			    .flags = flags,
			    .by_name = call,
			    .name = name };

	return foreign_make(&m, 0, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromGLBuffer(cl_context context, cl_mem_flags flags, cl_GLuint bufobj,
				     cl_int *errcode_ret)
{
	return foreign_make_by_name(slu_layer_next.clCreateFromGLBuffer, context, flags, bufobj,
				    errcode_ret);
}

cl_mem slu_call_clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags flags,
					   cl_GLuint renderbuffer, cl_int *errcode_ret)
{
	return foreign_make_by_name(slu_layer_next.clCreateFromGLRenderbuffer, context, flags,
				    renderbuffer, errcode_ret);
}

static cl_mem foreign_make_by_texture(cl_api_clCreateFromGLTexture call, cl_context context,
				      cl_mem_flags flags, cl_GLenum target, cl_GLint miplevel,
				      cl_GLuint texture, cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = texture_attempt,
			    .context = context,
			    .flags = flags,
			    .by_texture = call,
			    .target = target,
			    .miplevel = miplevel,
			    .name = texture };

	return foreign_make(&m, 0, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture(cl_context context, cl_mem_flags flags, cl_GLenum target,
				      cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	return foreign_make_by_texture(slu_layer_next.clCreateFromGLTexture, context, flags, target,
				       miplevel, texture, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags, cl_GLenum target,
					cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	return foreign_make_by_texture(slu_layer_next.clCreateFromGLTexture2D, context, flags,
				       target, miplevel, texture, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture3D(cl_context context, cl_mem_flags flags, cl_GLenum target,
					cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	return foreign_make_by_texture(slu_layer_next.clCreateFromGLTexture3D, context, flags,
				       target, miplevel, texture, errcode_ret);
}

cl_mem slu_call_clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR display,
					CLeglImageKHR image, cl_mem_flags flags,
					const cl_egl_image_properties_khr *properties,
					cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = egl_attempt,
			    .context = context,
			    .flags = flags,
			    .display = display,
			    .image = image,
			    .egl_properties = properties };

	return foreign_make(&m, 0, SLU_FROZEN_EXPORTED, errcode_ret);
}
