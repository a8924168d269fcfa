/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/util.h"
#include "opencl/command.h"
#include "opencl/fastpath.h"
#include "opencl/sweep.h"

static struct slu_table queues; /* guarded by the layer's lock */
static TAILQ_HEAD(, slu_queue) all_queues = TAILQ_HEAD_INITIALIZER(all_queues);

void slu_queue_unref_locked(struct slu_queue *queue)
{
	if (--queue->n_refs)
		return;
	assert(TAILQ_EMPTY(&queue->commands));
	slu_fastpath_shut_locked(queue);
	TAILQ_REMOVE(&all_queues, queue, link);
	slu_blockers_clear_locked(&queue->blockers);
	free(queue);
}

void slu_queue_ref(struct slu_queue *queue)
{
	slu_layer_take();
	queue->n_refs++;
	slu_layer_give();
}

void slu_queue_unref(struct slu_queue *queue)
{
	slu_layer_take();
	slu_queue_unref_locked(queue);
	slu_layer_give();
}

/* The driver may have given the handle of a dead queue again: the new note takes its place. */
static struct slu_queue *queue_enter(cl_command_queue handle, unsigned n_program)
{
	cl_command_queue_properties properties = 0;
	struct slu_table_node *old = NULL;
	struct slu_queue *queue;
	cl_device_id device = NULL;

	if (slu_layer_next.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(device), &device,
						 NULL) != CL_SUCCESS)
		return NULL;
	slu_layer_next.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties),
					     &properties, NULL);
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->handle = handle;
	queue->device = slu_device_get(device);
	queue->is_out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	queue->n_program = n_program;
	queue->n_refs = 2; /* the table's and the caller's */
	TAILQ_INIT(&queue->commands);
	slu_flight_init(&queue->flight, slu_device_is_managed(queue->device));

	slu_layer_take();
	slu_fastpath_open_locked(queue);
	TAILQ_INSERT_TAIL(&all_queues, queue, link);
	if (slu_table_put(&queues, handle, &queue->node, &old)) {
		queue->n_refs = 1;
		slu_queue_unref_locked(queue);
		queue = NULL;
	}
	if (old)
		slu_queue_unref_locked(slu_container_of(old, struct slu_queue, node));
	slu_layer_give();
	return queue;
}

static struct slu_queue *queue_find_locked(cl_command_queue handle)
{
	struct slu_table_node *node = slu_table_find(&queues, handle);

	return node ? slu_container_of(node, struct slu_queue, node) : NULL;
}

struct slu_queue *slu_queue_peek(cl_command_queue handle)
{
	struct slu_table_node *node = slu_table_peek(&queues, handle);

	return node ? slu_container_of(node, struct slu_queue, node) : NULL;
}

struct slu_queue *slu_queue_get(cl_command_queue handle)
{
	struct slu_queue *queue;
	cl_uint n_program = 1;

	if (!handle)
		return NULL;
	slu_layer_take();
	queue = queue_find_locked(handle);
	if (queue)
		queue->n_refs++;
	slu_layer_give();
	if (queue)
		return queue;
	slu_layer_next.clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, sizeof(n_program),
					     &n_program, NULL);
	return queue_enter(handle, n_program);
}

int slu_queue_progress(struct slu_device *device, bool flush)
{
	bool is_busy = false, is_blocked = false;
	struct slu_queue *queue, *next;

	slu_layer_take();
	queue = TAILQ_FIRST(&all_queues);
	if (queue)
		queue->n_refs++;
	slu_layer_give();
	while (queue) {
		if (queue->device == device) {
			if (slu_fastpath_cover(queue) < 0)
				is_busy = true;
			slu_sweep_queue(queue, flush);
		}
		slu_layer_take();
		if (queue->device == device) {
			struct slu_command *command;

			TAILQ_FOREACH (command, &queue->commands, link)
				if (slu_blockers_hold_locked(&command->blockers))
					is_blocked = true;
				else
					is_busy = true;
		}
		next = TAILQ_NEXT(queue, link);
		if (next)
			next->n_refs++;
		slu_queue_unref_locked(queue);
		slu_layer_give();
		queue = next;
	}
	return is_busy ? SLU_BACKEND_E_BUSY : is_blocked ? SLU_BACKEND_E_BLOCKED : 0;
}

/* The program does not give the queue up meanwhile: clReleaseCommandQueue() waits. */
static void queue_flush(struct slu_queue *queue)
{
	cl_command_queue handle;

	slu_layer_take();
	handle = queue->handle;
	queue->n_marking++;
	slu_layer_give();
	if (handle)
		slu_layer_next.clFlush(handle);
	slu_layer_take();
	if (--queue->n_marking == 0)
		pthread_cond_broadcast(&slu_layer_changed);
	slu_layer_give();
}

void slu_queue_flush_all(void)
{
	struct slu_queue *queue, *next;

	slu_layer_take();
	queue = TAILQ_FIRST(&all_queues);
	if (queue)
		queue->n_refs++;
	slu_layer_give();
	while (queue) {
		queue_flush(queue);
		slu_layer_take();
		next = TAILQ_NEXT(queue, link);
		if (next)
			next->n_refs++;
		slu_queue_unref_locked(queue);
		slu_layer_give();
		queue = next;
	}
}

struct slu_command *slu_queue_command_locked(cl_event event)
{
	struct slu_command *command;
	struct slu_queue *queue;

