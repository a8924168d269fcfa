/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/argument.h"
#include "opencl/bracket.h"
#include "opencl/context.h"
#include "opencl/kernel.h"
#include "opencl/lane.h"
#include "opencl/memory.h"

static struct slu_table kernels; /* guarded by the layer's lock */

static void unref_locked(struct slu_kernel *kernel)
{
	if (--kernel->n_refs == 0)
		free(kernel);
}

static struct slu_kernel *find_locked(cl_kernel handle)
{
	struct slu_table_node *node = slu_table_find(&kernels, handle);

	return node ? slu_container_of(node, struct slu_kernel, node) : NULL;
}

struct slu_kernel *slu_kernel_find(cl_kernel handle)
{
	struct slu_table_node *node = slu_table_peek(&kernels, handle);

	return node ? slu_container_of(node, struct slu_kernel, node) : NULL;
}

/* Where memory is out there is no note, and its launches answer that. */
static void enter(cl_kernel handle, const struct slu_kernel *like)
{
	struct slu_table_node *old = NULL;
	struct slu_program *program = NULL;
	struct slu_kernel *kernel;
	cl_uint n_args = 0;

	if (!handle || slu_layer_next.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(n_args),
						      &n_args, NULL) != CL_SUCCESS)
		return;
	kernel = calloc(1, sizeof(*kernel) + n_args * sizeof(kernel->args[0]));
	if (!kernel)
		return;
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
	if (slu_table_put(&kernels, handle, &kernel->node, &old)) {
		program = kernel->program;
		free(kernel);
	}
	if (old) {
		struct slu_kernel *gone = slu_container_of(old, struct slu_kernel, node);

		program = slu_steal_ptr(gone->program);
		unref_locked(gone);
	}
	slu_layer_give();
	slu_program_put(program);
}

static unsigned n_waiting; /* for any kernel; guarded by the layer's lock */

static void take_locked(struct slu_kernel *kernel)
{
	n_waiting++;
	while (kernel->is_taken)
		slu_lock_wait(&slu_layer_lock, &slu_layer_changed, NULL);
	n_waiting--;
	kernel->is_taken = true;
}

static void wake_locked(void)
{
	if (n_waiting)
		pthread_cond_broadcast(&slu_layer_changed);
}

struct slu_kernel *slu_kernel_take(cl_kernel handle)
{
	struct slu_kernel *kernel;

	slu_layer_take();
	kernel = find_locked(handle);
	if (kernel) {
		kernel->n_refs++;
		take_locked(kernel);
	}
	slu_layer_give();
	return kernel;
}

struct slu_kernel *slu_kernel_peek(cl_kernel handle, size_t n_room, struct slu_kernel_arg *ret_args,
				   size_t *ret_n)
{
	struct slu_kernel *kernel;
	size_t n = 0;

	slu_layer_take();
	kernel = find_locked(handle);
	if (kernel) {
		kernel->n_refs++;
		take_locked(kernel);
		for (cl_uint i = 0; i < kernel->n_args; i++)
			if (kernel->args[i].proxy) {
				if (n < n_room)
					ret_args[n] = kernel->args[i];
				n++;
			}
		kernel->is_taken = false;
		wake_locked();
		*ret_n = n;
	}
	slu_layer_give();
	return kernel;
}

void slu_kernel_resume(struct slu_kernel *kernel)
{
	slu_layer_take();
	take_locked(kernel);
	slu_layer_give();
}

void slu_kernel_give(struct slu_kernel *kernel)
{
	slu_layer_take();
	kernel->is_taken = false;
	wake_locked();
	unref_locked(kernel);
	slu_layer_give();
}

