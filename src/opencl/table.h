/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table from a driver's handle to our note about it. The note embeds a node; the table owns
 * nothing but its buckets. A driver may give the same handle again after the old object is gone,
 * so slu_table_put() hands back a note that is still there under that handle. Callers hold the
 * layer's lock, but for slu_table_peek().
 *
 * What was found lately stands in a small second table that is read without a lock: a place there
 * is a key and its node, and the key is taken away before the node changes.
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
 * Enters @node under @key. *ret_old is the node that was there under the same key and has been
 * taken out, or NULL. Return: 0 or -ENOMEM.
 */
int slu_table_put(struct slu_table *table, const void *key, struct slu_table_node *node,
		  struct slu_table_node **ret_old);

struct slu_table_node *slu_table_find(struct slu_table *table, const void *key);

/*
 * Without the lock: the node under @key if it was found lately, or NULL. Only for a key that
 * nobody takes out meanwhile: the program gives nothing up while a call of its uses it.
 */
struct slu_table_node *slu_table_peek(struct slu_table *table, const void *key);

/* Takes out exactly @node, if it is there. */
void slu_table_remove(struct slu_table *table, struct slu_table_node *node);

/* Gives the buckets back; the table must be empty. */
void slu_table_deinit(struct slu_table *table);
