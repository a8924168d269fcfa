/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shared virtual memory: the program holds its addresses, so it cannot move. Each allocation is
 * charged with that reason, and its commands wait for the turn like all others.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/bracket.h"
#include "opencl/memory.h"
#include "opencl/table.h"
#include "opencl/worker.h"

struct allocation {
	struct slu_table_node node; /* by the address; guarded by the layer's lock */
	struct slu_proxy *charged;
};

static struct slu_table allocations; /* guarded by the layer's lock */

static void discharge(const void *address)
{
	struct slu_table_node *node;
	struct allocation *a;

	slu_layer_take();
	node = slu_table_find(&allocations, address);
	if (node)
		slu_table_remove(&allocations, node);
	slu_layer_give();
	if (!node)
		return;
	a = slu_container_of(node, struct allocation, node);
	slu_memory_discharge(a->charged);
	free(a);
}

/* An allocation that cannot be charged is the program's all the same: the driver has given it. */
static void charge(cl_context context, const void *address, size_t size)
{
	struct allocation *a = calloc(1, sizeof(*a));
	struct slu_table_node *old = NULL;
	bool is_noted;

	if (a)
		a->charged = slu_memory_charge(context, size, SLU_FROZEN_SVM);
	if (!a || !a->charged) {
		free(a);
		return;
	}
	slu_layer_take();
	is_noted = !slu_table_put(&allocations, address, &a->node, &old);
	slu_layer_give();
	if (!is_noted) {
		slu_memory_discharge(a->charged);
		free(a);
	}
}

/* -- the calls -------------------------------------------------------------------------------- */

void *slu_call_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
			  cl_uint alignment)
{
	void *address = slu_layer_next.clSVMAlloc(context, flags, size, alignment);

	if (address)
		charge(context, address, size);
	return address;
}

void slu_call_clSVMFree(cl_context context, void *address)
{
	slu_layer_next.clSVMFree(context, address);
	if (address)
		discharge(address);
}

struct freeing {
	struct slu_worker_job job;
	cl_uint n;
	void *addresses[];
};

static void freed_job(struct slu_worker_job *job)
{
	struct freeing *f = slu_container_of(job, struct freeing, job);

	for (cl_uint i = 0; i < f->n; i++)
		discharge(f->addresses[i]);
	free(f);
}

static void CL_CALLBACK freed(cl_event event, cl_int status, void *data)
{
	struct freeing *f = data;

	slu_worker_push(&f->job);
}

/* Where the program frees in a callback of its own, it calls clSVMFree() there. */
cl_int slu_call_clEnqueueSVMFree(cl_command_queue queue, cl_uint n, void *addresses[],
				 void(CL_CALLBACK *call)(cl_command_queue, cl_uint, void *[],
							 void *),
				 void *data, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct slu_bracket b;
	struct freeing *f = NULL;
	cl_int r = slu_bracket_begin(&b, queue, 0, NULL);

	if (!r && !call && addresses && n) {
		f = malloc(sizeof(*f) + n * sizeof(f->addresses[0]));
		if (!f)
			r = CL_OUT_OF_HOST_MEMORY;
	}
	if (f) {
		f->job.run = freed_job;
		f->n = n;
		for (cl_uint i = 0; i < n; i++)
			f->addresses[i] = addresses[i];
	}
	if (!r)
		r = slu_layer_next.clEnqueueSVMFree(queue, n, addresses, call, data, n_wait, wait,
						    &b.event);
	if (f && (r || slu_layer_next.clSetEventCallback(b.event, CL_COMPLETE, freed, f)))
		free(f);
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to,
				   const void *from, size_t size, cl_uint n_wait,
				   const cl_event *wait, cl_event *event)
{
	struct slu_bracket b;
	cl_int r = slu_bracket_begin(&b, queue, 0, NULL);

	if (!r)
		r = slu_layer_next.clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, size, n_wait, wait,
						      &b.event);
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern,
				    size_t pattern_size, size_t size, cl_uint n_wait,
				    const cl_event *wait, cl_event *event)
{
	struct slu_bracket b;
	cl_int r = slu_bracket_begin(&b, queue, 0, NULL);

	if (!r)
		r = slu_layer_next.clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size,
						       n_wait, wait, &b.event);
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
				void *address, size_t size, cl_uint n_wait, const cl_event *wait,
				cl_event *event)
{
	struct slu_bracket b;
	cl_int r = slu_bracket_begin(&b, queue, 0, NULL);

	if (!r)
		r = slu_layer_next.clEnqueueSVMMap(queue, CL_FALSE, flags, address, size, n_wait,
						   wait, &b.event);
	return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
}

cl_int slu_call_clEnqueueSVMUnmap(cl_command_queue queue, void *address, cl_uint n_wait,
				  const cl_event *wait, cl_event *event)
{
	struct slu_bracket b;
	cl_int r = slu_bracket_begin(&b, queue, 0, NULL);

	if (!r)
		r = slu_layer_next.clEnqueueSVMUnmap(queue, address, n_wait, wait, &b.event);
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}

cl_int slu_call_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint n, const void **addresses,
				       const size_t *sizes, cl_mem_migration_flags flags,
				       cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct slu_bracket b;
	cl_int r = slu_bracket_begin(&b, queue, 0, NULL);

	if (!r)
		r = slu_layer_next.clEnqueueSVMMigrateMem(queue, n, addresses, sizes, flags, n_wait,
							  wait, &b.event);
	return slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
}
