/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "opencl/bracket.h"
#include "opencl/context.h"
#include "opencl/fastpath.h"
#include "opencl/headroom.h"
#include "opencl/real.h"
#include "opencl/sweep.h"

/* What another device pays for does not move, so this turn need not wait for it. */
static bool root_is_waited_for(const struct slu_proxy *root, const struct slu_device *device)
{
	return root->device == device ||
	       (root->is_movable && slu_context_place(root->context, device));
}

static void bracket_name_root(struct slu_bracket *bracket, struct slu_proxy *root)
{
	for (size_t i = 0; i < bracket->n_roots; i++)
		if (bracket->roots[i] == root)
			return;
	bracket->roots[bracket->n_roots++] = root;
	if (root->unit && root_is_waited_for(root, bracket->queue->device))
		bracket->units[bracket->n_units++] = root->unit;
}

cl_int slu_bracket_open(struct slu_bracket *bracket, cl_command_queue queue, size_t n_names,
			struct slu_name *names)
{
	bracket->names = names;
	bracket->n_names = n_names;
	bracket->units = bracket->few_units;
	bracket->roots = bracket->few_roots;
	bracket->n_units = bracket->n_roots = 0;
	bracket->event = NULL;
	bracket->covers = 0;
	bracket->is_inside = bracket->is_fast = bracket->is_slow = bracket->has_queue = false;
	bracket->queue = slu_queue_peek(queue);
	if (!bracket->queue) {
		bracket->queue = slu_queue_get(queue);
		bracket->has_queue = true;
	}
	if (!bracket->queue)
		return CL_INVALID_COMMAND_QUEUE;
	if (n_names > SLU_BRACKET_INLINE) {
		bracket->units = calloc(n_names, sizeof(*bracket->units));
		bracket->roots = calloc(n_names, sizeof(*bracket->roots));
		if (!bracket->units || !bracket->roots)
			return CL_OUT_OF_HOST_MEMORY;
	}
	for (size_t i = 0; i < n_names; i++) {
		names[i].proxy = slu_proxy_find(names[i].handle);
		if (!names[i].proxy)
			return CL_INVALID_MEM_OBJECT;
		bracket_name_root(bracket, names[i].proxy->root);
	}
	return CL_SUCCESS;
}

static bool bracket_is_leased(const struct slu_bracket *bracket)
{
	uint64_t number = slu_fastpath_number(bracket->queue->device);

	for (size_t i = 0; i < bracket->n_names; i++)
		if (!slu_fastpath_is_leased(bracket->names[i].proxy->root, number,
					    bracket->names[i].access))
			return false;
	return true;
}

static bool bracket_enter_fast(struct slu_bracket *bracket)
{
	if (bracket->is_slow || !slu_fastpath_enter(bracket->queue))
		return false;
	bracket->is_fast = bracket_is_leased(bracket);
	if (!bracket->is_fast)
		slu_fastpath_leave(bracket->queue, NULL, 0, false);
	return bracket->is_fast;
}

static cl_int bracket_find_reals(struct slu_bracket *bracket)
{
	cl_int r = CL_SUCCESS;

	for (size_t i = 0; i < bracket->n_names && !r; i++)
		r = slu_bracket_real(bracket->names[i].proxy, &bracket->names[i].real);
	return r;
}

/* While the command waits for its queue (flight.h), the units that it will name may come in. */
static void bracket_expect(void *data)
{
	const struct slu_bracket *bracket = data;
	const struct slu_device *device = bracket->queue->device;

	if (device && device->client && bracket->n_units)
		slu_client_command_expect(device->client, bracket->units, bracket->n_units);
}

cl_int slu_bracket_enter(struct slu_bracket *bracket)
{
	struct slu_device *device = bracket->queue->device;
	cl_int r = CL_SUCCESS;

	if (bracket_enter_fast(bracket))
		return bracket_find_reals(bracket);
	slu_lock_assert_none();
	slu_flight_wait(bracket->queue, bracket_expect, bracket);
	if (!bracket->has_queue) {
		slu_queue_ref(bracket->queue);
		bracket->has_queue = true;
	}
	if (device && device->client) {
		r = slu_layer_error(
			slu_client_command_begin(device->client, bracket->units, bracket->n_units));
		if (r)
			return r;
		bracket->is_inside = true;
	}
	r = bracket_find_reals(bracket);
	bracket->covers = slu_fastpath_close_run(bracket->queue);
	return r;
}

cl_int slu_bracket_begin(struct slu_bracket *bracket, cl_command_queue queue, size_t n_names,
			 struct slu_name *names)
{
	cl_int r = slu_bracket_open(bracket, queue, n_names, names);

	return r ? r : slu_bracket_enter(bracket);
}

/* What the command wrote; and that the next launch may take the fast path. */
static void bracket_mark(struct slu_bracket *bracket)
{
	if (bracket->is_inside)
		slu_fastpath_note_crowd(bracket->queue->device);
	for (size_t i = 0; i < bracket->n_names; i++) {
		const struct slu_name *name = &bracket->names[i];
		struct slu_proxy *root = name->proxy->root;

		if (root->unit)
			slu_client_unit_prove(root->unit);
		if (root->unit && name->access == SLU_ACCESS_WRITE)
			slu_client_unit_dirty(root->unit);
		else if (root->unit && name->access == SLU_ACCESS_SUSPECT)
			slu_client_unit_suspect(root->unit);
		if (bracket->is_inside)
			slu_fastpath_lease(root, bracket->queue->device, name->access);
	}
}

static void bracket_free(struct slu_bracket *bracket)
{
	if (bracket->units != bracket->few_units)
		free(bracket->units);
	if (bracket->roots != bracket->few_roots)
		free(bracket->roots);
}

