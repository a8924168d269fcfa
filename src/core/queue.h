/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The queue of actions that wait to be taken, in order. The ring grows and never shrinks: once it
 * has the size of the largest step, it allocates nothing. An action that is lost for lack of memory
 * makes the queue unfit for good, and slu_core_take_action() reports it: the daemon restarts from
 * its roster.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

struct slu_core_queue_entry {
	uint64_t id;
	bool is_void; /* cancelled */
	enum slu_core_action_kind kind;
	uint64_t client;
	enum slu_message_type type; /* SEND */
	union {
		struct slu_msg_limit limit;
		struct slu_msg_turn turn;
		struct slu_msg_close close;
		struct slu_msg_deny deny;
		uint64_t group; /* SPLIT */
	};
	char reason[SLU_CORE_REASON_MAX];
};

struct slu_core_queue {
	struct slu_core_queue_entry *entries;
	size_t first, n, capacity;
	uint64_t n_ids;
	bool is_unfit;
};

void slu_core_queue_deinit(struct slu_core_queue *queue);

/* Return: a new last entry with id and reason set, or NULL: the queue is unfit. */
struct slu_core_queue_entry *slu_core_queue_push(struct slu_core_queue *queue,
						 enum slu_core_action_kind kind, uint64_t client,
						 const char *reason, ...)
	__attribute__((__format__(__printf__, 4, 5)));

/* Return: the first entry that is to be carried out, to be read before the next push, or NULL. */
const struct slu_core_queue_entry *slu_core_queue_pop(struct slu_core_queue *queue);

/* Cancels what waits to be sent to @client: its connection has changed. */
void slu_core_queue_forget(struct slu_core_queue *queue, uint64_t client);
