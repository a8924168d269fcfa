/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Buffers and sub-buffers.
 *
 * A new buffer may have no object of the driver behind it (the client decides), so the layer itself
 * finds what is wrong with a size, a flag or a pointer, as the driver would. Calls with unknown
 * flags or properties go to the driver at once, and their buffers do not move. Memory that the
 * driver allocates on the host (CL_MEM_ALLOC_HOST_PTR) is the device's only by name: programs keep
 * it mapped for life. It stays in place and is not charged.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/alloc.h"
#include "opencl/bracket.h"
#include "opencl/headroom.h"
#include "opencl/memory.h"

static cl_int buffer_check(const struct slu_context *context, cl_mem_flags flags, size_t size,
			   const void *host_ptr)
{
	cl_int r = slu_alloc_check_flags(flags, host_ptr);

	if (!r && (!size || size > context->max_alloc_bytes))
		r = CL_INVALID_BUFFER_SIZE;
	return r;
}

static cl_int buffer_create_movable(struct slu_context *context, cl_mem_flags flags, size_t size,
				    void *host_ptr, struct slu_proxy **ret_proxy)
{
	const struct slu_proxy like = {
		.type = CL_MEM_OBJECT_BUFFER,
		.flags = flags,
		.size_bytes = size,
		.host_ptr = flags & CL_MEM_USE_HOST_PTR ? host_ptr : NULL,
	};

	return slu_alloc_movable(context, &like, flags & CL_MEM_COPY_HOST_PTR ? host_ptr : NULL,
				 ret_proxy);
}

static bool buffer_may_move(const struct slu_context *context, cl_mem_flags flags,
			    bool has_properties)
{
	return context->is_managed && !has_properties && !(flags & CL_MEM_ALLOC_HOST_PTR) &&
	       !(flags & ~(cl_mem_flags)SLU_MEMORY_KNOWN_FLAGS);
}

static enum slu_frozen buffer_frozen_reason(cl_mem_flags flags)
{
	return flags & CL_MEM_ALLOC_HOST_PTR ? SLU_FROZEN_NO
	       : flags & CL_MEM_USE_HOST_PTR ? SLU_FROZEN_HOST_PTR
					     : SLU_FROZEN_OTHER;
}

struct making {
	struct slu_headroom headroom;
	struct slu_context *known;
	cl_context context;
	const cl_mem_properties *properties;
	cl_mem_flags flags;
	size_t size;
	void *host_ptr;
	cl_mem made;
};

static cl_int buffer_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	if (m->properties && m->properties[0])
		m->made = slu_layer_next.clCreateBufferWithProperties(
			m->context, m->properties, m->flags, m->size, m->host_ptr, &r);
	else
		m->made = slu_layer_next.clCreateBuffer(m->context, m->flags, m->size, m->host_ptr,
							&r);
	return r ? r : slu_headroom_prove(m->known, m->made);
}

static cl_int buffer_create_fixed(struct slu_context *context, struct making *m,
				  enum slu_frozen why, struct slu_proxy **ret_proxy)
{
	struct slu_reserve reserve = { 0 };
	cl_int r;

	if (why != SLU_FROZEN_NO && !slu_memory_reserve(context, m->size, &reserve)) {
		slu_context_unref(context);
		return CL_MEM_OBJECT_ALLOCATION_FAILURE;
	}
	m->known = context;
	r = slu_headroom_try(&m->headroom, context->payer, m->size);
	if (r == CL_SUCCESS)
		r = slu_memory_adopt(m->context, m->made, why, &reserve, NULL, ret_proxy);
	if (r == CL_SUCCESS && (m->flags & CL_MEM_USE_HOST_PTR))
		(*ret_proxy)->host_ptr = m->host_ptr;
	slu_memory_unreserve(&reserve);
	slu_context_unref(context);
	return r;
}

static cl_mem buffer_create(cl_context handle, const cl_mem_properties *properties,
			    cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = buffer_attempt,
			    .context = handle,
			    .properties = properties,
			    .flags = flags,
			    .size = size,
			    .host_ptr = host_ptr };
	struct slu_context *context;
	struct slu_proxy *proxy = NULL;
	cl_int r;

	r = slu_context_get(handle, &context);
	if (r)
		return slu_memory_answer(NULL, r, errcode_ret);
	if (!buffer_may_move(context, flags, properties && properties[0])) {
		r = buffer_create_fixed(context, &m, buffer_frozen_reason(flags), &proxy);
	} else {
		r = buffer_check(context, flags, size, host_ptr);
		if (r)
			slu_context_unref(context);
		else
			r = buffer_create_movable(context, flags, size, host_ptr, &proxy);
	}
	return slu_memory_answer(r ? NULL : slu_proxy_handle(proxy), r, errcode_ret);
}