cl_int slu_kernel_refresh(struct slu_kernel *kernel)
{
	for (cl_uint i = 0; i < kernel->n_args; i++) {
		struct slu_kernel_arg *arg = &kernel->args[i];
		cl_mem real;
		cl_int r;

		if (!arg->proxy || arg->generation == arg->proxy->root->generation)
			continue;
		r = slu_bracket_real(arg->proxy, &real);
		if (r == CL_SUCCESS)
			r = slu_layer_next.clSetKernelArg(kernel->handle, i, sizeof(real), &real);
		if (r != CL_SUCCESS)
			return r;
		arg->generation = arg->proxy->root->generation;
	}
	return CL_SUCCESS;
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_kernel slu_call_clCreateKernel(cl_program program, const char *name, cl_int *errcode_ret)
{
	cl_kernel handle = slu_layer_next.clCreateKernel(program, name, errcode_ret);

	enter(handle, NULL);
	return handle;
}

cl_int slu_call_clCreateKernelsInProgram(cl_program program, cl_uint n_kernels, cl_kernel *handles,
					 cl_uint *ret_n_kernels)
{
	cl_uint n = 0;
	cl_int r = slu_layer_next.clCreateKernelsInProgram(program, n_kernels, handles, &n);

	if (r == CL_SUCCESS && handles)
		for (cl_uint i = 0; i < SLU_MIN(n, n_kernels); i++)
			enter(handles[i], NULL);
	if (r == CL_SUCCESS && ret_n_kernels)
		*ret_n_kernels = n;
	return r;
}

/*
 * The driver copies what it holds, which may be an object that is gone by now. So the clone
 * begins with the dummy in those places, and gets the real ones at its launch.
 */
static cl_mem dummy_for(const struct slu_proxy *proxy)
{
	return slu_context_dummy(
		proxy->context, proxy->type,
		proxy->type == CL_MEM_OBJECT_BUFFER ? 0 : slu_memory_access(proxy->flags));
}

/* What a dummy proves: buffers are alike, images by type and access. */
static cl_ulong kind_of(const struct slu_proxy *proxy)
{
	cl_ulong kind = (cl_ulong)proxy->type << 8;

	return proxy->type == CL_MEM_OBJECT_BUFFER ? kind : kind | slu_memory_access(proxy->flags);
}

static void unbind_stale(struct slu_kernel *kernel)
{
	for (cl_uint i = 0; i < kernel->n_args; i++) {
		struct slu_kernel_arg *arg = &kernel->args[i];
		cl_mem dummy;

		if (!slu_kernel_arg_is_live(arg) || !arg->proxy->root->is_movable ||
		    !arg->generation)
			continue;
		dummy = dummy_for(arg->proxy);
		if (dummy && slu_layer_next.clSetKernelArg(kernel->handle, i, sizeof(dummy),
							   &dummy) == CL_SUCCESS)
			arg->generation = 0;
	}
}

cl_kernel slu_call_clCloneKernel(cl_kernel source, cl_int *errcode_ret)
{
	struct slu_kernel *kernel = slu_kernel_take(source);
	cl_kernel handle;

	if (!kernel)
		return slu_layer_next.clCloneKernel(source, errcode_ret);
	unbind_stale(kernel);
	handle = slu_layer_next.clCloneKernel(source, errcode_ret);
	enter(handle, kernel);
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
	kernel = find_locked(handle);
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
	kernel = find_locked(handle);
	if (kernel && --kernel->n_program == 0) {
		slu_table_remove(&kernels, &kernel->node);
		program = slu_steal_ptr(kernel->program);
		unref_locked(kernel);
	}
	slu_layer_give();
	r = slu_layer_next.clReleaseKernel(handle);
	slu_program_put(program);
	return r;
}

/*
 * A movable object is noted, and the driver is asked once, with the dummy, whether the argument
 * takes such an object at all: so a wrong index, size or type is told here and not at the launch.
 */
static cl_int bind_movable(struct slu_kernel *kernel, cl_uint index, struct slu_proxy *proxy)
{
	struct slu_kernel_arg *arg = index < kernel->n_args ? &kernel->args[index] : NULL;
	cl_mem dummy;
	cl_int r;

	if (!arg)
		return CL_INVALID_ARG_INDEX;
	if (arg->proven != kind_of(proxy)) {
		arg->access = SLU_ACCESS_WRITE;
		dummy = dummy_for(proxy);
		if (dummy) {
			r = slu_layer_next.clSetKernelArg(kernel->handle, index, sizeof(dummy),
							  &dummy);
			if (r != CL_SUCCESS)
				return r;
			arg->proven = kind_of(proxy);
			arg->access = slu_argument_access(kernel->handle, index, proxy->type);
			arg->generation = 0;
		}
	}
	if (arg->proxy != proxy || arg->serial != atomic_load(&proxy->serial)) {
		arg->proxy = proxy;
		arg->serial = atomic_load(&proxy->serial);
		arg->generation = 0;
	}
	return CL_SUCCESS;
}

/* Notes what the driver was given. The driver first: a launch believes the note. */
static void note(struct slu_kernel_arg *arg, struct slu_proxy *proxy)
{
	arg->generation = proxy ? proxy->root->generation : 0;
	arg->serial = proxy ? atomic_load(&proxy->serial) : 0;
	arg->proxy = proxy;
}

/* A real handle may be given at once while the root is known to be on the device. */
static cl_int bind_present(struct slu_kernel *kernel, cl_uint index, struct slu_proxy *proxy)
{
	cl_mem real;
	cl_int r;

	r = slu_bracket_real(proxy, &real);
	if (r == CL_SUCCESS)
		r = slu_layer_next.clSetKernelArg(kernel->handle, index, sizeof(real), &real);
	if (r == CL_SUCCESS)
		note(&kernel->args[index], proxy);
	return r;
}

/*
 * The short way: the kernel is in nobody's hands, and what is to be set is known to fit and to be
 * on the device, or is no object.
 *
 * Return: whether it was gone; *ret_r is then what the call answers.
 */
static bool bind_shortly(cl_kernel handle, cl_uint index, struct slu_proxy *proxy, size_t size,
			 const void *value, cl_int *ret_r)
{
	struct slu_kernel *kernel = slu_kernel_find(handle);
	struct slu_kernel_arg *arg;
	struct slu_device *device;
	bool is_leased;

	if (!kernel || index >= kernel->n_args || atomic_load(&kernel->is_taken))
		return false;
	arg = &kernel->args[index];
	if (!proxy) {
		*ret_r = slu_layer_next.clSetKernelArg(handle, index, size, value);
		if (*ret_r == CL_SUCCESS && arg->proxy)
			note(arg, NULL);
		return true;
	}
	if (!proxy->root->is_movable || arg->proven != kind_of(proxy) || !proxy->root->unit)
		return false;
	*ret_r = CL_SUCCESS;
	if (arg->proxy == proxy && arg->serial == atomic_load(&proxy->serial))
		return true;
	device = slu_context_device_of(proxy->context, proxy->root->unit);
	if (!slu_gate_try_enter(device->index))
		return false;
	is_leased = slu_lane_is_leased(proxy, device, SLU_ACCESS_READ);
	if (is_leased)
		*ret_r = bind_present(kernel, index, proxy);
	slu_gate_leave();
	return is_leased;
}

static cl_int bind_other(struct slu_kernel *kernel, cl_uint index, struct slu_proxy *proxy,
			 size_t size, const void *value)
{
	cl_int r;

	r = slu_layer_next.clSetKernelArg(kernel->handle, index, size,
					  proxy ? (const void *)&proxy->real : value);
	if (r == CL_SUCCESS && index < kernel->n_args)
		note(&kernel->args[index], proxy);
	return r;
}

cl_int slu_call_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void *value)
{
	struct slu_proxy *proxy = NULL;
	struct slu_kernel *kernel;
	cl_int r;

	if (value && size == sizeof(cl_mem) && slu_proxy_is_handle(*(void *const *)value)) {
		proxy = slu_proxy_find(*(void *const *)value);
		if (!proxy)
			return CL_INVALID_MEM_OBJECT;
	}
	if (bind_shortly(handle, index, proxy, size, value, &r))
		return r;
	kernel = slu_kernel_take(handle);
	if (!kernel)
		return proxy ? CL_INVALID_KERNEL
			     : slu_layer_next.clSetKernelArg(handle, index, size, value);
	if (proxy && proxy->root->is_movable)
		r = bind_movable(kernel, index, proxy);
	else
		r = bind_other(kernel, index, proxy, size, value);
	slu_kernel_give(kernel);
	return r;
}

cl_int slu_call_clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index, const void *value)
{
	struct slu_kernel *kernel = slu_kernel_take(handle);
	cl_int r = slu_layer_next.clSetKernelArgSVMPointer(handle, index, value);

	if (!kernel)
		return r;
	if (r == CL_SUCCESS && index < kernel->n_args)
		kernel->args[index] = (struct slu_kernel_arg){ .access = SLU_ACCESS_WRITE };
	slu_kernel_give(kernel);
	return r;
}
