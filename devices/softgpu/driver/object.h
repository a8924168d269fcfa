/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Handles that can be checked. A program hands us pointers that it got from us, and sometimes one
 * that it destroyed, or never got. Objects of one kind come from pools that are never given back,
 * so that any pointer can be held against them without being followed; a dead object says so.
 * A freed place is used again as late as possible.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define DEV_OBJECT_POOLS_MAX 24

/* The first member of each object. */
struct dev_object {
	uint32_t is_live;
	struct dev_object *next_free;
};

struct dev_objects {
	pthread_mutex_t mutex;
	size_t size;				    /* of one object; constant */
	unsigned char *pools[DEV_OBJECT_POOLS_MAX]; /* pool i holds 64 << i objects */
	unsigned n_pools;
	struct dev_object *first_free, *last_free;
};

#define DEV_OBJECTS_INIT(type)                                           \
	{                                                                \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .size = sizeof(type) \
	}

/* Return: a zeroed live object, or NULL. */
void *dev_object_new(struct dev_objects *objects);
void dev_object_free(struct dev_objects *objects, void *object);

/* Return: @handle if it is or was an object of these, else NULL. */
void *dev_object_find(struct dev_objects *objects, const void *handle);

/* Return: @handle if it is a live object of these, else NULL. */
void *dev_object_get(struct dev_objects *objects, const void *handle);
