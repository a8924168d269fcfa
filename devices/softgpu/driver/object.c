/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/object.h"

#include <stdlib.h>
#include <string.h>

#define POOL_FIRST 64

static void object_push(struct dev_objects *objects, struct dev_object *object)
{
	object->next_free = NULL;
	if (objects->last_free)
		objects->last_free->next_free = object;
	else
		objects->first_free = object;
	objects->last_free = object;
}

static void object_grow(struct dev_objects *objects)
{
	size_t n = (size_t)POOL_FIRST << objects->n_pools;
	unsigned char *pool;

	if (objects->n_pools == DEV_OBJECT_POOLS_MAX)
		return;
	pool = calloc(n, objects->size);
	if (!pool)
		return;
	objects->pools[objects->n_pools++] = pool;
	for (size_t i = 0; i < n; i++)
		object_push(objects, (struct dev_object *)(pool + i * objects->size));
}

void *dev_object_new(struct dev_objects *objects)
{
	struct dev_object *object;

	pthread_mutex_lock(&objects->mutex);
	/* keep some distance between a free and the next use of its place */
	if (!objects->first_free || objects->first_free == objects->last_free)
		object_grow(objects);
	object = objects->first_free;
	if (object) {
		objects->first_free = object->next_free;
		if (!objects->first_free)
			objects->last_free = NULL;
		memset(object, 0, objects->size);
		__atomic_store_n(&object->is_live, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&objects->mutex);
	return object;
}

void dev_object_free(struct dev_objects *objects, void *object)
{
	struct dev_object *o = object;

	if (!o)
		return;
	pthread_mutex_lock(&objects->mutex);
	__atomic_store_n(&o->is_live, 0, __ATOMIC_RELEASE);
	object_push(objects, o);
	pthread_mutex_unlock(&objects->mutex);
}

void *dev_object_find(struct dev_objects *objects, const void *handle)
{
	const unsigned char *p = handle;
	struct dev_object *found = NULL;

	pthread_mutex_lock(&objects->mutex);
	for (unsigned i = 0; i < objects->n_pools; i++) {
		size_t bytes = ((size_t)POOL_FIRST << i) * objects->size;

		if ((uintptr_t)p < (uintptr_t)objects->pools[i] ||
		    (uintptr_t)p - (uintptr_t)objects->pools[i] >= bytes)
			continue;
		if (((uintptr_t)p - (uintptr_t)objects->pools[i]) % objects->size == 0)
			found = (struct dev_object *)(uintptr_t)handle;
		break;
	}
	pthread_mutex_unlock(&objects->mutex);
	return found;
}

void *dev_object_get(struct dev_objects *objects, const void *handle)
{
	struct dev_object *found = dev_object_find(objects, handle);

	return found && __atomic_load_n(&found->is_live, __ATOMIC_ACQUIRE) ? found : NULL;
}
