/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An ordered set of nodes that live inside other objects: a treap. Nodes have a key, and a second
 * one that tells equal keys apart. Pure; nothing is allocated, nothing fails.
 */

#include <stdint.h>

struct slu_tree_node {
	struct slu_tree_node *child[2];
	uint64_t key, tie;
	uint64_t priority; /* parents have a higher one than their children */
};

struct slu_tree {
	struct slu_tree_node *root;
};

/* @node is in no tree, and no node of @tree has the same keys. */
void slu_tree_add(struct slu_tree *tree, struct slu_tree_node *node, uint64_t key, uint64_t tie);
void slu_tree_remove(struct slu_tree *tree, struct slu_tree_node *node);

/* The first node whose key is @key or more, the last one whose key is @key or less; or NULL. */
struct slu_tree_node *slu_tree_at_or_above(const struct slu_tree *tree, uint64_t key);
struct slu_tree_node *slu_tree_at_or_below(const struct slu_tree *tree, uint64_t key);
