/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layer's note about a context, kept while the program has an object in it. The note owns what
 * the layer itself needs there: on each device one queue per direction for copies and a hasher, and
 * small objects that prove the types of a kernel's arguments. All of these hold references of the
 * context. The program's object holds one for at least as long, and slu_context_n_hidden() gives
 * the number that the answers to the program leave out.
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

/* One device of a context; several sub-devices of one count as that one. */
struct slu_context_place {
	struct slu_device *device; /* constant, as is handle */
	cl_device_id handle;	   /* the program's name for it, or for the first part of it */

	cl_command_queue queue[_SLU_DIRECTION_MAX]; /* guarded by the layer's lock; made at the
						       first copy, then constant */
	struct slu_hasher hasher;		    /* guarded as hasher.h says */
};

struct slu_context {
	struct slu_table_node node; /* guarded by the layer's lock */
	cl_context handle;

	/* constant after creation */
	const void *dispatch;	  /* the first word of the driver's object */
	cl_device_id first;	  /* of its devices */
	struct slu_device *payer; /* the same: whose account pays for what cannot move */
	bool is_managed;	  /* the client has all of its devices, so objects may move */
	uint64_t max_alloc_bytes; /* the largest object that any of its devices takes */
	uint64_t align_bytes;	  /* where a sub-buffer may begin, at the least strict device */

	/* guarded by the layer's lock */
	size_t n_objects;
	struct slu_context_dummy *dummies; /* made at the first argument of their kind */

	unsigned n_places; /* constant after creation */
	struct slu_context_place places[];
};

/*
 * Adds one object to the note of @handle. Return: 0, CL_INVALID_CONTEXT, CL_OUT_OF_HOST_MEMORY.
 */
cl_int slu_context_get(cl_context handle, struct slu_context **ret_context);

/* Removes one object; the last one frees the note. Called before that object's own reference. */
void slu_context_unref(struct slu_context *context);

/* The place of @device in the context; NULL: it is none of its devices. */
struct slu_context_place *slu_context_place(struct slu_context *context,
					    const struct slu_device *device);

/* The device that has @unit, or had it last. Another one may have it a moment later. */
struct slu_device *slu_context_device_of(const struct slu_context *context,
					 const struct slu_unit *unit);

/*
 * Our queue on @device for copies in @direction, or NULL. Called while an object is in the context.
 */
cl_command_queue slu_context_queue(struct slu_context *context, const struct slu_device *device,
				   enum slu_direction direction);

/*
 * A real object that serves only as an argument, of a type and, if it is an image, with the
 * access of the program's object; NULL if the driver has none.
 */
cl_mem slu_context_dummy(struct slu_context *context, cl_mem_object_type type, cl_mem_flags access);

/* The references of @handle that belong to the layer. */
cl_uint slu_context_n_hidden(cl_context handle);
