/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kernels on their way to the device. The arguments say exactly which objects a launch may
 * touch; every one that it may write is out of date in its host copy from then on.
 */

#include <stdlib.h>
#include <string.h>

#include "opencl/bracket.h"
#include "opencl/context.h"
#include "opencl/fastpath.h"
#include "opencl/kernel.h"

#define FEW 16

struct launch {
	struct slu_bracket bracket;
	struct slu_kernel *kernel;
	struct slu_kernel_arg few_args[FEW], *args;
	struct slu_name few_names[FEW], *names;
	size_t n;
};

/* Allocates arrays for @n arguments. Return: false where memory is out. */
static bool enlarge(struct launch *l, size_t n)
{
	l->args = calloc(n, sizeof(*l->args));
	l->names = calloc(n, sizeof(*l->names));
	return l->args && l->names;
}

static void forget(struct launch *l)
{
	if (l->args != l->few_args)
		free(l->args);
	if (l->names != l->few_names)
		free(l->names);
}

/* An object that the program has given up since is no argument any more. */
static cl_int name_args(struct launch *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!slu_kernel_arg_is_live(&l->args[i]))
			return CL_INVALID_KERNEL_ARGS;
		l->names[i] = (struct slu_name){
			.handle = slu_proxy_handle(l->args[i].proxy),
			.access = slu_proxy_access(l->args[i].proxy, l->args[i].access),
		};
	}
	return CL_SUCCESS;
}

/* A launch that promises not to write is where one may be wanted. */
static void build_hashers(const struct launch *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct slu_context *context = l->names[i].proxy->context;
		struct slu_context_place *place;

		if (l->names[i].access != SLU_ACCESS_SUSPECT)
			continue;
		place = slu_context_place(context, l->bracket.queue->device);
		if (place && atomic_load(&place->hasher.state) == SLU_HASHER_WANTED)
			slu_hasher_build(context, place);
	}
}

/* The kernel is not kept while the bracket waits for a turn; afterwards it is, until the end. */
static cl_int begin(struct launch *l, cl_command_queue queue, cl_kernel handle)
{
	size_t n_capacity = FEW;
	cl_int r;

	l->bracket.queue = NULL;
	l->args = l->few_args;
	l->names = l->few_names;
	l->kernel = slu_kernel_peek(handle, n_capacity, l->args, &l->n);
	if (!l->kernel) { /* no note: not a kernel, but a wrong queue is the first thing wrong */
		r = slu_bracket_open(&l->bracket, queue, 0, NULL);
		return r ? r : CL_INVALID_KERNEL;
	}
	r = CL_SUCCESS;
	if (l->n > n_capacity) {
		size_t n_most = l->kernel->n_args;

		r = enlarge(l, n_most) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
		slu_kernel_resume(l->kernel);
		slu_kernel_give(l->kernel);
		l->kernel = r ? NULL : slu_kernel_peek(handle, n_most, l->args, &l->n);
		if (!r && !l->kernel)
			r = CL_INVALID_KERNEL;
	}
	if (!r)
		r = name_args(l);
	if (!r)
		r = slu_bracket_open(&l->bracket, queue, l->n, l->names);
	if (!r)
		build_hashers(l);
	l->bracket.is_slow = true;
	if (!r)
		r = slu_bracket_enter(&l->bracket);
	if (l->kernel)
		slu_kernel_resume(l->kernel);
	return r ? r : slu_kernel_refresh(l->kernel);
}

static cl_int end(struct launch *l, cl_int r, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	if (l->kernel)
		slu_kernel_give(l->kernel);
	r = slu_bracket_end(&l->bracket, r, CL_FALSE, n_wait, wait, event);
	forget(l);
	return r;
}

static bool again(struct launch *l, cl_int r)
{
	if (!slu_bracket_is_refused(&l->bracket, r))
		return false;
	slu_kernel_give(l->kernel);
	slu_bracket_retreat(&l->bracket);
	forget(l);
	return true;
}

/* The fast path, if it is open to this launch; slu_fastpath_leave() is due then. */
struct way {
	struct slu_queue *queue;
	struct slu_kernel *kernel;
};

static bool is_fast(struct way *way, cl_command_queue queue, cl_kernel kernel)
{
	way->queue = slu_queue_peek(queue);
	way->kernel = slu_kernel_find(kernel);
	return way->queue && way->kernel && slu_fastpath_enter(way->queue, way->kernel);
}

cl_int slu_call_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
				       const size_t *offset, const size_t *global,
				       const size_t *local, cl_uint n_wait, const cl_event *wait,
				       cl_event *event)
{
	struct way way;
	struct launch l;
	cl_int r;

	if (is_fast(&way, queue, kernel)) {
		r = slu_layer_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global,
							  local, n_wait, wait, event);
		slu_fastpath_leave(way.queue, way.kernel, r == CL_SUCCESS);
		return r;
	}
	do {
		r = begin(&l, queue, kernel);
		if (!r)
			r = slu_layer_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset,
								  global, local, n_wait, wait,
								  &l.bracket.event);
	} while (again(&l, r));
	return end(&l, r, n_wait, wait, event);
}

cl_int slu_call_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint n_wait,
			      const cl_event *wait, cl_event *event)
{
	struct way way;
	struct launch l;
	cl_int r;

	if (is_fast(&way, queue, kernel)) {
		r = slu_layer_next.clEnqueueTask(queue, kernel, n_wait, wait, event);
		slu_fastpath_leave(way.queue, way.kernel, r == CL_SUCCESS);
		return r;
	}
	do {
		r = begin(&l, queue, kernel);
		if (!r)
			r = slu_layer_next.clEnqueueTask(queue, kernel, n_wait, wait,
							 &l.bracket.event);
	} while (again(&l, r));
	return end(&l, r, n_wait, wait, event);
}
