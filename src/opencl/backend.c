/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The back end (client/backend.h) of an OpenCL device; device.h declares its table. A unit is a
 * whole buffer or image. It has no address that a program knows, so "create" makes a new object
 * behind the same proxy (real.h).
 *
 * Some drivers refuse at the creation of an object, others only at its first use, in the middle of
 * the program's command. So the layer touches a new object by one byte, which either works or is a
 * refusal in the right place, until the driver has refused a creation once and is known to be of
 * the first sort. An object that needs far less than the free bytes is not touched either: a
 * program that fits creates and releases objects all the time. If the driver refuses such an object
 * after all, its command begins again (bracket.h).
 */

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "opencl/command.h"
#include "opencl/compare.h"
#include "opencl/context.h"
#include "opencl/device.h"
#include "opencl/ending.h"
#include "opencl/fastpath.h"
#include "opencl/headroom.h"
#include "opencl/proxy.h"
#include "opencl/real.h"

static bool is_loss(cl_int r)
{
	return r == CL_DEVICE_NOT_AVAILABLE || r == CL_INVALID_CONTEXT;
}

static int backend_outcome(cl_int r)
{
	if (r == CL_SUCCESS)
		return 0;
	return slu_headroom_is_refusal(r) ? SLU_BACKEND_E_REFUSED
	       : is_loss(r)		  ? SLU_BACKEND_E_LOST
					  : slu_error(-EIO);
}

/*
 * The creation of a stand-in is the call that it stands for, once; other errors of that call go to
 * the program.
 */
static int stand_in_create(struct slu_headroom *headroom)
{
	if (slu_headroom_is_refusal(headroom->r))
		headroom->r = headroom->attempt(headroom);
	return slu_headroom_is_refusal(headroom->r) ? SLU_BACKEND_E_REFUSED : 0;
}

static int object_create(struct slu_device *device, struct slu_unit *unit)
{
	struct slu_proxy *proxy = unit->owner;
	const void *initial = atomic_exchange(&proxy->initial, NULL);
	cl_mem real;
	cl_int r;

	/* with contents, and for a stand-in, there is no way back */
	unit->unproven = unit->unproven && !initial && !proxy->headroom;
	if (proxy->headroom)
		return stand_in_create(proxy->headroom);
	real = slu_real_make(proxy, initial, &r);
	if (r != CL_SUCCESS && slu_headroom_is_refusal(r))
		atomic_store(&device->is_eager, true);
	if (r == CL_SUCCESS && slu_headroom_must_prove(proxy->context, device, unit->unproven)) {
		r = slu_real_touch(proxy, device, real, initial);
		if (r != CL_SUCCESS)
			slu_layer_next.clReleaseMemObject(real);
	}
	if (r != CL_SUCCESS) {
		proxy->create_error = r;
		atomic_store(&proxy->initial, initial);
		return backend_outcome(r);
	}
	proxy->real = real;
	proxy->generation++;
	if (proxy->holds_context) {
		proxy->holds_context = false;
		slu_layer_next.clReleaseContext(proxy->context->handle);
	}
	return 0;
}

/* The children's real objects go first: they are parts of this one. */
static void object_destroy(struct slu_proxy *proxy)
{
	struct slu_proxy *child;

	if (!proxy->real)
		return;
	slu_layer_next.clRetainContext(proxy->context->handle);
	proxy->holds_context = true;
	for (;;) {
		cl_mem real = NULL;

		slu_layer_take();
		LIST_FOREACH (child, &proxy->children, sibling)
			if (child->real)
				break;
		if (child)
			real = slu_steal_ptr(child->real);
		slu_layer_give();
		if (!real)
			break;
		slu_layer_next.clReleaseMemObject(real);
	}
	slu_layer_next.clReleaseMemObject(slu_steal_ptr(proxy->real));
}

/* How long copies take to come out is measured. */
static void ticket_begin(struct slu_device *device, struct slu_ticket *ticket, uint64_t bytes)
{
	ticket->data[1] = bytes;
	slu_layer_take();
	slu_speed_begin(&device->hash_cost.copy_speed, slu_clock_now_ns());
	slu_layer_give();
}

static void ticket_end(struct slu_device *device, const struct slu_ticket *ticket)
{
	if (!ticket->data[1])
		return;
	slu_layer_take();
	slu_speed_end(&device->hash_cost.copy_speed, slu_clock_now_ns(), ticket->data[1]);
	slu_layer_give();
}

