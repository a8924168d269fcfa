/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The program's event callbacks run on a thread of the layer: there they may enqueue, create and
 * release, and wait for that, while the driver's threads go on (worker.h).
 */

#include <stdlib.h>

#include "base/util.h"
#include "opencl/layer.h"
#include "opencl/worker.h"

struct callback {
	struct slu_worker_job job;
	void(CL_CALLBACK *call)(cl_event, cl_int, void *);
	void *data;
	cl_event event; /* kept until the program's function has returned */
	cl_int status;
};

static void callback_run(struct slu_worker_job *job)
{
	struct callback *c = slu_container_of(job, struct callback, job);

	slu_lock_assert_none();
	c->call(c->event, c->status, c->data);
	slu_layer_next.clReleaseEvent(c->event);
	free(c);
}

static void CL_CALLBACK callback_relay(cl_event event, cl_int status, void *data)
{
	struct callback *c = data;

	slu_layer_next.clRetainEvent(event);
	c->event = event;
	c->status = status;
	slu_worker_push(&c->job);
}

cl_int slu_call_clSetEventCallback(cl_event event, cl_int type,
				   void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
	struct callback *c;
	cl_int r;

	if (!call)
		return slu_layer_next.clSetEventCallback(event, type, call, data);
	c = malloc(sizeof(*c));
	if (!c)
		return CL_OUT_OF_HOST_MEMORY;
	*c = (struct callback){ .job.run = callback_run, .call = call, .data = data };
	r = slu_layer_next.clSetEventCallback(event, type, callback_relay, c);
	if (r != CL_SUCCESS)
		free(c);
	return r;
}
