/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/graph-memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/command.h"
#include "softgpu/driver/memory/memory.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, dev_graph_memory) memories = LIST_HEAD_INITIALIZER(memories);
static uint64_t bytes_now[DEV_SETTINGS_DEVICES_MAX], bytes_high[DEV_SETTINGS_DEVICES_MAX];

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
	r = dev_memory_alloc_block(card, params->bytesize, NULL, &memory->address);
	if (r) {
		free(memory);
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	}
	memory->params.dptr = memory->address;
	pthread_mutex_lock(&mutex);
	LIST_INSERT_HEAD(&memories, memory, link);
	bytes_now[card->index] += params->bytesize;
	bytes_high[card->index] = SLU_MAX(bytes_high[card->index], bytes_now[card->index]);
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
	if (last) {
		LIST_REMOVE(memory, link);
		bytes_now[memory->card->index] -= memory->params.bytesize;
	}
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

void dev_graph_memory_freed_inside(struct dev_graph_memory *memory)
{
	pthread_mutex_lock(&mutex);
	memory->is_freed_inside = true;
	pthread_mutex_unlock(&mutex);
}

void dev_graph_memory_launched(struct dev_graph_memory *memory)
{
	pthread_mutex_lock(&mutex);
	if (!memory->is_freed_inside && !memory->is_out) {
		memory->is_out = true;
		memory->n_refs++;
	}
	pthread_mutex_unlock(&mutex);
}

CUresult dev_graph_memory_free_outside(uint64_t address, struct dev_stream *stream)
{
	struct dev_graph_memory *memory;
	struct dev_command *command;
	bool was_out = false;

	pthread_mutex_lock(&mutex);
	memory = find_locked(address);
	if (memory) {
		was_out = memory->is_out;
		memory->is_out = false;
	}
	pthread_mutex_unlock(&mutex);
	if (!memory)
		return CUDA_ERROR_NOT_FOUND;
	if (!was_out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream) {
		dev_graph_memory_unref(memory);
		return CUDA_SUCCESS;
	}
	command = dev_command_new(DEV_COMMAND_FREE);
	if (!command) {
		dev_graph_memory_unref(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->memory = memory;
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
	dev_graph_memory_freed_inside(memory);
	return memory_submit(stream, DEV_COMMAND_FREE, memory);
}

uint64_t dev_graph_memory_bytes(const struct dev_card *card, bool at_most)
{
	uint64_t bytes;

	pthread_mutex_lock(&mutex);
	bytes = at_most ? bytes_high[card->index] : bytes_now[card->index];
	pthread_mutex_unlock(&mutex);
	return bytes;
}

void dev_graph_memory_reset(const struct dev_card *card)
{
	pthread_mutex_lock(&mutex);
	bytes_high[card->index] = bytes_now[card->index];
	pthread_mutex_unlock(&mutex);
}