static int object_copy(struct slu_device *device, struct slu_proxy *proxy,
		       enum slu_direction direction, uint64_t offset, void *host, uint64_t bytes,
		       struct slu_ticket *ret_ticket)
{
	cl_event event;
	cl_int r = slu_real_copy(proxy, device, direction, offset, host, bytes, &event);

	if (r != CL_SUCCESS)
		return is_loss(r) ? SLU_BACKEND_E_LOST : slu_error(-EIO);
	*ret_ticket = (struct slu_ticket){ { (uint64_t)(uintptr_t)event } };
	if (event && direction == SLU_DIRECTION_OUT)
		ticket_begin(device, ret_ticket, bytes);
	return 0;
}

static int ticket_poll(struct slu_device *device, struct slu_ticket *ticket, bool wait)
{
	cl_event event = (cl_event)(uintptr_t)ticket->data[0];
	cl_int status = CL_COMPLETE, r = CL_SUCCESS;

	if (!event)
		return 0;
	if (wait)
		r = slu_layer_next.clWaitForEvents(1, &event);
	if (r == CL_SUCCESS)
		r = slu_layer_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
						  sizeof(status), &status, NULL);
	if (r == CL_SUCCESS && status > CL_COMPLETE)
		return SLU_BACKEND_E_BUSY;
	slu_layer_next.clReleaseEvent(event);
	ticket_end(device, ticket);
	ticket->data[0] = 0;
	if (r == CL_SUCCESS && status == CL_COMPLETE)
		return 0;
	return is_loss(r ? r : status) ? SLU_BACKEND_E_LOST : slu_error(-EIO);
}

/* -- the table: our threads stay out of a driver that ends ----------------------------------- */

static void backend_thread_begin(void *data)
{
	slu_ending_mark_thread();
}

static int backend_create(void *data, struct slu_unit *unit)
{
	int r;

	if (!slu_ending_enter())
		return slu_error(-EIO);
	r = object_create(data, unit);
	slu_ending_leave();
	return r;
}

/* What is not destroyed here goes with the proxy, or with the process. */
static void backend_destroy(void *data, struct slu_unit *unit)
{
	if (!slu_ending_enter())
		return;
	object_destroy(unit->owner);
	slu_ending_leave();
}

static int backend_copy(void *data, struct slu_unit *unit, enum slu_direction direction,
			uint64_t offset, void *host, uint64_t bytes, struct slu_ticket *ret_ticket)
{
	struct slu_proxy *root = unit->owner;
	int r;

	if (!slu_ending_enter())
		return slu_error(-EIO);
	/* a copy out may bring other bytes under the same version, if its host copy was dropped */
	if (direction == SLU_DIRECTION_OUT && !offset)
		root->backing_version = 0;
	r = object_copy(data, root, direction, offset, host, bytes, ret_ticket);
	slu_ending_leave();
	return r;
}

static int backend_poll(void *data, struct slu_ticket *ticket, bool wait)
{
	int r;

	if (!slu_ending_enter())
		return slu_error(-EIO);
	r = ticket_poll(data, ticket, wait);
	slu_ending_leave();
	return r;
}

static int backend_look(struct slu_device *device, bool flush)
{
	int r;

	if (!slu_ending_enter())
		return SLU_BACKEND_E_BUSY;
	r = slu_queue_progress(device, flush);
	slu_ending_leave();
	return r;
}

static int backend_drain(void *data)
{
	return backend_look(data, true);
}

static int backend_progress(void *data)
{
	slu_fastpath_tick(data);
	return backend_look(data, false);
}

static int backend_drain_unit(void *data, struct slu_unit *unit)
{
	int r;

	if (!slu_ending_enter())
		return SLU_BACKEND_E_BUSY;
	r = slu_fastpath_break_lease(unit->owner, data) ? slu_command_look_all(unit->owner)
							: SLU_BACKEND_E_BUSY;
	slu_ending_leave();
	return r;
}

static int backend_compare(void *data, struct slu_unit *unit, const void *host, bool always)
{
	int r;

	if (!slu_ending_enter())
		return SLU_BACKEND_E_DIFFERENT;
	r = slu_compare(data, unit, host, always);
	slu_ending_leave();
	return r;
}

static void backend_will_compare(void *data, struct slu_unit *unit)
{
	slu_compare_prepare(data, unit);
}

const struct slu_backend slu_device_backend = {
	.name = "opencl",
	.thread_begin = backend_thread_begin,
	.create = backend_create,
	.destroy = backend_destroy,
	.copy = backend_copy,
	.poll = backend_poll,
	.drain = backend_drain,
	.drain_unit = backend_drain_unit,
	.compare = backend_compare,
	.will_compare = backend_will_compare,
	.progress = backend_progress,
};
