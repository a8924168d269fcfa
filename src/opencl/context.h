/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Our note about a context, kept while the program has an object in it. The note owns what we
 * need there ourselves: one queue a direction for the copies, what takes digests, and small objects
 * with which the types of a kernel's arguments are proven. All of these hold references of the
 * context; that is harmless, because an object of the program does so too at least as long, and
 * slu_context_n_hidden() tells how many to leave out of what the program is told.
 */

#include "opencl/device.h"
#include "opencl/hasher.h"
#include "opencl/layer.h"
#include "opencl/table.h"

struct slu_context_dummy {
	struct slu_context_dummy *next;
	cl_mem_object_type type;
	cl_mem_flags access; /* of an image: how kernels may reach it */
	cl_mem mem;
};

struct slu_context {
	struct slu_table_node node; /* guarded by the layer's lock */
	cl_context handle;

	/* constant after birth */
	const void *dispatch;	   /* the first word of the driver's object */
	cl_device_id first;	   /* the device that copies run on */
	struct slu_device *device; /* the one device below, or NULL with several */
	struct slu_device *payer;  /* whose account pays for what cannot move */
	uint64_t max_alloc_bytes;  /* the largest object that any of its devices takes */
	uint64_t align_bytes;	   /* where a sub-buffer may begin, at the least strict device */

	/* guarded by the layer's lock */
	size_t n_objects;
	cl_command_queue queue[_SLU_DIRECTION_MAX]; /* made at the first copy; then constant */
	struct slu_context_dummy *dummies;	    /* made at the first argument of their kind */
	struct slu_hasher hasher;		    /* as it says itself */
};

/*
 * The note of @handle with one object more. Return: 0, CL_INVALID_CONTEXT, CL_OUT_OF_HOST_MEMORY.
 */
cl_int slu_context_get(cl_context handle, struct slu_context **ret_context);

/* One more, when it is known that there is one already. */
void slu_context_ref(struct slu_context *context);

/* One object less; with the last one goes the note. Called before that object's own reference. */
void slu_context_unref(struct slu_context *context);

/* Our queue for copies in @direction. Called while an object is in the context. */
cl_command_queue slu_context_queue(struct slu_context *context, enum slu_direction direction);

/*
 * A real object of no use but to be an argument, of a type and, if it is an image, with the
 * access of the program's object; NULL if the driver has none.
 */
cl_mem slu_context_dummy(struct slu_context *context, cl_mem_object_type type, cl_mem_flags access);

/* References of @handle that are ours. */
cl_uint slu_context_n_hidden(cl_context handle);
