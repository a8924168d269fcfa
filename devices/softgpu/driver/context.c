/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/context.h"

#include <assert.h>
#include <stdlib.h>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/library.h"
#include "softgpu/driver/managed.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/module.h"
#include "softgpu/driver/stream.h"
#include "softgpu/interp/heap.h"

#define STACK_MAX 64

static struct slu_objects objects = SLU_OBJECTS_INIT(struct slu_context);
static uint64_t last_id;

/* guarded by the driver's lock */
static struct slu_context *primaries[SLU_SETTINGS_DEVICES_MAX];
static unsigned primary_flags[SLU_SETTINGS_DEVICES_MAX];

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

CUresult slu_context_new(struct slu_card *card, unsigned flags, bool is_primary,
			 struct slu_context **ret_context)
{
	struct slu_context *c;
	CUresult result;
	int r;

	r = slu_card_attach(card);
	if (r)
		return slu_driver_result(r);
	r = slu_card_take_hidden(card, card->context_bytes);
	if (r)
		return r == SLU_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : slu_driver_result(r);
	c = slu_objects_new(&objects);
	if (!c) {
		slu_card_give_hidden(card, card->context_bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	slu_lock_init(&c->lock, SLU_DRIVER_CONTEXT_RANK);
	c->card = card;
	c->is_primary = is_primary;
	c->flags = flags;
	c->overhead_bytes = card->context_bytes;
	c->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < CU_LIMIT_MAX; i++)
		c->limits[i] = default_limits[i];
	LIST_INIT(&c->streams);
	LIST_INIT(&c->modules);
	result = slu_stream_new(c, 0, 0, true, &c->legacy);
	if (result) {
		slu_card_give_hidden(card, c->overhead_bytes);
		slu_objects_free(&objects, c);
		return result;
	}
	*ret_context = c;
	return CUDA_SUCCESS;
}

void slu_context_free(struct slu_context *context)
{
	struct slu_stream *stream;
	struct slu_module *module;

	slu_context_break(context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	__atomic_store_n(&context->cancel, true, __ATOMIC_RELEASE);
	slu_capture_drop_context(context);
	for (;;) {
		slu_stream_lock();
		stream = LIST_FIRST(&context->streams);
		slu_stream_unlock();
		if (!stream)
			break;
		slu_stream_free(stream, true);
	}
	slu_library_drop_context(context);
	slu_context_lock(context);
	while ((module = LIST_FIRST(&context->modules)))
		slu_module_free(module);
	slu_context_unlock(context);
	slu_interp_heap_free(context->heap);
	slu_memory_drop_context(context);
	slu_managed_drop_context(context);
	slu_card_give_hidden(context->card, context->overhead_bytes + context->local_bytes);
	slu_lock_deinit(&context->lock);
	slu_objects_free(&objects, context);
}

struct slu_context *slu_context_get(CUcontext handle)
{
	return slu_objects_get(&objects, handle);
}

void slu_context_lock(struct slu_context *context)
{
	assert(!slu_stream_is_in_command());
	slu_lock_take(&context->lock);
}

void slu_context_unlock(struct slu_context *context)
{
	slu_lock_give(&context->lock);
}

CUresult slu_context_push(struct slu_context *context)
{
	if (depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = slu_context_handle(context);
	return CUDA_SUCCESS;
}

CUcontext slu_context_pop(bool *ret_was_there)
{
	*ret_was_there = depth > 0;
	return depth ? stack[--depth] : NULL;
}

void slu_context_set(struct slu_context *context)
{
	if (!context && depth)
		depth--;
	else if (context && depth)
		stack[depth - 1] = slu_context_handle(context);
	else if (context)
		stack[depth++] = slu_context_handle(context);
}

CUcontext slu_context_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

CUresult slu_context_enter(struct slu_context **ret_context)
{
	CUresult result = slu_driver_enter();
	struct slu_context *context;

	if (result)
		return result;
	if (!slu_context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	context = slu_context_get(slu_context_current());
	if (!context)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	result = slu_context_error(context);
	if (result)
		return result;
	*ret_context = context;
	return CUDA_SUCCESS;
}

void slu_context_break(struct slu_context *context, CUresult error)
{
	CUresult none = CUDA_SUCCESS;

	__atomic_compare_exchange_n(&context->error, &none, error, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
}

CUresult slu_context_error(const struct slu_context *context)
{
	return __atomic_load_n(&context->error, __ATOMIC_ACQUIRE);
}

CUresult slu_context_retain_primary(struct slu_card *card, struct slu_context **ret_context)
{
	CUresult result = CUDA_SUCCESS;
	struct slu_context *fresh;

	pthread_mutex_lock(&primary_mutex);
	if (!primaries[card->index]) {
		result = slu_context_new(card, primary_flags[card->index], true, &fresh);
		if (!result) {
			slu_driver_lock();
			primaries[card->index] = fresh;
			slu_driver_unlock();
		}
	}
	if (!result) {
		primaries[card->index]->n_retained++;
		*ret_context = primaries[card->index];
	}
	pthread_mutex_unlock(&primary_mutex);
	return result;
}

static void unmake_primary(struct slu_card *card)
{
	struct slu_context *context = primaries[card->index];

	slu_driver_lock();
	primaries[card->index] = NULL;
	primary_flags[card->index] = 0;
	slu_driver_unlock();
	slu_context_free(context);
}

CUresult slu_context_release_primary(struct slu_card *card)
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

CUresult slu_context_reset_primary(struct slu_card *card)
{
	pthread_mutex_lock(&primary_mutex);
	if (primaries[card->index])
		unmake_primary(card);
	pthread_mutex_unlock(&primary_mutex);
	return CUDA_SUCCESS;
}

CUresult slu_context_set_primary_flags(struct slu_card *card, unsigned flags)
{
	slu_driver_lock();
	primary_flags[card->index] = flags;
	if (primaries[card->index])
		primaries[card->index]->flags = flags;
	slu_driver_unlock();
	return CUDA_SUCCESS;
}

void slu_context_primary_state(struct slu_card *card, unsigned *ret_flags, bool *ret_is_active)
{
	slu_driver_lock();
	*ret_is_active = primaries[card->index] != NULL;
	*ret_flags = *ret_is_active ? primaries[card->index]->flags : primary_flags[card->index];
	slu_driver_unlock();
}
