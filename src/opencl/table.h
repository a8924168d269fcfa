/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table from a driver's handle to the layer's note about it. The note embeds a node; the table
 * owns only its buckets. A driver may use a handle again after the old object has ended, so
 * slu_table_put() returns the old note of that handle. Callers hold the layer's lock, except for
 * slu_table_peek().
 *
 * A small second table holds the nodes that were found lately and is read without a lock: an entry
 * is a key and its node, and the key is removed before the node changes.
 */

#include <stdatomic.h>
#include <stddef.h>

struct slu_table_node {
	struct slu_table_node *next;
	const void *key;
};

#define SLU_TABLE_RECENT 64

struct slu_table_recent {
	_Atomic(const void *) key;
	_Atomic(struct slu_table_node *) node;
};

struct slu_table {
	struct slu_table_node **buckets; /* NULL until the first put */
	size_t n_buckets;		 /* a power of two */
	size_t n_nodes;
	struct slu_table_recent recent[SLU_TABLE_RECENT];
};

/*
 * Enters @node under @key. *ret_old is the node that had the same key and was removed, or NULL.
 * Return: 0 or -ENOMEM.
 */
int slu_table_put(struct slu_table *table, const void *key, struct slu_table_node *node,
		  struct slu_table_node **ret_old);

struct slu_table_node *slu_table_find(struct slu_table *table, const void *key);

/*
 * Without the lock: the node under @key if it was found lately, or NULL. Only for a key that no
 * thread removes meanwhile: a program does not release an object while its own call uses it.
 */
struct slu_table_node *slu_table_peek(struct slu_table *table, const void *key);

/* Removes exactly @node, if the table has it. */
void slu_table_remove(struct slu_table *table, struct slu_table_node *node);

/* Frees the buckets; the table must be empty. */
void slu_table_deinit(struct slu_table *table);
