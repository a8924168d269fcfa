/* SPDX-License-Identifier: Apache-2.0 */

/* Command queues: on which device they are, and whether their last command is a job of the bus. */

#include <stdlib.h>

#include "limiter/hash.h"
#include "limiter/bus.h"

struct queue {
	UT_hash_handle hh;
	cl_command_queue queue;		   /* the key */
	unsigned n_refs;		   /* the program's */
	cl_context context;		   /* constant */
	struct dev_limiter_device *device; /* constant */
	bool is_in_order;		   /* constant */
	struct dev_limiter_job *last;	   /* the last command, where it is a job; a reference */
	bool needs_marker;		   /* the last command is the driver's */
};

static struct queue *queues; /* guarded by dev_limiter_lock, as what is in it */

static struct queue *find_locked(cl_command_queue handle)
{
	struct queue *q;

	HASH_FIND_PTR(queues, &handle, q);
	return q;
}

bool dev_limiter_queue_look(cl_command_queue handle, struct dev_limiter_queue_view *ret_view)
{
	struct queue *q;

	slu_lock_take(&dev_limiter_lock);
	q = find_locked(handle);
	if (q) {
		*ret_view = (struct dev_limiter_queue_view){
			.context = q->context,
			.device = q->device,
			.last = q->last,
			.needs_marker = q->needs_marker,
		};
		if (q->last)
			dev_limiter_bus_job_ref_locked(q->last);
	}
	slu_lock_give(&dev_limiter_lock);
	return q;
}

void dev_limiter_queue_note(cl_command_queue handle, struct dev_limiter_job *job)
{
	struct queue *q;

	slu_lock_take(&dev_limiter_lock);
	q = find_locked(handle);
	if (q && q->is_in_order) {
		dev_limiter_bus_job_unref_locked(q->last);
		q->last = job;
		q->needs_marker = !job;
		if (job)
			dev_limiter_bus_job_ref_locked(job);
	}
	slu_lock_give(&dev_limiter_lock);
}

struct dev_limiter_device *dev_limiter_queue_device(cl_command_queue handle)
{
	struct dev_limiter_device *device;
	struct queue *q;

	slu_lock_take(&dev_limiter_lock);
	q = find_locked(handle);
	device = q ? q->device : NULL;
	slu_lock_give(&dev_limiter_lock);
	return device;
}

/* A queue that cannot be noted works, without a bus. */
static cl_command_queue queue_note(cl_command_queue handle, cl_context context, cl_device_id id)
{
	struct dev_limiter_device *device = handle ? dev_limiter_device_find(id) : NULL;
	cl_command_queue_properties properties = 0;
	struct queue *q;

	if (!device)
		return handle;
	q = calloc(1, sizeof(*q));
	if (!q)
		return handle;
	dev_limiter_driver.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties),
						 &properties, NULL);
	q->queue = handle;
	q->n_refs = 1;
	q->context = context;
	q->device = device;
	q->is_in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	slu_lock_take(&dev_limiter_lock);
	HASH_ADD_PTR(queues, queue, q);
	if (!q->hh.tbl)
		free(q);
	slu_lock_give(&dev_limiter_lock);
	return handle;
}

cl_command_queue CL_API_CALL dev_limiter_clCreateCommandQueue(cl_context context, cl_device_id id,
							      cl_command_queue_properties what,
							      cl_int *ret_r)
{
	return queue_note(dev_limiter_driver.clCreateCommandQueue(context, id, what, ret_r),
			  context, id);
}

cl_command_queue CL_API_CALL dev_limiter_clCreateCommandQueueWithProperties(
	cl_context context, cl_device_id id, const cl_queue_properties *properties, cl_int *ret_r)
{
	return queue_note(dev_limiter_driver.clCreateCommandQueueWithProperties(context, id,
										properties, ret_r),
			  context, id);
}

cl_int CL_API_CALL dev_limiter_clRetainCommandQueue(cl_command_queue handle)
{
	cl_int r = dev_limiter_driver.clRetainCommandQueue(handle);
	struct queue *q;

	slu_lock_take(&dev_limiter_lock);
	q = r ? NULL : find_locked(handle);
	if (q)
		q->n_refs++;
	slu_lock_give(&dev_limiter_lock);
	return r;
}

cl_int CL_API_CALL dev_limiter_clReleaseCommandQueue(cl_command_queue handle)
{
	struct queue *q;

	/* before the driver may give the handle to somebody else */
	slu_lock_take(&dev_limiter_lock);
	q = find_locked(handle);
	if (q && !--q->n_refs) {
		HASH_DEL(queues, q);
		dev_limiter_bus_job_unref_locked(q->last);
		free(q);
	}
	slu_lock_give(&dev_limiter_lock);
	return dev_limiter_driver.clReleaseCommandQueue(handle);
}
