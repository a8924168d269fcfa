/* SPDX-License-Identifier: Apache-2.0 */

/* Commands that take lists of objects. */

#include <stdlib.h>

#include "opencl/bracket.h"

struct list {
	struct slu_bracket bracket;
	struct slu_name *names;
	cl_mem *reals; /* NULL where the program gave no list */
};

static cl_int list_begin(struct list *l, cl_command_queue queue, cl_uint n, const cl_mem *objects,
			 enum slu_access access)
{
	cl_int r;

	*l = (struct list){ 0 };
	if (!objects)
		n = 0;
	l->names = calloc(n + 1u, sizeof(*l->names));
	l->reals = calloc(n + 1u, sizeof(*l->reals));
	if (!l->names || !l->reals)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < n; i++)
		l->names[i] = (struct slu_name){ .handle = objects[i], .access = access };
	r = slu_bracket_begin(&l->bracket, queue, n, l->names);
	for (cl_uint i = 0; i < n && !r; i++)
		l->reals[i] = l->names[i].real;
	return r;
}

static void list_free(struct list *l)
{
	free(l->names);
	free(l->reals);
}

static bool list_again(struct list *l, cl_int r)
{
	if (!slu_bracket_again(&l->bracket, r))
		return false;
	list_free(l);
	return true;
}

static cl_int list_end(struct list *l, cl_int r, cl_uint n_wait, const cl_event *wait,
		       cl_event *event)
{
	r = slu_bracket_end(&l->bracket, r, CL_FALSE, n_wait, wait, event);
	list_free(l);
	return r;
}

cl_int slu_call_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n, const cl_mem *objects,
					   cl_mem_migration_flags flags, cl_uint n_wait,
					   const cl_event *wait, cl_event *event)
{
	enum slu_access access = flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED ? SLU_ACCESS_WRITE
										 : SLU_ACCESS_READ;
	struct list l;
	cl_int r;

	do {
		r = list_begin(&l, queue, n, objects, access);
		if (!r)
			r = slu_layer_next.clEnqueueMigrateMemObjects(
				queue, n, objects ? l.reals : NULL, flags, n_wait, wait,
				&l.bracket.event);
	} while (list_again(&l, r));
	return list_end(&l, r, n_wait, wait, event);
}

cl_int slu_call_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *func)(void *),
				      void *args, size_t args_size, cl_uint n_objects,
				      const cl_mem *objects, const void **args_mem_loc,
				      cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct list l;
	cl_int r;

	do {
		r = list_begin(&l, queue, n_objects, objects, SLU_ACCESS_WRITE);
		if (!r)
			r = slu_layer_next.clEnqueueNativeKernel(
				queue, func, args, args_size, n_objects, objects ? l.reals : NULL,
				args_mem_loc, n_wait, wait, &l.bracket.event);
	} while (list_again(&l, r));
	return list_end(&l, r, n_wait, wait, event);
}

/* The four calls with which an object shared with GL or EGL changes hands are alike. */
#define HAND_OVER(name)                                                                           \
	cl_int slu_call_##name(cl_command_queue queue, cl_uint n, const cl_mem *objects,          \
			       cl_uint n_wait, const cl_event *wait, cl_event *event)             \
	{                                                                                         \
		struct list l;                                                                    \
		cl_int r = list_begin(&l, queue, n, objects, SLU_ACCESS_WRITE);                   \
                                                                                                  \
		if (!r)                                                                           \
			r = slu_layer_next.name(queue, n, objects ? l.reals : NULL, n_wait, wait, \
						&l.bracket.event);                                \
		return list_end(&l, r, n_wait, wait, event);                                      \
	}

HAND_OVER(clEnqueueAcquireGLObjects)
HAND_OVER(clEnqueueReleaseGLObjects)
HAND_OVER(clEnqueueAcquireEGLObjectsKHR)
HAND_OVER(clEnqueueReleaseEGLObjectsKHR)
