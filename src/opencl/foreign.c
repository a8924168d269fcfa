/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pipes, and objects shared with other APIs: made by the driver, hidden behind proxies like
 * everything else, charged, and not moved, because somebody else holds their memory too.
 */

#include "opencl/memory.h"

static cl_mem adopted(cl_context context, cl_mem real, cl_int r, enum slu_frozen why,
		      cl_int *errcode_ret)
{
	struct slu_proxy *proxy = NULL;

	if (r == CL_SUCCESS)
		r = slu_memory_adopt(context, real, why, NULL, &proxy);
	return slu_memory_answer(r ? NULL : slu_proxy_handle(proxy), r, errcode_ret);
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_mem slu_call_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size,
			     cl_uint max_packets, const cl_pipe_properties *properties,
			     cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreatePipe(context, flags, packet_size, max_packets,
						  properties, &r);

	return adopted(context, real, r, SLU_FROZEN_OTHER, errcode_ret);
}

cl_mem slu_call_clCreateFromGLBuffer(cl_context context, cl_mem_flags flags, cl_GLuint bufobj,
				     cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLBuffer(context, flags, bufobj, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture(cl_context context, cl_mem_flags flags, cl_GLenum target,
				      cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real =
		slu_layer_next.clCreateFromGLTexture(context, flags, target, miplevel, texture, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags, cl_GLenum target,
					cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLTexture2D(context, flags, target, miplevel,
							     texture, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromGLTexture3D(cl_context context, cl_mem_flags flags, cl_GLenum target,
					cl_GLint miplevel, cl_GLuint texture, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLTexture3D(context, flags, target, miplevel,
							     texture, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags flags,
					   cl_GLuint renderbuffer, cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromGLRenderbuffer(context, flags, renderbuffer, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, errcode_ret);
}

cl_mem slu_call_clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR display,
					CLeglImageKHR image, cl_mem_flags flags,
					const cl_egl_image_properties_khr *properties,
					cl_int *errcode_ret)
{
	cl_int r;
	cl_mem real = slu_layer_next.clCreateFromEGLImageKHR(context, display, image, flags,
							     properties, &r);

	return adopted(context, real, r, SLU_FROZEN_EXPORTED, errcode_ret);
}
