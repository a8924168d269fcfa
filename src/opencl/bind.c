/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/bind.h"

#include "opencl/argument.h"
#include "opencl/bracket.h"
#include "opencl/context.h"
#include "opencl/fastpath.h"
#include "opencl/kernel.h"
#include "opencl/memory.h"

cl_int slu_bind_refresh(struct slu_kernel *kernel)
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

/* A real object in place of @proxy where only its kind matters. */
static cl_mem bind_dummy_for(const struct slu_proxy *proxy)
{
	return slu_context_dummy(
		proxy->context, proxy->type,
		proxy->type == CL_MEM_OBJECT_BUFFER ? 0 : slu_memory_access(proxy->flags));
}

/* What a dummy proves: buffers are alike, images by type and access. */
static cl_ulong object_kind_of(const struct slu_proxy *proxy)
{
	cl_ulong kind = (cl_ulong)proxy->type << 8;

	return proxy->type == CL_MEM_OBJECT_BUFFER ? kind : kind | slu_memory_access(proxy->flags);
}

void slu_bind_dummies(struct slu_kernel *kernel)
{
	for (cl_uint i = 0; i < kernel->n_args; i++) {
		struct slu_kernel_arg *arg = &kernel->args[i];
		cl_mem dummy;

		if (!slu_kernel_arg_is_live(arg) || !arg->proxy->root->is_movable ||
		    !arg->generation)
			continue;
		dummy = bind_dummy_for(arg->proxy);
		if (dummy && slu_layer_next.clSetKernelArg(kernel->handle, i, sizeof(dummy),
							   &dummy) == CL_SUCCESS)
			arg->generation = 0;
	}
}

/*
 * A movable object is noted, and the driver is asked once, with the dummy, whether the argument
 * takes such an object at all: so a wrong index, size or type fails here and not at the launch.
 */
static cl_int bind_movable(struct slu_kernel *kernel, cl_uint index, struct slu_proxy *proxy)
{
	struct slu_kernel_arg *arg = index < kernel->n_args ? &kernel->args[index] : NULL;
	cl_mem dummy;
	cl_int r;

	if (!arg)
		return CL_INVALID_ARG_INDEX;
	if (arg->proven != object_kind_of(proxy)) {
		arg->access = SLU_ACCESS_WRITE;
		dummy = bind_dummy_for(proxy);
		if (dummy) {
			r = slu_layer_next.clSetKernelArg(kernel->handle, index, sizeof(dummy),
							  &dummy);
			if (r != CL_SUCCESS)
				return r;
			arg->proven = object_kind_of(proxy);
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
static void arg_note(struct slu_kernel_arg *arg, struct slu_proxy *proxy)
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
		arg_note(&kernel->args[index], proxy);
	return r;
}

/*
 * The fast path: no thread has taken the kernel, and the value is no object, or an object that fits
 * and is on the device.
 *
 * Return: whether the call took it; *ret_r is the answer then.
 */
static bool bind_fast(cl_kernel handle, cl_uint index, struct slu_proxy *proxy, size_t size,
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
			arg_note(arg, NULL);
		return true;
	}
	if (!proxy->root->is_movable || arg->proven != object_kind_of(proxy) || !proxy->root->unit)
		return false;
	*ret_r = CL_SUCCESS;
	if (arg->proxy == proxy && arg->serial == atomic_load(&proxy->serial))
		return true;
	device = slu_context_device_of(proxy->context, proxy->root->unit);
	if (!slu_gate_try_enter(device->index))
		return false;
	is_leased =
		slu_fastpath_is_leased(proxy->root, slu_fastpath_number(device), SLU_ACCESS_READ);
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
		arg_note(&kernel->args[index], proxy);
	return r;
}

/* -- the calls -------------------------------------------------------------------------------- */

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
	if (bind_fast(handle, index, proxy, size, value, &r))
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
