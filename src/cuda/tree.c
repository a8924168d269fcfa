/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/tree.h"

#include <stdbool.h>
#include <stddef.h>

static bool node_is_before(const struct slu_tree_node *a, const struct slu_tree_node *b)
{
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

/* By where the node is in memory: as good as random. */
static uint64_t node_priority(const struct slu_tree_node *node)
{
	uint64_t x = (uint64_t)(uintptr_t)node * UINT64_C(0x9e3779b97f4a7c15);

	return (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

void slu_tree_add(struct slu_tree *tree, struct slu_tree_node *node, uint64_t key, uint64_t tie)
{
	struct slu_tree_node **at = &tree->root, **below = &node->child[0],
			     **above = &node->child[1], *rest;

	node->key = key;
	node->tie = tie;
	node->priority = node_priority(node);
	while (*at && (*at)->priority > node->priority)
		at = &(*at)->child[node_is_before(*at, node)];
	/* what was there is split: it is below the new node on one side or the other */
	rest = *at;
	*at = node;
	while (rest) {
		if (node_is_before(rest, node)) {
			*below = rest;
			below = &rest->child[1];
			rest = *below;
		} else {
			*above = rest;
			above = &rest->child[0];
			rest = *above;
		}
	}
	*below = *above = NULL;
}

void slu_tree_remove(struct slu_tree *tree, struct slu_tree_node *node)
{
	struct slu_tree_node **at = &tree->root, *low = node->child[0], *high = node->child[1];

	while (*at != node)
		at = &(*at)->child[node_is_before(*at, node)];
	while (low && high) {
		if (low->priority > high->priority) {
			*at = low;
			at = &low->child[1];
			low = *at;
		} else {
			*at = high;
			at = &high->child[0];
			high = *at;
		}
	}
	*at = low ? low : high;
}

struct slu_tree_node *slu_tree_at_or_above(const struct slu_tree *tree, uint64_t key)
{
	struct slu_tree_node *found = NULL, *node = tree->root;

	while (node) {
		if (node->key >= key)
			found = node;
		node = node->child[node->key < key];
	}
	return found;
}

struct slu_tree_node *slu_tree_at_or_below(const struct slu_tree *tree, uint64_t key)
{
	struct slu_tree_node *found = NULL, *node = tree->root;

	while (node) {
		if (node->key <= key)
			found = node;
		node = node->child[node->key <= key];
	}
	return found;
}
