/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Handles that can be doubted. A program hands us pointers that it got from us, and sometimes one
 * that it destroyed, or never got. Objects of one kind come from pools that are never given back,
 * so that any pointer can be held against them without being followed; a dead object says so.
 * A freed place is used again as late as possible.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define SLU_OBJECT_POOLS_MAX 24

/* The first member of each object. */
struct slu_object {
	uint32_t is_live;
	struct slu_object *next_free;
};

struct slu_objects {
	pthread_mutex_t mutex;
	size_t size;				    /* of one object; constant */
	unsigned char *pools[SLU_OBJECT_POOLS_MAX]; /* pool i holds 64 << i objects */
	unsigned n_pools;
	struct slu_object *first_free, *last_free;
};

#define SLU_OBJECTS_INIT(type)                                           \
	{                                                                \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .size = sizeof(type) \
	}

/* Return: a zeroed live object, or NULL. */
void *slu_objects_new(struct slu_objects *objects);
void slu_objects_free(struct slu_objects *objects, void *object);

/* Return: @handle if it is a live object of these, else NULL. */
void *slu_objects_get(struct slu_objects *objects, const void *handle);
