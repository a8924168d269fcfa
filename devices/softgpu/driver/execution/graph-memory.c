/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/graph-memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/command.h"
#include "softgpu/driver/memory/arena.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/pool.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, dev_graph_memory) memories = LIST_HEAD_INITIALIZER(memories);
/* by attribute; guarded by the driver's lock */
static uint64_t bytes_high[DEV_SETTINGS_DEVICES_MAX][CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH + 1];

CUresult dev_graph_memory_new(struct dev_card *card, const CUDA_MEM_ALLOC_NODE_PARAMS *params,
			      struct dev_graph_memory **ret_memory)
{
	struct dev_graph_memory *memory = calloc(1, sizeof(*memory));
	int r;

	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->n_refs = 1;
	memory->card = card;
	memory->params = *params;
	memory->params.accessDescs = NULL;
	memory->params.accessDescCount = 0;
	r = dev_memory_alloc_later(card, params->bytesize, &memory->arena, &memory->address);
	if (r) {
		free(memory);
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	}
	memory->params.dptr = memory->address;
	pthread_mutex_lock(&mutex);
	LIST_INSERT_HEAD(&memories, memory, link);
	pthread_mutex_unlock(&mutex);
	*ret_memory = memory;
	return CUDA_SUCCESS;
}

struct dev_graph_memory *dev_graph_memory_ref(struct dev_graph_memory *memory)
{
	pthread_mutex_lock(&mutex);
	memory->n_refs++;
	pthread_mutex_unlock(&mutex);
	return memory;
}

void dev_graph_memory_unref(struct dev_graph_memory *memory)
{
	bool last;

	pthread_mutex_lock(&mutex);
	last = !--memory->n_refs;
	if (last)
		LIST_REMOVE(memory, link);
	pthread_mutex_unlock(&mutex);
	if (last) {
		dev_memory_free(memory->address);
		free(memory);
	}
}

static struct dev_graph_memory *find_locked(uint64_t address)
{
	struct dev_graph_memory *memory;

	LIST_FOREACH (memory, &memories, link)
		if (memory->address == address)
			return memory;
	return NULL;
}

struct dev_graph_memory *dev_graph_memory_find(uint64_t address)
{
	struct dev_graph_memory *memory;

	pthread_mutex_lock(&mutex);
	memory = find_locked(address);
	if (memory)
		memory->n_refs++;
	pthread_mutex_unlock(&mutex);
	return memory;
}

static void count_high_locked(const struct dev_card *card)
{
	uint64_t *high = bytes_high[card->index], now = dev_arena_bytes(card);

	for (unsigned i = 0; i <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH; i++)
		high[i] = SLU_MAX(high[i], now);
}

static int use(struct dev_graph_memory *memory)
{
	int r;

	dev_driver_lock();
	r = dev_arena_use(memory->arena);
	if (r == DEV_CARD_E_FULL && dev_arena_trim(memory->card))
		r = dev_arena_use(memory->arena);
	if (!r)
		count_high_locked(memory->card);
	dev_driver_unlock();
	return r;
}

CUresult dev_graph_memory_use(struct dev_graph_memory *memory)
{
	int r = use(memory);

	if (r == DEV_CARD_E_FULL && dev_pool_trim_card(memory->card))
		r = use(memory);
	return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
}

void dev_graph_memory_unuse(struct dev_graph_memory *memory)
{
	dev_driver_lock();
	dev_arena_unuse(memory->arena);
	dev_driver_unlock();
}

/* Return: whether that is a change; the caller then holds the program's use and reference. */
static bool set_out(struct dev_graph_memory *memory, bool is_out)
{
	bool changes;

	pthread_mutex_lock(&mutex);
	changes = memory->is_out != is_out;
	memory->is_out = is_out;
	pthread_mutex_unlock(&mutex);
	return changes;
}

void dev_graph_memory_launched(struct dev_command *command)
{
	if (command->kind == DEV_COMMAND_ALLOC && set_out(command->memory, true)) {
		dev_graph_memory_ref(command->memory);
		/* the launch has used it until now, so there is memory */
		(void)dev_graph_memory_use(command->memory);
	} else if (command->kind == DEV_COMMAND_FREE && set_out(command->memory, false)) {
		command->ends_use = true;
		dev_graph_memory_unref(command->memory);
	}
}

void dev_graph_memory_done(struct dev_command *command)
{
	if (!command->memory)
		return;
	if (command->ends_use)
		dev_graph_memory_unuse(command->memory);
	dev_graph_memory_unref(command->memory);
	command->memory = NULL;
}

CUresult dev_graph_memory_free_outside(uint64_t address, struct dev_stream *stream)
{
	struct dev_graph_memory *memory = dev_graph_memory_find(address);
	struct dev_command *command;
	bool was_out;

	if (!memory)
		return CUDA_ERROR_NOT_FOUND;
	command = stream ? dev_command_new(DEV_COMMAND_FREE) : NULL;
	if (stream && !command) {
		dev_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	was_out = set_out(memory, false);
	dev_graph_memory_unref(memory);
	if (!was_out) {
		free(command);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!stream) {
		dev_graph_memory_unuse(memory);
		dev_graph_memory_unref(memory);
		return CUDA_SUCCESS;
	}
	command->memory = memory;
	command->ends_use = true;
	return dev_stream_submit(stream, command);
}

static CUresult memory_submit(struct dev_stream *stream, enum dev_command_kind kind,
			      struct dev_graph_memory *memory)
{
	struct dev_command *command = dev_command_new(kind);

	if (!command) {
		dev_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->memory = memory;
	return dev_stream_submit(stream, command);
}

CUresult dev_graph_memory_capture_alloc(struct dev_stream *stream, const CUmemPoolProps *props,
					uint64_t bytes, uint64_t *ret_address)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = *props, .bytesize = bytes };
	struct dev_graph_memory *memory;
	CUresult result;
	struct dev_card *card;

	result = dev_driver_card(props->location.id, &card);
	if (!result)
		result = dev_graph_memory_new(card, &params, &memory);
	if (result)
		return result;
	*ret_address = memory->address;
	return memory_submit(stream, DEV_COMMAND_ALLOC, memory);
}

CUresult dev_graph_memory_capture_free(struct dev_stream *stream, uint64_t address)
{
	struct dev_graph_memory *memory = dev_graph_memory_find(address);

	if (!memory)
		return CUDA_ERROR_INVALID_VALUE;
	return memory_submit(stream, DEV_COMMAND_FREE, memory);
}

void dev_graph_memory_trim(const struct dev_card *card)
{
	dev_driver_lock();
	dev_arena_trim(card);
	dev_driver_unlock();
}

uint64_t dev_graph_memory_bytes(const struct dev_card *card, CUgraphMem_attribute which)
{
	bool is_high = which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
		       which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
	uint64_t bytes;

	dev_driver_lock();
	bytes = is_high ? bytes_high[card->index][which] : dev_arena_bytes(card);
	dev_driver_unlock();
	return bytes;
}

void dev_graph_memory_reset(const struct dev_card *card, CUgraphMem_attribute which)
{
	dev_driver_lock();
	bytes_high[card->index][which] = dev_arena_bytes(card);
	dev_driver_unlock();
}
