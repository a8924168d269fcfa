/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a user event. As long as a program has no unset one, all of this costs one
 * comparison.
 *
 *   (none)    -> UNSET      [clCreateUserEvent]
 *   UNSET     -> SET        [clSetUserEventStatus]  what waited for it may run
 *   UNSET     -> ABANDONED  [clReleaseEvent]        the program's last reference went: nobody can
 *                                                   set it any more
 *
 *  UNSET:      counted in n_unset, in the table.
 *  SET:        not counted; gone with the last set that has it.
 *  ABANDONED:  counted while a command waits for it, for that one never runs; else forgotten.
 */

#include <stdlib.h>

#include "base/util.h"
#include "opencl/command.h"
#include "opencl/fastpath.h"

struct slu_user_event {
	struct slu_table_node node; /* by the event's handle, while UNSET */
	unsigned n_refs;	    /* the table's, and each set's */
	unsigned n_program;	    /* the program's own references */
	bool is_set;
};

static struct slu_table user_events; /* guarded by the layer's lock */
static _Atomic unsigned n_unset;     /* changed under the layer's lock */

static void user_event_unref_locked(struct slu_user_event *event)
{
	if (--event->n_refs)
		return;
	if (!event->is_set)
		n_unset--;
	free(event);
}

static void user_event_set_locked(struct slu_user_event *event)
{
	if (!event->is_set)
		n_unset--;
	event->is_set = true;
	user_event_unref_locked(event);
}

static struct slu_user_event *user_event_find_locked(cl_event handle)
{
	struct slu_table_node *node = slu_table_find(&user_events, handle);

	return node ? slu_container_of(node, struct slu_user_event, node) : NULL;
}

bool slu_blockers_exist(void)
{
	return atomic_load(&n_unset);
}

bool slu_blockers_hold_locked(const struct slu_blockers *set)
{
	for (unsigned i = 0; i < set->n_items; i++)
		if (!set->items[i]->is_set)
			return true;
	return false;
}

void slu_blockers_clear_locked(struct slu_blockers *set)
{
	for (unsigned i = 0; i < set->n_items; i++)
		user_event_unref_locked(set->items[i]);
	free(set->items);
	*set = (struct slu_blockers){ 0 };
}

static void blockers_add_one_locked(struct slu_blockers *set, struct slu_user_event *event)
{
	struct slu_user_event **items;
	unsigned n = 0;

	if (event->is_set)
		return;
	for (unsigned i = 0; i < set->n_items; i++)
		if (set->items[i] == event)
			return;
	for (unsigned i = 0; i < set->n_items; i++)
		if (set->items[i]->is_set)
			user_event_unref_locked(set->items[i]);
		else
			set->items[n++] = set->items[i];
	set->n_items = n;
	items = realloc(set->items, (n + 1) * sizeof(*items));
	if (!items)
		return;
	set->items = items;
	set->items[set->n_items++] = event;
	event->n_refs++;
}

