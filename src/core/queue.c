/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/queue.h"

void slu_core_queue_deinit(struct slu_core_queue *queue)
{
	free(queue->entries);
	*queue = (struct slu_core_queue){};
}

static int queue_grow(struct slu_core_queue *queue)
{
	size_t capacity = queue->capacity ? queue->capacity * 2 : 64;
	struct slu_core_queue_entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return -1;
	for (size_t i = 0; i < queue->n; i++)
		entries[i] = queue->entries[(queue->first + i) % queue->capacity];
	free(queue->entries);
	queue->entries = entries;
	queue->first = 0;
	queue->capacity = capacity;
	return 0;
}

struct slu_core_queue_entry *slu_core_queue_push(struct slu_core_queue *queue,
						 enum slu_core_action_kind kind, uint64_t client,
						 const char *reason, ...)
{
	struct slu_core_queue_entry *entry;
	va_list args;

	if (queue->is_unfit || (queue->n == queue->capacity && queue_grow(queue) < 0)) {
		queue->is_unfit = true;
		return NULL;
	}
	entry = &queue->entries[(queue->first + queue->n++) % queue->capacity];
	memset(entry, 0, sizeof(*entry));
	entry->id = ++queue->n_ids;
	entry->kind = kind;
	entry->client = client;
	va_start(args, reason);
	vsnprintf(entry->reason, sizeof(entry->reason), reason, args);
	va_end(args);
	return entry;
}

const struct slu_core_queue_entry *slu_core_queue_pop(struct slu_core_queue *queue)
{
	while (queue->n) {
		const struct slu_core_queue_entry *entry = &queue->entries[queue->first];

		queue->first = (queue->first + 1) % queue->capacity;
		queue->n--;
		if (!entry->is_void)
			return entry;
	}
	return NULL;
}

void slu_core_queue_forget(struct slu_core_queue *queue, uint64_t client)
{
	for (size_t i = 0; i < queue->n; i++) {
		struct slu_core_queue_entry *entry =
			&queue->entries[(queue->first + i) % queue->capacity];

		if (entry->client == client && entry->kind == SLU_CORE_SEND)
			entry->is_void = true;
	}
}
