/* SPDX-License-Identifier: Apache-2.0 */

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/proxy.h"
#include "opencl/room.h"

/* The guess where nothing is known: what contexts and queues cost is of this order. */
#define GUESS_BYTES (4 * SLU_MIB)

bool slu_room_is_refusal(cl_int r)
{
	return r == CL_MEM_OBJECT_ALLOCATION_FAILURE || r == CL_OUT_OF_RESOURCES ||
	       r == CL_OUT_OF_HOST_MEMORY;
}

bool slu_room_must_prove(const struct slu_context *context, struct slu_device *device, bool is_sure)
{
	return (!is_sure && !atomic_load(&device->is_eager)) ||
	       (context->n_places > 1 && slu_device_expects_manager());
}

cl_int slu_room_prove(struct slu_context *context, cl_mem real)
{
	cl_command_queue queue;
	cl_event event;
	cl_int r;

	if (!context->payer || !slu_room_must_prove(context, context->payer, false))
		return CL_SUCCESS;
	queue = slu_context_queue(context, context->payer, SLU_DIRECTION_IN);
	if (!queue)
		return CL_SUCCESS;
	r = slu_layer_next.clEnqueueMigrateMemObjects(queue, 1, &real, 0, 0, NULL, &event);
	if (r == CL_SUCCESS) {
		r = slu_layer_next.clWaitForEvents(1, &event);
		slu_layer_next.clReleaseEvent(event);
	}
	if (!slu_room_is_refusal(r))
		return CL_SUCCESS; /* a driver that cannot do this has said nothing about memory */
	slu_layer_next.clReleaseMemObject(real);
	return r;
}

static void try_as_unit(struct slu_room *room, struct slu_device *device, uint64_t bytes,
			struct slu_proxy *proxy)
{
	proxy->room = room;
	if (slu_client_unit_new_spare(device->client, bytes, proxy, &proxy->unit))
		return;
	/* born off turn: it is made when the turn comes */
	if (room->r != CL_SUCCESS && !slu_client_command_begin(device->client, &proxy->unit, 1))
		slu_client_command_end(device->client, &proxy->unit, 1);
	slu_client_unit_free(slu_steal_ptr(proxy->unit));
}

cl_int slu_room_try(struct slu_room *room, struct slu_device *device, uint64_t bytes)
{
	struct slu_proxy *proxy;

	room->r = room->attempt(room);
	if (!slu_room_is_refusal(room->r) || !device || !device->client || slu_proxy_new(&proxy))
		return room->r;
	proxy->device = device;
	try_as_unit(room, device, bytes ? bytes : GUESS_BYTES, proxy);
	slu_proxy_unref(proxy);
	slu_proxy_free(proxy);
	return room->r;
}
