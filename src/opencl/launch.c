/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Launches of kernels. The arguments name exactly the objects that a launch may use; each object
 * that it may write is dirty afterwards.
 */

#include <stdlib.h>
#include <string.h>

#include "opencl/bind.h"
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
static bool launch_alloc(struct launch *l, size_t n)
{
	l->args = calloc(n, sizeof(*l->args));
	l->names = calloc(n, sizeof(*l->names));
	return l->args && l->names;
}

static void launch_free(struct launch *l)
{
	if (l->args != l->few_args)
		free(l->args);
	if (l->names != l->few_names)
		free(l->names);
}

/* An object that the program has given up since is no argument any more. */
static cl_int launch_name_args(struct launch *l)
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
static void launch_build_hashers(const struct launch *l)
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
static cl_int launch_begin(struct launch *l, cl_command_queue queue, cl_kernel handle)
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

		r = launch_alloc(l, n_most) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
		slu_kernel_resume(l->kernel);
		slu_kernel_give(l->kernel);
		l->kernel = r ? NULL : slu_kernel_peek(handle, n_most, l->args, &l->n);
		if (!r && !l->kernel)
			r = CL_INVALID_KERNEL;
	}
	if (!r)
		r = launch_name_args(l);
	if (!r)
		r = slu_bracket_open(&l->bracket, queue, l->n, l->names);
	if (!r)
		launch_build_hashers(l);
	l->bracket.is_slow = true;
	if (!r)
		r = slu_bracket_enter(&l->bracket);
	if (l->kernel)
		slu_kernel_resume(l->kernel);
	return r ? r : slu_bind_refresh(l->kernel);
}

static cl_int launch_end(struct launch *l, cl_int r, cl_uint n_wait, const cl_event *wait,
			 cl_event *event)
{
	if (l->kernel)
		slu_kernel_give(l->kernel);
	r = slu_bracket_end(&l->bracket, r, CL_FALSE, n_wait, wait, event);
	launch_free(l);
	return r;
}

static bool launch_again(struct launch *l, cl_int r)
{
	if (!slu_bracket_is_refused(&l->bracket, r))
		return false;
	slu_kernel_give(l->kernel);
	slu_bracket_retreat(&l->bracket);
	launch_free(l);
	return true;
}

/* A launch on the fast path (fastpath.h). */
struct fast_launch {
	struct slu_queue *queue;
	size_t n_roots;
	struct slu_proxy *roots[SLU_FASTPATH_ROOTS_MAX];
};

/* The lease comes before the generation: without it no thread may read that. */
static bool fast_launch_name_args(struct fast_launch *l, const struct slu_kernel *kernel)
{
	uint64_t number = slu_fastpath_number(l->queue->device);
	size_t n = 0;

	for (cl_uint i = 0; i < kernel->n_args; i++) {
		const struct slu_kernel_arg *arg = &kernel->args[i];

		if (!arg->proxy)
			continue;
		if (n == SLU_FASTPATH_ROOTS_MAX || !slu_kernel_arg_is_live(arg) ||
		    !slu_fastpath_is_leased(arg->proxy->root, number,
					    slu_proxy_access(arg->proxy, arg->access)) ||
		    arg->generation != arg->proxy->root->generation)
			return false;
		l->roots[n++] = arg->proxy->root;
	}
	l->n_roots = n;
	return true;
}

/* Return: whether the launch may be submitted now; then fast_launch_end() is due. */
static bool fast_launch_begin(struct fast_launch *l, cl_command_queue queue, cl_kernel handle)
{
	const struct slu_kernel *kernel = slu_kernel_find(handle);

	l->queue = slu_queue_peek(queue);
	if (!l->queue || !kernel || atomic_load_explicit(&kernel->is_taken, memory_order_relaxed) ||
	    !slu_fastpath_enter(l->queue))
		return false;
	if (fast_launch_name_args(l, kernel))
		return true;
	slu_fastpath_leave(l->queue, NULL, 0, false);
	return false;
}

static cl_int fast_launch_end(struct fast_launch *l, cl_int r)
{
	slu_fastpath_leave(l->queue, l->roots, l->n_roots, r == CL_SUCCESS);
	return r;
}

cl_int slu_call_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
				       const size_t *offset, const size_t *global,
				       const size_t *local, cl_uint n_wait, const cl_event *wait,
				       cl_event *event)
{
	struct fast_launch fast;
	struct launch l;
	cl_int r;

	if (fast_launch_begin(&fast, queue, kernel)) {
		r = slu_layer_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global,
							  local, n_wait, wait, event);
		return fast_launch_end(&fast, r);
	}
	do {
		r = launch_begin(&l, queue, kernel);
		if (!r)
			r = slu_layer_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset,
								  global, local, n_wait, wait,
								  &l.bracket.event);
	} while (launch_again(&l, r));
	return launch_end(&l, r, n_wait, wait, event);
}

cl_int slu_call_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint n_wait,
			      const cl_event *wait, cl_event *event)
{
	struct fast_launch fast;
	struct launch l;
	cl_int r;

	if (fast_launch_begin(&fast, queue, kernel)) {
		r = slu_layer_next.clEnqueueTask(queue, kernel, n_wait, wait, event);
		return fast_launch_end(&fast, r);
	}
	do {
		r = launch_begin(&l, queue, kernel);
		if (!r)
			r = slu_layer_next.clEnqueueTask(queue, kernel, n_wait, wait,
							 &l.bracket.event);
	} while (launch_again(&l, r));
	return launch_end(&l, r, n_wait, wait, event);
}
