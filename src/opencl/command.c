/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include "base/util.h"
#include "opencl/command.h"
#include "opencl/fastpath.h"
#include "opencl/sweep.h"

/* An out-of-order queue's commands gather at a unit; beyond this many the ended ones are sought. */
#define TRACK_MANY 32

#define SPARE_MAX 128

/* Ended commands wait here to be used again: a program makes one with each call. */
static struct {
	TAILQ_HEAD(, slu_command) list;
	unsigned n;
} spare = { .list = TAILQ_HEAD_INITIALIZER(spare.list) }; /* guarded by the layer's lock */

static struct slu_command *command_take_spare_locked(void)
{
	struct slu_command *command = TAILQ_FIRST(&spare.list);

	if (command) {
		TAILQ_REMOVE(&spare.list, command, link);
		spare.n--;
	}
	return command;
}

static void command_put_spare_locked(struct slu_command *command)
{
	if (spare.n >= SPARE_MAX) {
		free(command);
		return;
	}
	TAILQ_INSERT_HEAD(&spare.list, command, link);
	spare.n++;
}

void slu_command_ref_locked(struct slu_command *command)
{
	command->n_refs++;
}

/* Drops @n references at once. @command may be gone afterwards. */
static void command_drop_locked(struct slu_command *command, unsigned n)
{
	assert(command->n_refs >= n);
	command->n_refs -= n;
	if (command->n_refs)
		return;
	assert(command->is_ended && !command->event);
	slu_blockers_clear_locked(&command->blockers);
	slu_queue_unref_locked(command->queue);
	command_put_spare_locked(command);
}

void slu_command_unref_locked(struct slu_command *command)
{
	command_drop_locked(command, 1);
}

/* The event is released by the caller, without the lock. */
static void command_take_event_locked(struct slu_command *command, cl_event *ret_release)
{
	if (command->is_ended && !command->n_looking) {
		*ret_release = command->event;
		command->event = NULL;
	}
}

/*
 * Takes @command out of its queue's list. The list's reference passes to the threads that look at
 * the event now, of which the last one takes the event; where there are none, to the caller.
 *
 * Return: how many references the caller has to drop.
 */
static unsigned command_unlist_locked(struct slu_command *command, cl_event *ret_release)
{
	command->is_ended = true;
	slu_fastpath_end_runs_locked(command->queue, command->covers);
	slu_flight_end_locked(command);
	TAILQ_REMOVE(&command->queue->commands, command, link);
	command->queue->n_commands--;
	command_take_event_locked(command, ret_release);
	return command->n_looking ? 0 : 1;
}

void slu_command_end_locked(struct slu_command *command, cl_event *ret_release)
{
	*ret_release = NULL;
	if (!command->is_ended)
		command_drop_locked(command, command_unlist_locked(command, ret_release));
}

/*
 * A driver may keep commands back until the queue is flushed; waiting for one of these would
 * never end. The queue is asked of the event, because the program may have given it up.
 */
static void command_flush(cl_event event)
{
	cl_command_queue queue = NULL;

	if (slu_layer_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
					  NULL) == CL_SUCCESS &&
	    queue)
		slu_layer_next.clFlush(queue);
}

/* Keeps the event from being released meanwhile. Return: false if it has ended already. */
static bool command_look_begin(struct slu_command *command)
{
	bool is_ended;

	slu_layer_take();
	is_ended = command->is_ended;
	if (!is_ended) {
		command->n_looking++;
		slu_command_ref_locked(command);
	}
	slu_layer_give();
	return !is_ended;
}

static int command_look_end(struct slu_command *command, bool has_ended)
{
	unsigned n_drop = 1; /* of command_look_begin() */
	cl_event release = NULL;
	int r = 0;

	slu_layer_take();
	command->n_looking--;
	if (command->is_ended) {
		command_take_event_locked(command, &release);
		n_drop += command->n_looking ? 0 : 1; /* of the list, which passed to us */
	} else if (has_ended) {
		n_drop += command_unlist_locked(command, &release);
	} else {
		r = slu_blockers_hold_locked(&command->blockers) ? SLU_BACKEND_E_BLOCKED
								 : SLU_BACKEND_E_BUSY;
	}
	command_drop_locked(command, n_drop);
	slu_layer_give();
	if (release)
		slu_layer_next.clReleaseEvent(release);
	return r;
}