/*
 * What a sub-buffer may say differs from its parent only within what the parent allows; what it
 * does not say it inherits.
 */
static cl_int sub_buffer_inherit(const struct slu_proxy *parent, cl_mem_flags flags,
				 cl_mem_flags *ret_flags)
{
	cl_mem_flags above = parent->flags;

	if ((flags & ~(cl_mem_flags)(SLU_MEMORY_ACCESS_FLAGS | SLU_MEMORY_HOST_ACCESS_FLAGS)) ||
	    !slu_memory_is_one_at_most(flags & SLU_MEMORY_ACCESS_FLAGS) ||
	    !slu_memory_is_one_at_most(flags & SLU_MEMORY_HOST_ACCESS_FLAGS))
		return CL_INVALID_VALUE;
	if ((above & CL_MEM_WRITE_ONLY) && (flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)))
		return CL_INVALID_VALUE;
	if ((above & CL_MEM_READ_ONLY) && (flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)))
		return CL_INVALID_VALUE;
	if ((above & CL_MEM_HOST_WRITE_ONLY) && (flags & CL_MEM_HOST_READ_ONLY))
		return CL_INVALID_VALUE;
	if ((above & CL_MEM_HOST_READ_ONLY) && (flags & CL_MEM_HOST_WRITE_ONLY))
		return CL_INVALID_VALUE;
	if ((above & CL_MEM_HOST_NO_ACCESS) &&
	    (flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)))
		return CL_INVALID_VALUE;
	*ret_flags = slu_memory_inherit(above, flags);
	return CL_SUCCESS;
}

static cl_int sub_buffer_check_region(const struct slu_proxy *parent, cl_buffer_create_type type,
				      const cl_buffer_region *region)
{
	if (type != CL_BUFFER_CREATE_TYPE_REGION || !region)
		return CL_INVALID_VALUE;
	if (!region->size)
		return CL_INVALID_BUFFER_SIZE;
	if (region->origin > parent->size_bytes ||
	    region->size > parent->size_bytes - region->origin)
		return CL_INVALID_VALUE;
	if (region->origin % parent->context->align_bytes)
		return CL_MISALIGNED_SUB_BUFFER_OFFSET;
	return CL_SUCCESS;
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_mem slu_call_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr,
			       cl_int *errcode_ret)
{
	return buffer_create(context, NULL, flags, size, host_ptr, errcode_ret);
}

cl_mem slu_call_clCreateBufferWithProperties(cl_context context,
					     const cl_mem_properties *properties,
					     cl_mem_flags flags, size_t size, void *host_ptr,
					     cl_int *errcode_ret)
{
	return buffer_create(context, properties, flags, size, host_ptr, errcode_ret);
}

cl_mem slu_call_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
				  const void *info, cl_int *errcode_ret)
{
	struct slu_proxy *parent = slu_proxy_find(buffer), *proxy;
	const cl_buffer_region *region = info;
	cl_mem real = NULL;
	cl_int r;

	if (!parent || parent->type != CL_MEM_OBJECT_BUFFER || parent->root != parent)
		return slu_memory_answer(NULL, CL_INVALID_MEM_OBJECT, errcode_ret);
	if (parent->is_movable) {
		cl_mem_flags full;

		r = sub_buffer_inherit(parent, flags, &full);
		if (!r)
			r = sub_buffer_check_region(parent, type, region);
		flags = full;
	} else {
		real = slu_layer_next.clCreateSubBuffer(parent->real, flags, type, info, &r);
	}
	if (!r && slu_proxy_new(&proxy)) {
		if (real)
			slu_layer_next.clReleaseMemObject(real);
		r = CL_OUT_OF_HOST_MEMORY;
	}
	if (r)
		return slu_memory_answer(NULL, r, errcode_ret);

	proxy->dispatch = parent->dispatch;
	proxy->context = parent->context;
	proxy->device = parent->device;
	proxy->type = CL_MEM_OBJECT_BUFFER;
	proxy->flags = flags;
	if (real)
		slu_layer_next.clGetMemObjectInfo(real, CL_MEM_FLAGS, sizeof(proxy->flags),
						  &proxy->flags, NULL);
	proxy->origin_bytes = region->origin;
	proxy->size_bytes = region->size;
	proxy->host_ptr = parent->host_ptr ? (char *)parent->host_ptr + region->origin : NULL;
	proxy->root = proxy->parent = parent;
	proxy->real = real;
	proxy->generation = parent->is_movable ? 0 : 1;
	slu_proxy_ref(parent);
	slu_layer_take();
	LIST_INSERT_HEAD(&parent->children, proxy, sibling);
	slu_layer_give();
	return slu_memory_answer(slu_proxy_handle(proxy), CL_SUCCESS, errcode_ret);
}
