/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shared virtual memory. The program holds its addresses, so it cannot move. Each allocation is
 * charged with that reason, others give way where the driver has no memory for it, and its commands
 * wait for the turn like all others.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/bracket.h"
#include "opencl/headroom.h"
#include "opencl/memory.h"
#include "opencl/svm.h"
#include "opencl/table.h"
#include "opencl/worker.h"

struct allocation {
	struct slu_table_node node; /* by the address; guarded by the layer's lock */
	struct slu_proxy *charged;  /* NULL: no account */
};

static struct slu_table allocations; /* guarded by the layer's lock */

bool slu_svm_has(const void *address)
{
	bool is_there;

	slu_layer_take();
	is_there = slu_table_find(&allocations, address) != NULL;
	slu_layer_give();
	return is_there;
}

/*
 * What is known of @address, or NULL. It is taken out before the driver frees: it may give the
 * address to another thread at once.
 */
static struct allocation *allocation_take(const void *address)
{
	struct slu_table_node *node;

	slu_layer_take();
	node = slu_table_find(&allocations, address);
	if (node)
		slu_table_remove(&allocations, node);
	slu_layer_give();
	return node ? slu_container_of(node, struct allocation, node) : NULL;
}

static void allocation_discharge(struct allocation *a)
{
	if (a && a->charged)
		slu_memory_discharge(a->charged);
	free(a);
}

/* What was there before under that address was freed in a way that we did not see. */
static void allocation_put(const void *address, struct allocation *a)
{
	struct slu_table_node *old = NULL;
	bool is_noted;

	slu_layer_take();
	is_noted = !slu_table_put(&allocations, address, &a->node, &old);
	slu_layer_give();
	if (old)
		allocation_discharge(slu_container_of(old, struct allocation, node));
	if (!is_noted)
		allocation_discharge(a);
}

/* An allocation that cannot be charged is the program's all the same: the driver has given it. */
static void allocation_charge(cl_context context, const void *address, size_t size,
			      struct slu_reserve *reserve)
{
	struct allocation *a = calloc(1, sizeof(*a));

	if (!a)
		return;
	a->charged = slu_memory_charge(context, size, SLU_FROZEN_SVM, reserve);
	allocation_put(address, a);
}

/* -- allocation with headroom ----------------------------------------------------------------- */

struct making {
	struct slu_headroom headroom;
	cl_context context;
	cl_svm_mem_flags flags;
	size_t size;
	cl_uint alignment;
	void *made;
};

/* The driver does not say why it gives none. */
static cl_int svm_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);

	m->made = slu_layer_next.clSVMAlloc(m->context, m->flags, m->size, m->alignment);
	return m->made ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

static bool context_has_kind(const struct slu_context *context, cl_svm_mem_flags flags)
{
	cl_device_svm_capabilities has = 0, wants = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;

	if (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)
		wants = CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
	if (flags & CL_MEM_SVM_ATOMICS)
		wants |= CL_DEVICE_SVM_ATOMICS;
	return slu_layer_next.clGetDeviceInfo(context->first, CL_DEVICE_SVM_CAPABILITIES,
					      sizeof(has), &has, NULL) == CL_SUCCESS &&
	       (has & wants) == wants;
}

/* Whether headroom could help: nothing is wrong with the call itself. */
static bool svm_could_be_made(const struct slu_context *context, const struct making *m)
{
	const cl_svm_mem_flags known =
		SLU_MEMORY_ACCESS_FLAGS | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;

	return m->size && m->size <= context->max_alloc_bytes &&
	       !(m->alignment & (m->alignment - 1)) && !(m->flags & ~known) &&
	       slu_memory_is_one_at_most(m->flags & SLU_MEMORY_ACCESS_FLAGS) &&
	       context_has_kind(context, m->flags);
}

static void *svm_make(struct making *m, const struct slu_context *context)
{
	if (svm_attempt(&m->headroom) != CL_SUCCESS && svm_could_be_made(context, m))
		slu_headroom_try(&m->headroom, context->payer, m->size);
	return m->made;
}

/* -- the calls -------------------------------------------------------------------------------- */

void *slu_call_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
			  cl_uint alignment)
{
	struct making m = { .headroom.attempt = svm_attempt,
			    .context = context,
			    .flags = flags,
			    .size = size,
			    .alignment = alignment };
	struct slu_context *known;
	struct slu_reserve reserve;
	void *address = NULL;

	if (slu_context_get(context, &known))
		return slu_layer_next.clSVMAlloc(context, flags, size, alignment);
	if (slu_memory_reserve(known, size, &reserve)) {
		address = svm_make(&m, known);
		if (address)
			allocation_charge(context, address, size, &reserve);
		slu_memory_unreserve(&reserve);
	}
	slu_context_unref(known);
	return address;
}

void slu_call_clSVMFree(cl_context context, void *address)
{
	struct allocation *a = address ? allocation_take(address) : NULL;

	slu_layer_next.clSVMFree(context, address);
	allocation_discharge(a);
}

struct freeing {
	struct slu_worker_job job;
	cl_uint n;
	struct allocation *allocations[];
};

static void svm_freed_job(struct slu_worker_job *job)
{
	struct freeing *f = slu_container_of(job, struct freeing, job);

	for (cl_uint i = 0; i < f->n; i++)
		allocation_discharge(f->allocations[i]);
	free(f);
}

static void CL_CALLBACK svm_freed(cl_event event, cl_int status, void *data)
{
	struct freeing *f = data;

	slu_worker_push(&f->job);
}

static struct freeing *svm_take_all(void *const *addresses, cl_uint n)
{
	struct freeing *f = malloc(sizeof(*f) + n * sizeof(f->allocations[0]));

	if (!f)
		return NULL;
	f->job.run = svm_freed_job;
	f->n = n;
	for (cl_uint i = 0; i < n; i++)
		f->allocations[i] = addresses[i] ? allocation_take(addresses[i]) : NULL;
	return f;
}

/* They were not freed after all. */
static void svm_put_back(struct freeing *f, void *const *addresses)
{
	for (cl_uint i = 0; i < f->n; i++)
		if (f->allocations[i])
			allocation_put(addresses[i], f->allocations[i]);
	free(f);
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
		f = svm_take_all(addresses, n);
		if (!f)
			r = CL_OUT_OF_HOST_MEMORY;
	}
	if (!r)
		r = slu_layer_next.clEnqueueSVMFree(queue, n, addresses, call, data, n_wait, wait,
						    &b.event);
	if (f && r)
		svm_put_back(f, addresses);
	/* without a note of the end, the bytes are given back a little early */
	else if (f && slu_layer_next.clSetEventCallback(b.event, CL_COMPLETE, svm_freed, f))
		svm_freed_job(&f->job);
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
