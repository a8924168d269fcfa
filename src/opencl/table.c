/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "opencl/table.h"

#define FIRST_BUCKETS 64

/* Handles are addresses: their low bits say nothing, so the product's high bits choose. */
static size_t key_hash(const void *key)
{
	uint64_t h = ((uint64_t)(uintptr_t)key >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(h >> 32);
}

static size_t table_place_of(const struct slu_table *table, const void *key)
{
	return key_hash(key) & (table->n_buckets - 1);
}

static struct slu_table_recent *table_recent_of(struct slu_table *table, const void *key)
{
	return &table->recent[key_hash(key) & (SLU_TABLE_RECENT - 1)];
}

static void table_remember(struct slu_table *table, const void *key, struct slu_table_node *node)
{
	struct slu_table_recent *recent = table_recent_of(table, key);

	if (atomic_load_explicit(&recent->node, memory_order_relaxed) == node &&
	    atomic_load_explicit(&recent->key, memory_order_relaxed) == key)
		return;
	atomic_store_explicit(&recent->key, NULL, memory_order_release);
	atomic_store_explicit(&recent->node, node, memory_order_release);
	atomic_store_explicit(&recent->key, key, memory_order_release);
}

static void table_forget(struct slu_table *table, const void *key)
{
	struct slu_table_recent *recent = table_recent_of(table, key);

	if (atomic_load_explicit(&recent->key, memory_order_relaxed) == key)
		atomic_store_explicit(&recent->key, NULL, memory_order_release);
}

static struct slu_table_node **table_slot_of(const struct slu_table *table, const void *key)
{
	struct slu_table_node **p = &table->buckets[table_place_of(table, key)];

	while (*p && (*p)->key != key)
		p = &(*p)->next;
	return p;
}

static int table_grow(struct slu_table *table)
{
	struct slu_table bigger = { .n_buckets = table->n_buckets ? table->n_buckets * 2
								  : FIRST_BUCKETS };

	bigger.buckets = calloc(bigger.n_buckets, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return slu_error(-ENOMEM);
	for (size_t i = 0; i < table->n_buckets; i++)
		while (table->buckets[i]) {
			struct slu_table_node *node = table->buckets[i];
			struct slu_table_node **p =
				&bigger.buckets[table_place_of(&bigger, node->key)];

			table->buckets[i] = node->next;
			node->next = *p;
			*p = node;
		}
	free(table->buckets);
	table->buckets = bigger.buckets;
	table->n_buckets = bigger.n_buckets;
	return 0;
}

int slu_table_put(struct slu_table *table, const void *key, struct slu_table_node *node,
		  struct slu_table_node **ret_old)
{
	struct slu_table_node **p, *old;
	int r;

	if (table->n_nodes >= table->n_buckets) {
		r = table_grow(table);
		if (r < 0 && !table->n_buckets)
			return slu_fold(r);
	}
	table_forget(table, key);
	p = table_slot_of(table, key);
	old = *p;
	node->key = key;
	node->next = old ? old->next : NULL;
	*p = node;
	if (!old)
		table->n_nodes++;
	*ret_old = old;
	return 0;
}

struct slu_table_node *slu_table_find(struct slu_table *table, const void *key)
{
	struct slu_table_node *node = table->n_buckets ? *table_slot_of(table, key) : NULL;

	if (node)
		table_remember(table, key, node);
	return node;
}

struct slu_table_node *slu_table_peek(struct slu_table *table, const void *key)
{
	struct slu_table_recent *recent = table_recent_of(table, key);
	struct slu_table_node *node;

	if (!key || atomic_load_explicit(&recent->key, memory_order_acquire) != key)
		return NULL;
	node = atomic_load_explicit(&recent->node, memory_order_acquire);
	return atomic_load_explicit(&recent->key, memory_order_acquire) == key ? node : NULL;
}

void slu_table_remove(struct slu_table *table, struct slu_table_node *node)
{
	struct slu_table_node **p;

	if (!table->n_buckets)
		return;
	p = table_slot_of(table, node->key);
	if (*p != node)
		return;
	table_forget(table, node->key);
	*p = node->next;
	table->n_nodes--;
}

void slu_table_deinit(struct slu_table *table)
{
	assert(!table->n_nodes);
	free(table->buckets);
	*table = (struct slu_table){ 0 };
}
