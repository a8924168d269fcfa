/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/bind.h"
#include "opencl/kernel.h"

static struct slu_table kernels; /* guarded by the layer's lock */

static void kernel_unref_locked(struct slu_kernel *kernel)
{
	if (--kernel->n_refs == 0)
		free(kernel);
}

static struct slu_kernel *kernel_find_locked(cl_kernel handle)
{
	struct slu_table_node *node = slu_table_find(&kernels, handle);

	return node ? slu_container_of(node, struct slu_kernel, node) : NULL;
}

struct slu_kernel *slu_kernel_find(cl_kernel handle)
{
	struct slu_table_node *node = slu_table_peek(&kernels, handle);

	return node ? slu_container_of(node, struct slu_kernel, node) : NULL;
}

/* Return: false if there is no memory for a note; without one the kernel is of no use. */
static bool kernel_enter(cl_kernel handle, const struct slu_kernel *like)
{
	struct slu_table_node *old = NULL;
	struct slu_program *program = NULL;
	struct slu_kernel *kernel;
	cl_uint n_args = 0;
	bool is_noted;

	if (!handle || slu_layer_next.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(n_args),
						      &n_args, NULL) != CL_SUCCESS)
		return true;
	kernel = calloc(1, sizeof(*kernel) + n_args * sizeof(kernel->args[0]));
	if (!kernel)
		return false;
	kernel->handle = handle;
	kernel->program = slu_program_get(handle);
	kernel->n_refs = kernel->n_program = 1;
	kernel->n_args = n_args;
	for (cl_uint i = 0; i < n_args; i++)
		kernel->args[i].access = SLU_ACCESS_WRITE;
	if (like)
		memcpy(kernel->args, like->args,
		       SLU_MIN(n_args, like->n_args) * sizeof(kernel->args[0]));
	slu_layer_take();
	is_noted = !slu_table_put(&kernels, handle, &kernel->node, &old);
	if (!is_noted) {
		program = kernel->program;
		free(kernel);
	}
	if (old) {
		struct slu_kernel *gone = slu_container_of(old, struct slu_kernel, node);

		program = slu_steal_ptr(gone->program);
		kernel_unref_locked(gone);
	}
	slu_layer_give();
	slu_program_put(program);
	return is_noted;
}

static unsigned n_waiting; /* for any kernel; guarded by the layer's lock */

static void kernel_take_locked(struct slu_kernel *kernel)
{
	n_waiting++;
	while (kernel->is_taken)
		slu_lock_wait(&slu_layer_lock, &slu_layer_changed, NULL);
	n_waiting--;
	kernel->is_taken = true;
}

static void kernel_wake_locked(void)
{
	if (n_waiting)
		pthread_cond_broadcast(&slu_layer_changed);
}

struct slu_kernel *slu_kernel_take(cl_kernel handle)
{
	struct slu_kernel *kernel;

	slu_layer_take();
	kernel = kernel_find_locked(handle);
	if (kernel) {
		kernel->n_refs++;
		kernel_take_locked(kernel);
	}
	slu_layer_give();
	return kernel;
}

struct slu_kernel *slu_kernel_peek(cl_kernel handle, size_t n_capacity,
				   struct slu_kernel_arg *ret_args, size_t *ret_n)
{
	struct slu_kernel *kernel;
	size_t n = 0;

	slu_layer_take();
	kernel = kernel_find_locked(handle);
	if (kernel) {
		kernel->n_refs++;
		kernel_take_locked(kernel);
		for (cl_uint i = 0; i < kernel->n_args; i++)
			if (kernel->args[i].proxy) {
				if (n < n_capacity)
					ret_args[n] = kernel->args[i];
				n++;
			}
		kernel->is_taken = false;
		kernel_wake_locked();
		*ret_n = n;
	}
	slu_layer_give();
	return kernel;
}

void slu_kernel_resume(struct slu_kernel *kernel)
{
	slu_layer_take();
	kernel_take_locked(kernel);
	slu_layer_give();
}

void slu_kernel_give(struct slu_kernel *kernel)
{
	slu_layer_take();
	kernel->is_taken = false;
	kernel_wake_locked();
	kernel_unref_locked(kernel);
	slu_layer_give();
}

/* -- the calls -------------------------------------------------------------------------------- */

/* What the program gets for @handle, which the driver made. */
static cl_kernel kernel_entered(cl_kernel handle, const struct slu_kernel *like,
				cl_int *errcode_ret)
{
	if (kernel_enter(handle, like))
		return handle;
	slu_layer_next.clReleaseKernel(handle);
	if (errcode_ret)
		*errcode_ret = CL_OUT_OF_HOST_MEMORY;
	return NULL;
}

cl_kernel slu_call_clCreateKernel(cl_program program, const char *name, cl_int *errcode_ret)
{
	cl_kernel handle = slu_layer_next.clCreateKernel(program, name, errcode_ret);

	return kernel_entered(handle, NULL, errcode_ret);
}

cl_int slu_call_clCreateKernelsInProgram(cl_program program, cl_uint n_kernels, cl_kernel *handles,
					 cl_uint *ret_n_kernels)
{
	cl_uint n = 0, n_made;
	cl_int r = slu_layer_next.clCreateKernelsInProgram(program, n_kernels, handles, &n);

	if (r == CL_SUCCESS && handles) {
		bool are_noted = true;

		n_made = SLU_MIN(n, n_kernels);
		for (cl_uint i = 0; i < n_made; i++)
			are_noted = kernel_enter(handles[i], NULL) && are_noted;
		/* those that have a note lose it with their last reference */
		for (cl_uint i = 0; i < n_made && !are_noted; i++)
			slu_call_clReleaseKernel(handles[i]);
		if (!are_noted)
			return CL_OUT_OF_HOST_MEMORY;
	}
	if (r == CL_SUCCESS && ret_n_kernels)
		*ret_n_kernels = n;
	return r;
}

cl_kernel slu_call_clCloneKernel(cl_kernel source, cl_int *errcode_ret)
{
	struct slu_kernel *kernel = slu_kernel_take(source);
	cl_kernel handle;

	if (!kernel)
		return slu_layer_next.clCloneKernel(source, errcode_ret);
	slu_bind_dummies(kernel);
	handle = slu_layer_next.clCloneKernel(source, errcode_ret);
	handle = kernel_entered(handle, kernel, errcode_ret);
	slu_kernel_give(kernel);
	return handle;
}

cl_int slu_call_clRetainKernel(cl_kernel handle)
{
	cl_int r = slu_layer_next.clRetainKernel(handle);
	struct slu_kernel *kernel;

	if (r != CL_SUCCESS)
		return r;
	slu_layer_take();
	kernel = kernel_find_locked(handle);
	if (kernel)
		kernel->n_program++;
	slu_layer_give();
	return r;
}

cl_int slu_call_clReleaseKernel(cl_kernel handle)
{
	struct slu_program *program = NULL;
	struct slu_kernel *kernel;
	cl_int r;

	slu_layer_take();
	kernel = kernel_find_locked(handle);
	if (kernel && --kernel->n_program == 0) {
		slu_table_remove(&kernels, &kernel->node);
		program = slu_steal_ptr(kernel->program);
		kernel_unref_locked(kernel);
	}
	slu_layer_give();
	r = slu_layer_next.clReleaseKernel(handle);
	slu_program_put(program);
	return r;
}
