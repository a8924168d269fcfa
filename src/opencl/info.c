/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Queries of the program. The answers hide where an object is, and the references that the layer
 * holds. A movable object may have no driver's object behind it, so the proxy answers everything
 * about it; of other objects the proxy answers only what differs from the driver's answer.
 */

#include "base/util.h"
#include "opencl/command.h"
#include "opencl/context.h"
#include "opencl/proxy.h"

static cl_int answer_handle(cl_mem value, size_t size, void *param, size_t *ret_size)
{
	return slu_layer_answer(&value, sizeof(value), size, param, ret_size);
}

static cl_int answer_size(size_t value, size_t size, void *param, size_t *ret_size)
{
	return slu_layer_answer(&value, sizeof(value), size, param, ret_size);
}

static cl_int answer_uint(cl_uint value, size_t size, void *param, size_t *ret_size)
{
	return slu_layer_answer(&value, sizeof(value), size, param, ret_size);
}

static cl_int answer_movable(struct slu_proxy *proxy, cl_mem_info what, size_t size, void *param,
			     size_t *ret_size)
{
	cl_context context = proxy->context->handle;
	cl_bool is_in_svm = proxy->is_in_svm;

	switch (what) {
	case CL_MEM_TYPE:
		return answer_uint(proxy->type, size, param, ret_size);
	case CL_MEM_FLAGS:
		return slu_layer_answer(&proxy->flags, sizeof(proxy->flags), size, param, ret_size);
	case CL_MEM_SIZE:
		return answer_size(proxy->size_bytes, size, param, ret_size);
	case CL_MEM_HOST_PTR:
		return slu_layer_answer(&proxy->host_ptr, sizeof(proxy->host_ptr), size, param,
					ret_size);
	case CL_MEM_CONTEXT:
		return slu_layer_answer(&context, sizeof(context), size, param, ret_size);
	case CL_MEM_OFFSET:
		return answer_size(proxy->origin_bytes, size, param, ret_size);
	case CL_MEM_USES_SVM_POINTER:
		return slu_layer_answer(&is_in_svm, sizeof(is_in_svm), size, param, ret_size);
	case CL_MEM_PROPERTIES:
		return slu_layer_answer(NULL, 0, size, param, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_uint n_maps(const struct slu_proxy *proxy)
{
	cl_uint n;

	slu_layer_take();
	n = proxy->n_maps;
	slu_layer_give();
	return n;
}

cl_int slu_call_clGetMemObjectInfo(cl_mem handle, cl_mem_info what, size_t size, void *param,
				   size_t *ret_size)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);

	if (!proxy)
		return CL_INVALID_MEM_OBJECT;
	switch (what) {
	case CL_MEM_REFERENCE_COUNT:
		return answer_uint(atomic_load(&proxy->n_refs), size, param, ret_size);
	case CL_MEM_MAP_COUNT:
		return answer_uint(n_maps(proxy), size, param, ret_size);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		return answer_handle(proxy->parent ? slu_proxy_handle(proxy->parent) : NULL, size,
				     param, ret_size);
	default:
		break;
	}
	if (proxy->root->is_movable)
		return answer_movable(proxy, what, size, param, ret_size);
	return slu_layer_next.clGetMemObjectInfo(proxy->real, what, size, param, ret_size);
}

static cl_int answer_shape(const struct slu_shape *s, cl_image_info what, size_t size, void *param,
			   size_t *ret_size)
{
	const cl_image_desc *d = &s->desc;
	bool is_1d = d->image_type == CL_MEM_OBJECT_IMAGE1D ||
		     d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ||
		     d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
	bool is_array = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ||
			d->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;

	switch (what) {
	case CL_IMAGE_FORMAT:
		return slu_layer_answer(&s->format, sizeof(s->format), size, param, ret_size);
	case CL_IMAGE_ELEMENT_SIZE:
		return answer_size(s->element_bytes, size, param, ret_size);
	case CL_IMAGE_ROW_PITCH:
		return answer_size(s->row_pitch, size, param, ret_size);
	case CL_IMAGE_SLICE_PITCH:
		return answer_size(s->slice_pitch, size, param, ret_size);
	case CL_IMAGE_WIDTH:
		return answer_size(d->image_width, size, param, ret_size);
	case CL_IMAGE_HEIGHT:
		return answer_size(is_1d ? 0 : d->image_height, size, param, ret_size);
	case CL_IMAGE_DEPTH:
		return answer_size(d->image_type == CL_MEM_OBJECT_IMAGE3D ? d->image_depth : 0,
				   size, param, ret_size);
	case CL_IMAGE_ARRAY_SIZE:
		return answer_size(is_array ? d->image_array_size : 0, size, param, ret_size);
	case CL_IMAGE_NUM_MIP_LEVELS:
	case CL_IMAGE_NUM_SAMPLES:
		return answer_uint(0, size, param, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int slu_call_clGetImageInfo(cl_mem handle, cl_image_info what, size_t size, void *param,
			       size_t *ret_size)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);
	bool is_on_buffer;

	if (!proxy || proxy->type == CL_MEM_OBJECT_BUFFER || proxy->type == CL_MEM_OBJECT_PIPE)
		return CL_INVALID_MEM_OBJECT;
	is_on_buffer = proxy->parent && proxy->parent->type == CL_MEM_OBJECT_BUFFER;
	if (what == CL_IMAGE_BUFFER)
		return answer_handle(is_on_buffer ? slu_proxy_handle(proxy->parent) : NULL, size,
				     param, ret_size);
	if (proxy->root->is_movable)
		return answer_shape(&proxy->shape, what, size, param, ret_size);
	return slu_layer_next.clGetImageInfo(proxy->real, what, size, param, ret_size);
}

cl_int slu_call_clGetPipeInfo(cl_mem handle, cl_pipe_info what, size_t size, void *param,
			      size_t *ret_size)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);

	if (!proxy || proxy->type != CL_MEM_OBJECT_PIPE)
		return CL_INVALID_MEM_OBJECT;
	return slu_layer_next.clGetPipeInfo(proxy->real, what, size, param, ret_size);
}