int slu_command_look(struct slu_command *command, bool flush)
{
	cl_int status = CL_COMPLETE;
	bool flush_now = false;

	if (!command_look_begin(command))
		return 0;

	slu_lock_assert_none();
	/* A driver that cannot say has lost the command with the device: nothing runs. */
	if (slu_layer_next.clGetEventInfo(command->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
					  sizeof(status), &status, NULL) != CL_SUCCESS)
		status = CL_COMPLETE;
	if (flush && status > CL_COMPLETE) {
		slu_layer_take();
		flush_now = !command->is_flushed;
		command->is_flushed = true;
		slu_layer_give();
	}
	if (flush_now)
		command_flush(command->event);
	return command_look_end(command, status <= CL_COMPLETE);
}

static void track_forget_ended_locked(struct slu_proxy_track *track)
{
	unsigned n = 0;

	for (unsigned i = 0; i < track->n_items; i++)
		if (track->items[i]->is_ended)
			slu_command_unref_locked(track->items[i]);
		else
			track->items[n++] = track->items[i];
	track->n_items = n;
}

static bool track_add_locked(struct slu_proxy_track *track, struct slu_command *command)
{
	if (!command->queue->is_out_of_order)
		for (unsigned i = 0; i < track->n_items; i++)
			if (track->items[i]->queue == command->queue &&
			    track->items[i]->stamp <= command->covers) {
				slu_command_unref_locked(track->items[i]);
				track->items[i] = command;
				slu_command_ref_locked(command);
				return true;
			}
	track_forget_ended_locked(track);
	if (track->n_items == track->n_capacity) {
		unsigned n = track->n_capacity ? track->n_capacity * 2 : 4;
		struct slu_command **items = realloc(track->items, n * sizeof(*items));

		if (!items)
			return false;
		track->items = items;
		track->n_capacity = n;
	}
	track->items[track->n_items++] = command;
	slu_command_ref_locked(command);
	return true;
}

bool slu_command_name_locked(struct slu_command *command, struct slu_proxy *root)
{
	return track_add_locked(&root->track, command);
}

/*
 * Where there is no memory to note a command, it must have ended before a unit may move. But it may
 * wait for what this very thread does next, a user event, so memory is asked for again and again.
 */
static struct slu_command *wait_for_memory(struct slu_queue *queue, cl_event event, uint64_t covers)
{
	struct slu_command *command;
	cl_int status = CL_SUBMITTED;

	slu_lock_assert_none();
	command_flush(event);
	while (!(command = malloc(sizeof(*command)))) {
		if (slu_layer_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
						  sizeof(status), &status, NULL) != CL_SUCCESS ||
		    status <= CL_COMPLETE)
			break;
		sched_yield();
	}
	if (command)
		return command;
	slu_layer_next.clReleaseEvent(event);
	slu_layer_take();
	slu_fastpath_end_runs_locked(queue, covers);
	slu_queue_unref_locked(queue);
	slu_layer_give();
	return NULL;
}

static bool command_is_noted_locked(const struct slu_proxy_track *track,
				    const struct slu_command *command)
{
	for (unsigned i = 0; i < track->n_items; i++)
		if (track->items[i] == command)
			return true;
	return false;
}

static bool command_note_locked(struct slu_command *command, struct slu_proxy *const *roots,
				size_t n_roots)
{
	bool is_noted = true;

	for (size_t i = 0; i < n_roots; i++)
		is_noted = (command_is_noted_locked(&roots[i]->track, command) ||
			    track_add_locked(&roots[i]->track, command)) &&
			   is_noted;
	return is_noted;
}

/* Takes over a reference. */
static void command_wait_unnoted(struct slu_command *command, struct slu_proxy *const *roots,
				 size_t n_roots)
{
	bool is_noted = false;

	while (!is_noted && slu_command_look(command, true)) {
		sched_yield();
		slu_layer_take();
		is_noted = command_note_locked(command, roots, n_roots);
		slu_layer_give();
	}
	slu_layer_take();
	slu_command_unref_locked(command);
	slu_layer_give();
}