void slu_blockers_add_locked(struct slu_blockers *set, cl_uint n_wait, const cl_event *wait,
			     const struct slu_blockers *other)
{
	for (unsigned i = 0; other && i < other->n_items; i++)
		blockers_add_one_locked(set, other->items[i]);
	for (cl_uint i = 0; wait && i < n_wait; i++) {
		struct slu_user_event *event = user_event_find_locked(wait[i]);
		struct slu_command *command;

		if (event) {
			blockers_add_one_locked(set, event);
			continue;
		}
		command = slu_queue_command_locked(wait[i]);
		if (command && &command->blockers != set)
			for (unsigned k = 0; k < command->blockers.n_items; k++)
				blockers_add_one_locked(set, command->blockers.items[k]);
	}
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_event slu_call_clCreateUserEvent(cl_context context, cl_int *errcode_ret)
{
	cl_event handle = slu_layer_next.clCreateUserEvent(context, errcode_ret);
	struct slu_user_event *event = handle ? calloc(1, sizeof(*event)) : NULL;
	struct slu_table_node *old = NULL;

	if (!event)
		return handle;
	event->n_refs = event->n_program = 1;
	slu_layer_take();
	if (slu_table_put(&user_events, handle, &event->node, &old))
		free(event);
	else
		n_unset++;
	if (old) /* given up by the program without being set, and the handle given again */
		user_event_set_locked(slu_container_of(old, struct slu_user_event, node));
	slu_layer_give();
	/* what is on its way must not seem to wait for it */
	slu_fastpath_cover_all();
	return handle;
}

/*
 * Noted before the driver's call: from now on its commands may run, and must not be taken for
 * blocked ones.
 */
cl_int slu_call_clSetUserEventStatus(cl_event handle, cl_int status)
{
	struct slu_user_event *event = NULL;

	slu_layer_take();
	if (status <= CL_COMPLETE)
		event = user_event_find_locked(handle);
	if (event) {
		slu_table_remove(&user_events, &event->node);
		user_event_set_locked(event);
	}
	slu_layer_give();
	return slu_layer_next.clSetUserEventStatus(handle, status);
}

cl_int slu_call_clRetainEvent(cl_event handle)
{
	cl_int r = slu_layer_next.clRetainEvent(handle);
	struct slu_user_event *event;

	if (r || !slu_blockers_exist())
		return r;
	slu_layer_take();
	event = user_event_find_locked(handle);
	if (event)
		event->n_program++;
	slu_layer_give();
	return r;
}

/* Noted before the driver's call, because the driver may use the handle again at once. */
cl_int slu_call_clReleaseEvent(cl_event handle)
{
	struct slu_user_event *event;

	if (!slu_blockers_exist())
		return slu_layer_next.clReleaseEvent(handle);
	slu_layer_take();
	event = user_event_find_locked(handle);
	if (event && --event->n_program == 0) {
		slu_table_remove(&user_events, &event->node);
		user_event_unref_locked(event);
	}
	slu_layer_give();
	return slu_layer_next.clReleaseEvent(handle);
}

/*
 * Markers, barriers and waits touch no unit and are not gated. They matter only while a user
 * event is unset, for they hand the block on: through their event, and, as barriers and in
 * in-order queues, to everything behind them.
 */
static cl_int blockers_hand_on(cl_command_queue handle, cl_uint n_wait, const cl_event *wait,
			       bool is_barrier, cl_event own, cl_event *event)
{
	struct slu_queue *queue = slu_queue_get(handle);
	struct slu_command *command;

	if (!queue) {
		if (event)
			*event = own;
		else
			slu_layer_next.clReleaseEvent(own);
		return CL_SUCCESS;
	}
	slu_layer_take();
	if (is_barrier || !queue->is_out_of_order)
		slu_blockers_add_locked(&queue->blockers, n_wait, wait, NULL);
	if (is_barrier && !n_wait)
		slu_queue_gather_locked(queue, &queue->blockers);
	slu_layer_give();
	if (event) {
		slu_layer_next.clRetainEvent(own);
		*event = own;
	}
	slu_layer_take();
	queue->n_refs++;
	slu_layer_give();
	slu_command_add(queue, own, 0, n_wait, wait, NULL, 0);
	slu_layer_take();
	command = n_wait ? NULL : slu_queue_command_locked(own);
	if (command)
		slu_queue_gather_locked(queue, &command->blockers);
	slu_layer_give();
	slu_queue_unref(queue);
	return CL_SUCCESS;
}

static bool nothing_is_blocked(void)
{
	return !slu_blockers_exist();
}

cl_int slu_call_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
	cl_event own;
	cl_int r;

	if (!event || nothing_is_blocked())
		return slu_layer_next.clEnqueueMarker(queue, event);
	r = slu_layer_next.clEnqueueMarker(queue, &own);
	return r ? r : blockers_hand_on(queue, 0, NULL, false, own, event);
}

cl_int slu_call_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_wait,
					    const cl_event *wait, cl_event *event)
{
	cl_event own;
	cl_int r;

	if (nothing_is_blocked())
		return slu_layer_next.clEnqueueMarkerWithWaitList(queue, n_wait, wait, event);
	r = slu_layer_next.clEnqueueMarkerWithWaitList(queue, n_wait, wait, &own);
	return r ? r : blockers_hand_on(queue, n_wait, wait, false, own, event);
}

cl_int slu_call_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n_wait,
					     const cl_event *wait, cl_event *event)
{
	cl_event own;
	cl_int r;

	if (nothing_is_blocked())
		return slu_layer_next.clEnqueueBarrierWithWaitList(queue, n_wait, wait, event);
	r = slu_layer_next.clEnqueueBarrierWithWaitList(queue, n_wait, wait, &own);
	return r ? r : blockers_hand_on(queue, n_wait, wait, true, own, event);
}

static void blockers_hold_back(cl_command_queue handle, cl_uint n_wait, const cl_event *wait)
{
	struct slu_queue *queue = slu_queue_get(handle);

	if (!queue)
		return;
	slu_layer_take();
	if (n_wait)
		slu_blockers_add_locked(&queue->blockers, n_wait, wait, NULL);
	else
		slu_queue_gather_locked(queue, &queue->blockers);
	slu_layer_give();
	slu_queue_unref(queue);
}

cl_int slu_call_clEnqueueBarrier(cl_command_queue queue)
{
	cl_int r = slu_layer_next.clEnqueueBarrier(queue);

	if (!r && !nothing_is_blocked())
		blockers_hold_back(queue, 0, NULL);
	return r;
}

cl_int slu_call_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint n_wait, const cl_event *wait)
{
	cl_int r = slu_layer_next.clEnqueueWaitForEvents(queue, n_wait, wait);

	if (!r && !nothing_is_blocked())
		blockers_hold_back(queue, n_wait, wait);
	return r;
}