/* Objects shared with GL are never movable: their real handle is always there. */
cl_int slu_call_clGetGLObjectInfo(cl_mem handle, cl_gl_object_type *type, cl_GLuint *name)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);

	if (!proxy)
		return CL_INVALID_MEM_OBJECT;
	if (proxy->root->is_movable)
		return CL_INVALID_GL_OBJECT;
	return slu_layer_next.clGetGLObjectInfo(proxy->real, type, name);
}

cl_int slu_call_clGetGLTextureInfo(cl_mem handle, cl_gl_texture_info what, size_t size, void *param,
				   size_t *ret_size)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);

	if (!proxy)
		return CL_INVALID_MEM_OBJECT;
	if (proxy->root->is_movable)
		return CL_INVALID_GL_OBJECT;
	return slu_layer_next.clGetGLTextureInfo(proxy->real, what, size, param, ret_size);
}

/* A count less what is ours, but an object that can be asked has one reference at least. */
static void take_off(cl_uint n_hidden, size_t size, void *param)
{
	cl_uint *count = param;

	if (param && size >= sizeof(*count))
		*count = *count > n_hidden ? *count - n_hidden : SLU_MIN(*count, 1u);
}

cl_int slu_call_clGetContextInfo(cl_context context, cl_context_info what, size_t size, void *param,
				 size_t *ret_size)
{
	cl_int r = slu_layer_next.clGetContextInfo(context, what, size, param, ret_size);

	if (r == CL_SUCCESS && what == CL_CONTEXT_REFERENCE_COUNT)
		take_off(slu_context_n_hidden(context), size, param);
	return r;
}

cl_int slu_call_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *param,
			       size_t *ret_size)
{
	cl_int r = slu_layer_next.clGetEventInfo(event, what, size, param, ret_size);

	if (r == CL_SUCCESS && what == CL_EVENT_REFERENCE_COUNT)
		take_off(slu_queue_hides_event(event) ? 1 : 0, size, param);
	return r;
}
