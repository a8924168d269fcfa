/* SPDX-License-Identifier: Apache-2.0 */

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/headroom.h"
#include "opencl/proxy.h"

/* The guess where nothing is known: what contexts and queues cost is of this order. */
#define GUESS_BYTES (4 * SLU_MIB)

bool slu_headroom_is_refusal(cl_int r)
{
	return r == CL_MEM_OBJECT_ALLOCATION_FAILURE || r == CL_OUT_OF_RESOURCES ||
	       r == CL_OUT_OF_HOST_MEMORY;
}

bool slu_headroom_must_prove(const struct slu_context *context, struct slu_device *device,
			     bool is_sure)
{
	return (!is_sure && !atomic_load(&device->is_eager)) ||
	       (context->n_places > 1 && slu_device_expects_manager());
}

cl_int slu_headroom_prove(struct slu_context *context, cl_mem real)
{
	cl_command_queue queue;
	cl_event event;
	cl_int r;

	if (!context->payer || !slu_headroom_must_prove(context, context->payer, false))
		return CL_SUCCESS;
	queue = slu_context_queue(context, context->payer, SLU_DIRECTION_IN);
	if (!queue)
		return CL_SUCCESS;
	r = slu_layer_next.clEnqueueMigrateMemObjects(queue, 1, &real, 0, 0, NULL, &event);
	if (r == CL_SUCCESS) {
		r = slu_layer_next.clWaitForEvents(1, &event);
		slu_layer_next.clReleaseEvent(event);
	}
	if (!slu_headroom_is_refusal(r))
		return CL_SUCCESS; /* a driver that cannot do this has said nothing about memory */
	slu_layer_next.clReleaseMemObject(real);
	return r;
}

static void headroom_try_as_unit(struct slu_headroom *headroom, struct slu_device *device,
				 uint64_t bytes, struct slu_proxy *proxy)
{
	proxy->headroom = headroom;
	if (slu_client_unit_new_spare(device->client, bytes, proxy, &proxy->unit))
		return;
	/* allocated off turn: the turn creates it */
	if (headroom->r != CL_SUCCESS && !slu_client_command_begin(device->client, &proxy->unit, 1))
		slu_client_command_end(device->client, &proxy->unit, 1);
	slu_client_unit_free(slu_steal_ptr(proxy->unit));
}

cl_int slu_headroom_try(struct slu_headroom *headroom, struct slu_device *device, uint64_t bytes)
{
	struct slu_proxy *proxy;

	headroom->r = headroom->attempt(headroom);
	if (!slu_headroom_is_refusal(headroom->r) || !device || !device->client ||
	    slu_proxy_new(&proxy))
		return headroom->r;
	proxy->device = device;
	headroom_try_as_unit(headroom, device, bytes ? bytes : GUESS_BYTES, proxy);
	slu_proxy_unref(proxy);
	slu_proxy_free(proxy);
	return headroom->r;
}
