/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kernels on their way to the device. The arguments say exactly which objects a launch may
 * touch; every one that it may write is out of date in its host copy from then on.
 */

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "opencl/bracket.h"
#include "opencl/kernel.h"

#define FEW 16

static bool is_written(const struct slu_proxy *proxy)
{
	return !(proxy->flags & CL_MEM_READ_ONLY);
}

/*
 * Names what is bound to the kernel. An object that the program has given up since is no
 * argument any more.
 */
static cl_int name_args(struct slu_kernel *kernel, struct slu_name *names, size_t *ret_n)
{
	size_t n = 0;

	for (cl_uint i = 0; i < kernel->n_args; i++) {
		const struct slu_kernel_arg *arg = &kernel->args[i];

		if (!arg->proxy)
			continue;
		if (!slu_kernel_arg_is_live(arg))
			return CL_INVALID_KERNEL_ARGS;
		names[n++] = (struct slu_name){ .handle = slu_proxy_handle(arg->proxy),
						.is_written = is_written(arg->proxy) };
	}
	*ret_n = n;
	return CL_SUCCESS;
}

struct launch {
	struct slu_bracket bracket;
	struct slu_kernel *kernel;
	struct slu_name few[FEW], *names;
	size_t n_names;
};

/* The kernel is not kept while the bracket waits for a turn; afterwards it is, until the end. */
static cl_int begin(struct launch *l, cl_command_queue queue, cl_kernel handle)
{
	cl_int r;

	l->bracket.queue = NULL;
	l->names = l->few;
	l->n_names = 0;
	l->kernel = slu_kernel_take(handle);
	if (!l->kernel) { /* no note: not a kernel, and the driver says which error comes first */
		r = slu_bracket_open(&l->bracket, queue, 0, NULL);
		return r ? r : CL_INVALID_KERNEL;
	}
	if (l->kernel->n_args > FEW)
		l->names = calloc(l->kernel->n_args, sizeof(*l->names));
	r = l->names ? name_args(l->kernel, l->names, &l->n_names) : CL_OUT_OF_HOST_MEMORY;
	slu_kernel_pause(l->kernel);
	if (!r)
		r = slu_bracket_begin(&l->bracket, queue, l->n_names, l->names);
	slu_kernel_resume(l->kernel);
	return r ? r : slu_kernel_refresh(l->kernel);
}

static cl_int end(struct launch *l, cl_int r, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	if (l->kernel)
		slu_kernel_give(l->kernel);
	r = slu_bracket_end(&l->bracket, r, CL_FALSE, n_wait, wait, event);
	if (l->names != l->few)
		free(l->names);
	return r;
}

cl_int slu_call_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
				       const size_t *offset, const size_t *global,
				       const size_t *local, cl_uint n_wait, const cl_event *wait,
				       cl_event *event)
{
	struct launch l;
	cl_int r = begin(&l, queue, kernel);

	if (!r)
		r = slu_layer_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global,
							  local, n_wait, wait, &l.bracket.event);
	return end(&l, r, n_wait, wait, event);
}

cl_int slu_call_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint n_wait,
			      const cl_event *wait, cl_event *event)
{
	struct launch l;
	cl_int r = begin(&l, queue, kernel);

	if (!r)
		r = slu_layer_next.clEnqueueTask(queue, kernel, n_wait, wait, &l.bracket.event);
	return end(&l, r, n_wait, wait, event);
}

cl_int slu_call_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *func)(void *),
				      void *args, size_t args_size, cl_uint n_objects,
				      const cl_mem *objects, const void **args_mem_loc,
				      cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	size_t n = objects ? n_objects : 0;
	struct slu_name *names = calloc(SLU_MAX(n, (size_t)1), sizeof(*names));
	cl_mem *reals = calloc(SLU_MAX(n, (size_t)1), sizeof(*reals));
	struct slu_bracket b = { 0 };
	cl_int r = names && reals ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;

	for (size_t i = 0; i < n && !r; i++)
		names[i] = (struct slu_name){ .handle = objects[i], .is_written = true };
	if (!r)
		r = slu_bracket_begin(&b, queue, n, names);
	for (size_t i = 0; i < n && !r; i++)
		reals[i] = names[i].real;
	if (!r)
		r = slu_layer_next.clEnqueueNativeKernel(queue, func, args, args_size, n_objects,
							 objects ? reals : NULL, args_mem_loc,
							 n_wait, wait, &b.event);
	r = slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
	free(reals);
	free(names);
	return r;
}
