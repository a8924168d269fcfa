/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/alloc.h"

#include "base/util.h"
#include "opencl/memory.h"
#include "opencl/real.h"
#include "opencl/svm.h"

cl_int slu_alloc_check_flags(cl_mem_flags flags, const void *host_ptr)
{
	bool wants_ptr = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);

	if (!slu_memory_is_one_at_most(flags & SLU_MEMORY_ACCESS_FLAGS) ||
	    !slu_memory_is_one_at_most(flags & SLU_MEMORY_HOST_ACCESS_FLAGS))
		return CL_INVALID_VALUE;
	if ((flags & CL_MEM_USE_HOST_PTR) &&
	    (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
		return CL_INVALID_VALUE;
	if (wants_ptr != (host_ptr != NULL))
		return CL_INVALID_HOST_PTR;
	return CL_SUCCESS;
}

static cl_int alloc_write(struct slu_proxy *proxy, const void *initial)
{
	cl_event event;
	cl_int r = slu_real_copy(proxy, proxy->device, SLU_DIRECTION_IN, 0, (void *)initial,
				 proxy->size_bytes, &event);

	if (r == CL_SUCCESS && event) {
		r = slu_layer_next.clWaitForEvents(1, &event);
		slu_layer_next.clReleaseEvent(event);
	}
	return r;
}

/*
 * Writes the first contents after the allocation: in RAM into the backing. On the device they may
 * have come with the creation of the object; but if the unit has moved since, they are lost,
 * because it did not count as dirty yet.
 */
static cl_int alloc_fill(struct slu_proxy *proxy, const void *initial, bool came_with_creation)
{
	struct slu_client_device *client = proxy->device->client;
	cl_int e = CL_SUCCESS;
	int r;

	r = slu_client_unit_access(proxy->unit, SLU_DIRECTION_IN, 0, (void *)initial,
				   proxy->size_bytes);
	if (r != SLU_CLIENT_E_ON_DEVICE)
		return slu_layer_error(r);
	r = slu_client_command_begin(client, &proxy->unit, 1);
	if (r)
		return slu_layer_error(r);
	if (!came_with_creation || proxy->generation != 1)
		e = alloc_write(proxy, initial);
	if (e == CL_SUCCESS)
		slu_client_unit_dirty(proxy->unit);
	slu_client_command_end(client, &proxy->unit, 1);
	return e;
}

static cl_int alloc_unit(struct slu_proxy *proxy, const void *initial)
{
	struct slu_client_device *client = proxy->device->client;
	uint64_t reserved = proxy->size_bytes;
	int r;

	if (!slu_client_device_reserve(client, reserved, reserved))
		return slu_layer_error(SLU_CLIENT_E_NO_MEMORY);
	slu_layer_next.clRetainContext(proxy->context->handle);
	proxy->holds_context = true;
	atomic_store(&proxy->initial, initial);
	r = slu_client_unit_new_reserved(client, proxy->size_bytes, SLU_FROZEN_NO, &reserved, proxy,
					 &proxy->unit);
	slu_client_device_unreserve(client, reserved);
	if (r) {
		atomic_store(&proxy->initial, NULL);
		return r < 0 && proxy->create_error ? proxy->create_error : slu_layer_error(r);
	}
	if (!initial)
		return CL_SUCCESS;
	return alloc_fill(proxy, initial, atomic_exchange(&proxy->initial, NULL) == NULL);
}

/* With several devices, the one that has least of ours; the first command takes it where it runs.
 */
static struct slu_device *alloc_choose_device(const struct slu_context *context)
{
	struct slu_device *best = context->payer;
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < context->n_places && context->n_places > 1; i++) {
		struct slu_device *device = context->places[i].device;
		uint64_t owned = slu_client_device_owned(device->client);

		if (owned < least) {
			best = device;
			least = owned;
		}
	}
	return best;
}

cl_int slu_alloc_movable(struct slu_context *context, const struct slu_proxy *like,
			 const void *initial, struct slu_proxy **ret_proxy)
{
	struct slu_proxy *proxy;
	cl_int r;

	if (slu_proxy_new(&proxy)) {
		slu_context_unref(context);
		return CL_OUT_OF_HOST_MEMORY;
	}
	proxy->dispatch = context->dispatch;
	proxy->context = context;
	proxy->device = alloc_choose_device(context);
	proxy->type = like->type;
	proxy->flags = like->flags;
	if (!proxy->flags)
		proxy->flags = CL_MEM_READ_WRITE;
	proxy->size_bytes = like->size_bytes;
	proxy->host_ptr = like->host_ptr;
	proxy->is_in_svm = like->host_ptr && slu_svm_has(like->host_ptr);
	proxy->shape = like->shape;
	proxy->is_movable = true;
	r = alloc_unit(proxy, initial);
	if (r != CL_SUCCESS) {
		slu_proxy_unref(proxy);
		slu_memory_release_later(proxy);
		return r;
	}
	*ret_proxy = proxy;
	return CL_SUCCESS;
}
