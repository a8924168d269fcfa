/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/context.h"

#include <assert.h>
#include <stdlib.h>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/capture.h"
#include "softgpu/driver/execution/stream.h"
#include "softgpu/driver/images/library.h"
#include "softgpu/driver/images/module.h"
#include "softgpu/driver/memory/array.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/texture.h"
#include "softgpu/interp/heap.h"

#define STACK_MAX 64

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_context);
static uint64_t last_id;

/* guarded by the driver's lock */
static struct dev_context *primaries[DEV_SETTINGS_DEVICES_MAX];
static unsigned primary_flags[DEV_SETTINGS_DEVICES_MAX];

/* serialises the making and unmaking of primary contexts */
static pthread_mutex_t primary_mutex = PTHREAD_MUTEX_INITIALIZER;

static __thread CUcontext stack[STACK_MAX];
static __thread unsigned depth;

static const size_t default_limits[CU_LIMIT_MAX] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

int dev_context_take_bytes(struct dev_card *card, uint64_t bytes)
{
	int r;

	dev_driver_change_begin();
	r = dev_card_take_hidden(card, bytes);
	dev_driver_change_end();
	return r;
}

void dev_context_give_bytes(struct dev_card *card, uint64_t bytes)
{
	dev_driver_change_begin();
	dev_card_give_hidden(card, bytes);
	dev_driver_change_end();
}

CUresult dev_context_new(struct dev_card *card, unsigned flags, bool is_primary,
			 struct dev_context **ret_context)
{
	struct dev_context *c;
	CUresult result;
	int r;

	r = dev_card_attach(card);
	if (r)
		return dev_driver_result(r);
	r = dev_context_take_bytes(card, card->context_bytes);
	if (r)
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	c = dev_object_new(&objects);
	if (!c) {
		dev_context_give_bytes(card, card->context_bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	slu_lock_init(&c->lock, DEV_DRIVER_CONTEXT_RANK);
	c->card = card;
	c->is_primary = is_primary;
	c->flags = flags;
	c->overhead_bytes = card->context_bytes;
	c->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < CU_LIMIT_MAX; i++)
		c->limits[i] = default_limits[i];
	LIST_INIT(&c->streams);
	LIST_INIT(&c->modules);
	result = dev_stream_new(c, 0, 0, true, &c->legacy);
	if (result) {
		dev_context_give_bytes(card, c->overhead_bytes);
		dev_object_free(&objects, c);
		return result;
	}
	*ret_context = c;
	return CUDA_SUCCESS;
}

void dev_context_free(struct dev_context *context)
{
	struct dev_stream *stream;
	struct dev_module *module;

	dev_context_break(context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	__atomic_store_n(&context->cancel, true, __ATOMIC_RELEASE);
	dev_capture_drop_context(context);
	for (;;) {
		dev_timeline_lock();
		stream = LIST_FIRST(&context->streams);
		dev_timeline_unlock();
		if (!stream)
			break;
		dev_stream_free(stream, true);
	}
	dev_library_drop_context(context);
	dev_context_lock(context);
	while ((module = LIST_FIRST(&context->modules)))
		dev_module_free(module);
	dev_context_unlock(context);
	dev_interp_heap_free(context->heap);
	dev_texture_drop_context(context);
	dev_array_drop_context(context);
	dev_memory_drop_context(context);
	dev_managed_drop_context(context);
	dev_context_give_bytes(context->card, context->overhead_bytes + context->local_bytes);
	slu_lock_deinit(&context->lock);
	dev_object_free(&objects, context);
}

struct dev_context *dev_context_get(CUcontext handle)
{
	return dev_object_get(&objects, handle);
}

void dev_context_lock(struct dev_context *context)
{
	assert(!dev_stream_is_in_command());
	slu_lock_take(&context->lock);
}

void dev_context_unlock(struct dev_context *context)
{
	slu_lock_give(&context->lock);
}

CUresult dev_context_push(struct dev_context *context)
{
	if (depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = dev_context_handle(context);
	return CUDA_SUCCESS;
}

CUcontext dev_context_pop(bool *ret_was_there)
{
	*ret_was_there = depth > 0;
	return depth ? stack[--depth] : NULL;
}

void dev_context_set(struct dev_context *context)
{
	if (!context && depth)
		depth--;
	else if (context && depth)
		stack[depth - 1] = dev_context_handle(context);
	else if (context)
		stack[depth++] = dev_context_handle(context);
}

CUcontext dev_context_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

CUresult dev_context_enter(struct dev_context **ret_context)
{
	CUresult result = dev_driver_enter();
	struct dev_context *context;

	if (result)
		return result;
	if (!dev_context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	context = dev_context_get(dev_context_current());
	if (!context)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	result = dev_context_error(context);
	if (result)
		return result;
	*ret_context = context;
	return CUDA_SUCCESS;
}

void dev_context_break(struct dev_context *context, CUresult error)
{
	CUresult none = CUDA_SUCCESS;

	__atomic_compare_exchange_n(&context->error, &none, error, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
}

CUresult dev_context_error(const struct dev_context *context)
{
	return __atomic_load_n(&context->error, __ATOMIC_ACQUIRE);
}

CUresult dev_context_retain_primary(struct dev_card *card, struct dev_context **ret_context)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_context *fresh;

	pthread_mutex_lock(&primary_mutex);
	if (!primaries[card->index]) {
		result = dev_context_new(card, primary_flags[card->index], true, &fresh);
		if (!result) {
			dev_driver_lock();
			primaries[card->index] = fresh;
			dev_driver_unlock();
		}
	}
	if (!result) {
		primaries[card->index]->n_retained++;
		*ret_context = primaries[card->index];
	}
	pthread_mutex_unlock(&primary_mutex);
	return result;
}

static void unmake_primary(struct dev_card *card)
{
	struct dev_context *context = primaries[card->index];

	dev_driver_lock();
	primaries[card->index] = NULL;
	primary_flags[card->index] = 0;
	dev_driver_unlock();
	dev_context_free(context);
}

CUresult dev_context_release_primary(struct dev_card *card)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&primary_mutex);
	if (!primaries[card->index])
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--primaries[card->index]->n_retained)
		unmake_primary(card);
	pthread_mutex_unlock(&primary_mutex);
	return result;
}

CUresult dev_context_reset_primary(struct dev_card *card)
{
	pthread_mutex_lock(&primary_mutex);
	if (primaries[card->index])
		unmake_primary(card);
	pthread_mutex_unlock(&primary_mutex);
	return CUDA_SUCCESS;
}

CUresult dev_context_set_primary_flags(struct dev_card *card, unsigned flags)
{
	dev_driver_lock();
	primary_flags[card->index] = flags;
	if (primaries[card->index])
		primaries[card->index]->flags = flags;
	dev_driver_unlock();
	return CUDA_SUCCESS;
}

void dev_context_primary_state(struct dev_card *card, unsigned *ret_flags, bool *ret_is_active)
{
	dev_driver_lock();
	*ret_is_active = primaries[card->index] != NULL;
	*ret_flags = *ret_is_active ? primaries[card->index]->flags : primary_flags[card->index];
	dev_driver_unlock();
}
