/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kernels and what is bound to them. Needed only where a launch may be the first use of an object
 * on its device: where failures come late, or where there are several devices. A scalar of eight
 * bytes that happens to be a handle's value makes that object count a little early; nothing else.
 */

#include <stdlib.h>
#include <string.h>

#include "limiter/hash.h"
#include "limiter/limiter.h"

struct kernel {
	UT_hash_handle hh;
	cl_kernel kernel; /* the key */
	unsigned n_refs;  /* the program's */
	cl_mem *bound;	  /* by argument; NULL: no memory object */
	cl_uint n_bound;
};

static struct kernel *kernels; /* guarded by dev_limiter_lock, as what is in it */

static struct kernel *find_locked(cl_kernel handle)
{
	struct kernel *k;

	HASH_FIND_PTR(kernels, &handle, k);
	return k;
}

/* A kernel that cannot be noted works; what it uses is charged when something else uses it. */
static void kernel_note(cl_kernel handle, cl_kernel like)
{
	struct kernel *k, *other;

	if (!handle || !dev_limiter_device_counts_uses())
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->kernel = handle;
	k->n_refs = 1;
	slu_lock_take(&dev_limiter_lock);
	other = like ? find_locked(like) : NULL;
	if (other && other->n_bound) {
		k->bound = malloc(other->n_bound * sizeof(*k->bound));
		if (k->bound) {
			memcpy(k->bound, other->bound, other->n_bound * sizeof(*k->bound));
			k->n_bound = other->n_bound;
		}
	}
	HASH_ADD_PTR(kernels, kernel, k);
	if (!k->hh.tbl) {
		free(k->bound);
		free(k);
	}
	slu_lock_give(&dev_limiter_lock);
}

static void kernel_bind(cl_kernel handle, cl_uint index, cl_mem mem)
{
	struct kernel *k;

	slu_lock_take(&dev_limiter_lock);
	k = find_locked(handle);
	if (k && index >= k->n_bound && mem) {
		cl_mem *more = reallocarray(k->bound, index + 1u, sizeof(*more));

		if (more) {
			memset(more + k->n_bound, 0, (index + 1u - k->n_bound) * sizeof(*more));
			k->bound = more;
			k->n_bound = index + 1;
		}
	}
	if (k && index < k->n_bound)
		k->bound[index] = mem;
	slu_lock_give(&dev_limiter_lock);
}

cl_int dev_limiter_kernel_use(const struct dev_limiter_device *device, cl_kernel handle)
{
	cl_mem *bound = NULL;
	cl_uint n = 0;
	struct kernel *k;
	cl_int r;

	if (!dev_limiter_device_counts_uses())
		return CL_SUCCESS;
	slu_lock_take(&dev_limiter_lock);
	k = find_locked(handle);
	if (k && k->n_bound) {
		bound = malloc(k->n_bound * sizeof(*bound));
		if (bound) {
			n = k->n_bound;
			memcpy(bound, k->bound, n * sizeof(*bound));
		}
	}
	slu_lock_give(&dev_limiter_lock);
	r = dev_limiter_memory_use(device, n, bound);
	free(bound);
	return r;
}

cl_kernel CL_API_CALL dev_limiter_clCreateKernel(cl_program program, const char *name,
						 cl_int *ret_r)
{
	cl_kernel handle = dev_limiter_driver.clCreateKernel(program, name, ret_r);

	kernel_note(handle, NULL);
	return handle;
}

cl_int CL_API_CALL dev_limiter_clCreateKernelsInProgram(cl_program program, cl_uint n_entries,
							cl_kernel *handles, cl_uint *ret_n)
{
	cl_uint n = 0;
	cl_int r = dev_limiter_driver.clCreateKernelsInProgram(program, n_entries, handles, &n);

	for (cl_uint i = 0; !r && handles && i < n && i < n_entries; i++)
		kernel_note(handles[i], NULL);
	if (!r && ret_n)
		*ret_n = n;
	return r;
}

cl_kernel CL_API_CALL dev_limiter_clCloneKernel(cl_kernel from, cl_int *ret_r)
{
	cl_kernel handle = dev_limiter_driver.clCloneKernel(from, ret_r);

	kernel_note(handle, from);
	return handle;
}

cl_int CL_API_CALL dev_limiter_clRetainKernel(cl_kernel handle)
{
	cl_int r = dev_limiter_driver.clRetainKernel(handle);
	struct kernel *k;

	slu_lock_take(&dev_limiter_lock);
	k = r ? NULL : find_locked(handle);
	if (k)
		k->n_refs++;
	slu_lock_give(&dev_limiter_lock);
	return r;
}

cl_int CL_API_CALL dev_limiter_clReleaseKernel(cl_kernel handle)
{
	struct kernel *k;

	/* before the driver may give the handle to somebody else */
	slu_lock_take(&dev_limiter_lock);
	k = find_locked(handle);
	if (k && !--k->n_refs) {
		HASH_DEL(kernels, k);
		free(k->bound);
		free(k);
	}
	slu_lock_give(&dev_limiter_lock);
	return dev_limiter_driver.clReleaseKernel(handle);
}

cl_int CL_API_CALL dev_limiter_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size,
					      const void *value)
{
	cl_int r = dev_limiter_driver.clSetKernelArg(handle, index, size, value);
	cl_mem mem = NULL;

	if (r || !dev_limiter_device_counts_uses())
		return r;
	if (value && size == sizeof(mem)) {
		memcpy(&mem, value, sizeof(mem));
		if (!dev_limiter_memory_is_known(mem))
			mem = NULL;
	}
	kernel_bind(handle, index, mem);
	return r;
}

cl_int CL_API_CALL dev_limiter_clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index,
							const void *pointer)
{
	cl_int r = dev_limiter_driver.clSetKernelArgSVMPointer(handle, index, pointer);

	if (!r)
		kernel_bind(handle, index, NULL);
	return r;
}