	TAILQ_FOREACH (queue, &all_queues, link)
		TAILQ_FOREACH (command, &queue->commands, link)
			if (command->event == event)
				return command;
	return NULL;
}

void slu_queue_gather_locked(struct slu_queue *queue, struct slu_blockers *set)
{
	struct slu_command *command;

	TAILQ_FOREACH (command, &queue->commands, link)
		slu_blockers_add_locked(set, 0, NULL, &command->blockers);
}

bool slu_queue_hides_event(cl_event event)
{
	bool is_ours;

	slu_layer_take();
	is_ours = slu_queue_command_locked(event) != NULL;
	slu_layer_give();
	return is_ours;
}

/* -- the calls -------------------------------------------------------------------------------- */

static cl_command_queue queue_note(cl_command_queue handle)
{
	struct slu_queue *queue = handle ? queue_enter(handle, 1) : NULL;

	if (queue)
		slu_queue_unref(queue);
	return handle;
}

cl_command_queue slu_call_clCreateCommandQueue(cl_context context, cl_device_id device,
					       cl_command_queue_properties properties,
					       cl_int *errcode_ret)
{
	return queue_note(
		slu_layer_next.clCreateCommandQueue(context, device, properties, errcode_ret));
}

cl_command_queue slu_call_clCreateCommandQueueWithProperties(cl_context context,
							     cl_device_id device,
							     const cl_queue_properties *properties,
							     cl_int *errcode_ret)
{
	return queue_note(slu_layer_next.clCreateCommandQueueWithProperties(
		context, device, properties, errcode_ret));
}

cl_int slu_call_clSetCommandQueueProperty(cl_command_queue handle,
					  cl_command_queue_properties properties, cl_bool enable,
					  cl_command_queue_properties *old_properties)
{
	struct slu_queue *queue;
	cl_int r;

	r = slu_layer_next.clSetCommandQueueProperty(handle, properties, enable, old_properties);
	queue = r == CL_SUCCESS ? slu_queue_get(handle) : NULL;
	if (!queue)
		return r;
	/* Commands already noted as in order are ended before the new order begins. */
	if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
		slu_layer_next.clFinish(handle);
		slu_sweep_queue(queue, false);
		slu_layer_take();
		queue->is_out_of_order = enable;
		slu_layer_give();
	}
	slu_queue_unref(queue);
	return r;
}

cl_int slu_call_clRetainCommandQueue(cl_command_queue handle)
{
	cl_int r = slu_layer_next.clRetainCommandQueue(handle);
	struct slu_queue *queue;

	if (r != CL_SUCCESS)
		return r;
	slu_layer_take();
	queue = queue_find_locked(handle);
	if (queue)
		queue->n_program++;
	slu_layer_give();
	return r;
}

static struct slu_queue *queue_known_with_ref(cl_command_queue handle)
{
	struct slu_queue *queue;

	slu_layer_take();
	queue = queue_find_locked(handle);
	if (queue)
		queue->n_refs++;
	slu_layer_give();
	return queue;
}

/* What was there before has ended then, in a queue in order without asking about each. */
static cl_int queue_finish(struct slu_queue *queue, cl_command_queue handle)
{
	uint64_t covers = slu_fastpath_close_run(queue);
	cl_int r = slu_layer_next.clFinish(handle);

	if (r == CL_SUCCESS && covers) {
		slu_sweep_covered(queue, covers, NULL);
		atomic_store(&queue->flight.n_closed, 0);
	} else {
		slu_sweep_queue(queue, false);
	}
	return r;
}

/* One of the program's references less. What goes with the last is known by events from then on. */
static void queue_give_up(struct slu_queue *queue)
{
	cl_command_queue handle = queue->handle;

	if (queue->n_program == 1 && slu_fastpath_cover(queue))
		queue_finish(queue, handle);
	slu_sweep_queue(queue, false);
	slu_layer_take();
	if (queue->n_program && --queue->n_program == 0 && queue_find_locked(handle) == queue) {
		slu_table_remove(&queues, &queue->node);
		queue->handle = NULL;
		while (queue->n_marking)
			slu_lock_wait(&slu_layer_lock, &slu_layer_changed, NULL);
		slu_queue_unref_locked(queue);
	}
	slu_layer_give();
}

cl_int slu_call_clReleaseCommandQueue(cl_command_queue handle)
{
	struct slu_queue *queue;

	queue = queue_known_with_ref(handle);
	if (queue) {
		queue_give_up(queue);
		slu_queue_unref(queue);
	}
	return slu_layer_next.clReleaseCommandQueue(handle);
}

static void queue_sweep(cl_command_queue handle)
{
	struct slu_queue *queue = queue_known_with_ref(handle);

	if (queue) {
		slu_sweep_queue(queue, false);
		slu_queue_unref(queue);
	}
}

cl_int slu_call_clFinish(cl_command_queue handle)
{
	struct slu_queue *queue = queue_known_with_ref(handle);
	cl_int r;

	if (!queue)
		return slu_layer_next.clFinish(handle);
	r = queue_finish(queue, handle);
	slu_queue_unref(queue);
	return r;
}

/* A driver's events keep their queue; those of ended commands must not do so because of us. */
cl_int slu_call_clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what,
				      size_t size, void *param, size_t *ret_size)
{
	if (what == CL_QUEUE_REFERENCE_COUNT)
		queue_sweep(handle);
	return slu_layer_next.clGetCommandQueueInfo(handle, what, size, param, ret_size);
}