/* Nobody but the program wants the event. */
static cl_int bracket_end_fast(struct slu_bracket *bracket, cl_int r, cl_bool blocking,
			       cl_event *event)
{
	cl_event own = r == CL_SUCCESS ? bracket->event : NULL;

	slu_fastpath_leave(bracket->queue, bracket->roots, bracket->n_roots, r == CL_SUCCESS);
	bracket_free(bracket);
	if (own && blocking)
		r = slu_layer_next.clWaitForEvents(1, &own);
	if (own && event)
		*event = own;
	else if (own)
		slu_layer_next.clReleaseEvent(own);
	return r;
}

/* @device: the queue's, which may be gone with its last command. */
static void bracket_leave(struct slu_bracket *bracket, struct slu_device *device)
{
	if (bracket->has_queue)
		slu_queue_unref(bracket->queue);
	if (!bracket->is_inside)
		return;
	slu_client_command_end(device->client, bracket->units, bracket->n_units);
	slu_fastpath_tick(device);
}

/* What the program has waited for need not be asked about again. */
static cl_int bracket_wait_for(struct slu_queue *queue, cl_event event, uint64_t covers)
{
	cl_int r = slu_layer_next.clWaitForEvents(1, &event);

	if (r == CL_SUCCESS && covers)
		slu_sweep_covered(queue, covers, event);
	slu_queue_unref(queue);
	return r;
}

cl_int slu_bracket_end(struct slu_bracket *bracket, cl_int r, cl_bool blocking, cl_uint n_wait,
		       const cl_event *wait, cl_event *event)
{
	cl_event own = r == CL_SUCCESS ? bracket->event : NULL;
	struct slu_queue *queue = bracket->queue;
	struct slu_device *device;

	if (!queue)
		return r;
	if (bracket->is_fast)
		return bracket_end_fast(bracket, r, blocking, event);
	if (r == CL_SUCCESS)
		bracket_mark(bracket);
	if (own && (blocking || event))
		slu_layer_next.clRetainEvent(own);
	if (own && blocking)
		slu_queue_ref(queue);
	device = queue->device;
	if (own) {
		slu_command_add(queue, own, bracket->covers, n_wait, wait, bracket->roots,
				bracket->n_roots);
		bracket->has_queue = false;
	}
	bracket_leave(bracket, device);
	bracket_free(bracket);

	if (own && blocking)
		r = bracket_wait_for(queue, own, bracket->covers);
	if (own && event)
		*event = own;
	else if (own && blocking)
		slu_layer_next.clReleaseEvent(own);
	return r;
}

bool slu_bracket_is_refused(const struct slu_bracket *bracket, cl_int r)
{
	if (r == CL_SUCCESS || !slu_headroom_is_refusal(r) || !bracket->queue ||
	    !bracket->is_inside)
		return false;
	for (size_t i = 0; i < bracket->n_units; i++)
		if (__atomic_load_n(&bracket->units[i]->unproven, __ATOMIC_RELAXED))
			return true;
	return false;
}

void slu_bracket_retreat(struct slu_bracket *bracket)
{
	bracket_leave(bracket, bracket->queue->device);
	slu_client_unit_unmake(bracket->units, bracket->n_units);
	bracket_free(bracket);
}

bool slu_bracket_again(struct slu_bracket *bracket, cl_int r)
{
	if (!slu_bracket_is_refused(bracket, r))
		return false;
	slu_bracket_retreat(bracket);
	return true;
}

cl_int slu_bracket_real(struct slu_proxy *proxy, cl_mem *ret_real)
{
	struct slu_proxy *root = proxy->root;
	cl_mem real, fresh, parent;
	cl_int r;

	if (proxy == root || !root->is_movable) {
		*ret_real = proxy->real;
		return proxy->real ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
	}
	slu_layer_take();
	real = proxy->generation == root->generation ? proxy->real : NULL;
	slu_layer_give();
	if (real) {
		*ret_real = real;
		return CL_SUCCESS;
	}

	r = slu_bracket_real(proxy->parent, &parent);
	if (r != CL_SUCCESS)
		return r;
	fresh = slu_real_make_child(proxy, parent, &r);
	if (r != CL_SUCCESS)
		return r;
	slu_layer_take();
	if (proxy->generation == root->generation && proxy->real) {
		real = proxy->real; /* another thread was faster */
	} else {
		real = proxy->real = fresh;
		proxy->generation = root->generation;
		fresh = NULL;
	}
	slu_layer_give();
	if (fresh)
		slu_layer_next.clReleaseMemObject(fresh);
	*ret_real = real;
	return CL_SUCCESS;
}

/* One thread at a time reports to the client; the last report agrees with the count. */
static void hold_report(struct slu_proxy *root, int by, enum slu_frozen why)
{
	slu_layer_take();
	root->n_holds = (uint32_t)((int)root->n_holds + by);
	while (root->hold_is_changing)
		slu_lock_wait(&slu_layer_lock, &slu_layer_changed, NULL);
	while (root->unit && root->is_movable && root->n_held != (root->n_holds > 0)) {
		bool hold = root->n_holds > 0;

		root->hold_is_changing = true;
		slu_layer_give();
		slu_client_unit_freeze(root->unit, hold ? why : SLU_FROZEN_NO);
		slu_layer_take();
		root->n_held = hold;
		root->hold_is_changing = false;
		pthread_cond_broadcast(&slu_layer_changed);
	}
	slu_layer_give();
}

void slu_bracket_hold(struct slu_proxy *root, enum slu_frozen why)
{
	hold_report(root, 1, why);
}

void slu_bracket_unhold(struct slu_proxy *root)
{
	hold_report(root, -1, SLU_FROZEN_NO);
}
