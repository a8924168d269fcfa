/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The objects that are bound to a kernel's arguments. The driver gets the real handle of a movable
 * object only at the launch, when it is on the device; until then this note keeps the argument. A
 * note is made with the kernel and freed with its last reference.
 *
 *   unbound -> NOTED  [clSetKernelArg]     the driver may hold an older object, or the dummy
 *   NOTED   -> SET    [slu_bind_refresh]   the driver holds generation `generation`
 *   SET     -> NOTED  (by itself)          when the root's generation changes
 *
 * One thread at a time uses a kernel: no other may refresh its arguments or submit it meanwhile.
 * OpenCL demands that of the program for clSetKernelArg only, so slu_kernel_take() makes launches
 * of one kernel wait for each other. It is not a lock: its holder calls the driver, and the driver
 * never calls the program on that thread (worker.h).
 */

#include "opencl/layer.h"
#include "opencl/program.h"
#include "opencl/proxy.h"
#include "opencl/table.h"

struct slu_kernel_arg {
	struct slu_proxy *proxy; /* NULL: no object */
	uint32_t serial;	 /* of the proxy when it was bound */
	uint64_t generation;	 /* that the driver holds; 0: none */
	cl_ulong proven;	 /* the kind of object that the driver has accepted here; 0: none */
	enum slu_access access;	 /* as the kernel declares; WRITE until it was asked */
};

/* Whether an object is bound that the program has not given up since. */
static inline bool slu_kernel_arg_is_live(const struct slu_kernel_arg *arg)
{
	return arg->proxy && arg->serial == atomic_load(&arg->proxy->serial) &&
	       atomic_load(&arg->proxy->state) == SLU_PROXY_LIVE;
}

struct slu_kernel {
	struct slu_table_node node; /* guarded by the layer's lock */
	cl_kernel handle;
	unsigned n_refs;	     /* the table's, and each call's; guarded by the layer's lock */
	unsigned n_program;	     /* guarded by the layer's lock */
	_Atomic bool is_taken;	     /* changed under the layer's lock */
	struct slu_program *program; /* constant; NULL: nothing of it is charged */
	cl_uint n_args;
	struct slu_kernel_arg args[]; /* guarded by is_taken */
};

/* The note of @handle if it was used lately, for one call; NULL: use slu_kernel_take(). */
struct slu_kernel *slu_kernel_find(cl_kernel handle);

/* The note of @handle, taken; NULL if there is none. */
struct slu_kernel *slu_kernel_take(cl_kernel handle);
void slu_kernel_give(struct slu_kernel *kernel);

/*
 * The note of @handle, not taken, and the objects that are bound: at most @n_capacity of them in
 * @ret_args, all of them counted in *ret_n. What waits for a turn does so between this and
 * slu_kernel_resume(). NULL if there is no note.
 */
struct slu_kernel *slu_kernel_peek(cl_kernel handle, size_t n_capacity,
				   struct slu_kernel_arg *ret_args, size_t *ret_n);
void slu_kernel_resume(struct slu_kernel *kernel);