void slu_command_add(struct slu_queue *queue, cl_event event, uint64_t covers, cl_uint n_wait,
		     const cl_event *wait, struct slu_proxy *const *roots, size_t n_roots)
{
	uint64_t stamp = atomic_load(&queue->stamp);
	struct slu_command *command;
	bool is_noted = true, is_many = false;

	slu_layer_take();
	command = command_take_spare_locked();
	if (!command) {
		slu_layer_give();
		command = malloc(sizeof(*command));
		if (!command)
			command = wait_for_memory(queue, event, covers);
		if (!command)
			return;
		slu_layer_take();
	}
	*command = (struct slu_command){
		.queue = queue, .event = event, .n_refs = 1, .stamp = stamp, .covers = covers
	};
	slu_flight_add_locked(command);
	if (slu_blockers_exist() || queue->blockers.n_items) {
		slu_blockers_add_locked(&command->blockers, n_wait, wait, &queue->blockers);
		if (!queue->is_out_of_order)
			slu_blockers_add_locked(&queue->blockers, 0, NULL, &command->blockers);
	}
	TAILQ_INSERT_TAIL(&queue->commands, command, link);
	queue->n_commands++;
	for (size_t i = 0; i < n_roots; i++) {
		is_noted = track_add_locked(&roots[i]->track, command) && is_noted;
		is_many = is_many || roots[i]->track.n_items > TRACK_MANY;
	}
	is_many = is_many || queue->n_commands % TRACK_MANY == 0;
	if (!is_noted)
		slu_command_ref_locked(command);
	if (is_many)
		queue->n_refs++;
	slu_layer_give();

	if (!is_noted)
		command_wait_unnoted(command, roots, n_roots);
	if (is_many) {
		slu_sweep_queue(queue, false);
		slu_queue_unref(queue);
	}
}

int slu_command_look_all(struct slu_proxy *root)
{
	bool is_busy = slu_fastpath_gather(root) < 0, is_blocked = false;

	for (unsigned i = 0;; i++) {
		struct slu_command *command;
		int r;

		slu_layer_take();
		if (!i)
			track_forget_ended_locked(&root->track);
		if (i >= root->track.n_items) {
			slu_layer_give();
			break;
		}
		command = root->track.items[i];
		slu_command_ref_locked(command);
		slu_layer_give();

		r = slu_command_look(command, true);
		is_busy = is_busy || r == SLU_BACKEND_E_BUSY;
		is_blocked = is_blocked || r == SLU_BACKEND_E_BLOCKED;

		slu_layer_take();
		slu_command_unref_locked(command);
		slu_layer_give();
	}
	return is_busy ? SLU_BACKEND_E_BUSY : is_blocked ? SLU_BACKEND_E_BLOCKED : 0;
}

unsigned slu_command_watch(struct slu_proxy *root,
			   void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
	unsigned n = 0;

	while (slu_fastpath_gather(root))
		sched_yield();
	for (unsigned i = 0;; i++) {
		struct slu_command *command = NULL;

		slu_layer_take();
		if (i < root->track.n_items) {
			command = root->track.items[i];
			slu_command_ref_locked(command);
			root->n_awaited++;
		}
		slu_layer_give();
		if (!command)
			return n;

		if (command_look_begin(command)) {
			cl_int r = slu_layer_next.clSetEventCallback(command->event, CL_COMPLETE,
								     call, data);

			if (r == CL_SUCCESS)
				n++;
			else
				slu_layer_next.clWaitForEvents(1, &command->event);
			command_look_end(command, r != CL_SUCCESS);
			slu_layer_take();
			root->n_awaited -= r != CL_SUCCESS;
		} else {
			slu_layer_take();
			root->n_awaited--;
		}
		slu_command_unref_locked(command);
		slu_layer_give();
	}
}

void slu_command_forget(struct slu_proxy *root)
{
	struct slu_proxy_track track;

	slu_layer_take();
	track = root->track;
	root->track = (struct slu_proxy_track){ 0 };
	for (unsigned i = 0; i < track.n_items; i++)
		slu_command_unref_locked(track.items[i]);
	slu_layer_give();
	free(track.items);
}
