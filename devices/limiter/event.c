/* SPDX-License-Identifier: Apache-2.0 */

/* The events of copies that the bus delays: whose job they are, and what their profile says. */

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "limiter/hash.h"
#include "limiter/bus.h"

struct event {
	UT_hash_handle hh;
	cl_event event;		     /* the key */
	unsigned n_refs;	     /* the program's */
	struct dev_limiter_job *job; /* a reference; constant */
};

static struct event *events; /* guarded by dev_limiter_lock, as what is in it */

static struct event *find_locked(cl_event handle)
{
	struct event *e;

	HASH_FIND_PTR(events, &handle, e);
	return e;
}

int dev_limiter_event_add(cl_event handle, struct dev_limiter_job *job)
{
	struct event *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e)
		return -ENOMEM;
	e->event = handle;
	e->n_refs = 1;
	e->job = job;
	slu_lock_take(&dev_limiter_lock);
	HASH_ADD_PTR(events, event, e);
	if (e->hh.tbl) {
		dev_limiter_bus_job_ref_locked(job);
	} else {
		free(e);
		r = -ENOMEM;
	}
	slu_lock_give(&dev_limiter_lock);
	return r;
}

struct dev_limiter_job *dev_limiter_event_job(cl_event handle)
{
	struct dev_limiter_job *job = NULL;
	struct event *e;

	slu_lock_take(&dev_limiter_lock);
	e = find_locked(handle);
	if (e) {
		job = e->job;
		dev_limiter_bus_job_ref_locked(job);
	}
	slu_lock_give(&dev_limiter_lock);
	return job;
}

cl_int CL_API_CALL dev_limiter_clRetainEvent(cl_event handle)
{
	cl_int r = dev_limiter_driver.clRetainEvent(handle);
	struct event *e;

	slu_lock_take(&dev_limiter_lock);
	e = r ? NULL : find_locked(handle);
	if (e)
		e->n_refs++;
	slu_lock_give(&dev_limiter_lock);
	return r;
}

cl_int CL_API_CALL dev_limiter_clReleaseEvent(cl_event handle)
{
	struct event *e;

	/* before the driver may give the handle to somebody else */
	slu_lock_take(&dev_limiter_lock);
	e = find_locked(handle);
	if (e && !--e->n_refs) {
		HASH_DEL(events, e);
		dev_limiter_bus_job_unref_locked(e->job);
		free(e);
	}
	slu_lock_give(&dev_limiter_lock);
	return dev_limiter_driver.clReleaseEvent(handle);
}

static cl_ulong event_profile(cl_event handle, cl_profiling_info what)
{
	cl_ulong ns = 0;

	dev_limiter_driver.clGetEventProfilingInfo(handle, what, sizeof(ns), &ns, NULL);
	return ns;
}

cl_int CL_API_CALL dev_limiter_clGetEventProfilingInfo(cl_event handle, cl_profiling_info what,
						       size_t size, void *to, size_t *ret_size)
{
	cl_int r = dev_limiter_driver.clGetEventProfilingInfo(handle, what, size, to, ret_size);
	struct dev_limiter_job *job;
	cl_ulong start_ns;

	if (r || !to || (what != CL_PROFILING_COMMAND_START && what != CL_PROFILING_COMMAND_SUBMIT))
		return r;
	job = dev_limiter_event_job(handle);
	if (!job)
		return r;
	start_ns = slu_sub_floor(event_profile(handle, CL_PROFILING_COMMAND_END),
				 dev_limiter_bus_job_duration_ns(job));
	start_ns = SLU_MAX(start_ns, event_profile(handle, CL_PROFILING_COMMAND_QUEUED));
	if (what == CL_PROFILING_COMMAND_START)
		*(cl_ulong *)to = start_ns;
	else
		*(cl_ulong *)to = SLU_MIN(*(cl_ulong *)to, start_ns);
	slu_lock_take(&dev_limiter_lock);
	dev_limiter_bus_job_unref_locked(job);
	slu_lock_give(&dev_limiter_lock);
	return r;
}
