/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that a graph allocates and frees. Its address is told when the node is made, and holds for
 * every launch. Here the memory is there from that moment until the last command that knows it is
 * gone; a card would give it back between launches. What a graph allocates and does not free
 * belongs to the program after the launch, until that frees it.
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "softgpu/driver/card.h"
#include "softgpu/driver/execution/stream.h"

struct dev_graph_memory {
	LIST_ENTRY(dev_graph_memory) link; /* guarded by a mutex of its own, as the rest */
	unsigned n_refs;
	uint64_t address;
	CUDA_MEM_ALLOC_NODE_PARAMS params; /* constant */
	struct dev_card *card;		   /* constant */
	bool is_freed_inside;		   /* by a node */
	bool is_out;			   /* the program has it */
};

CUresult dev_graph_memory_new(struct dev_card *card, const CUDA_MEM_ALLOC_NODE_PARAMS *params,
			      struct dev_graph_memory **ret_memory);
struct dev_graph_memory *dev_graph_memory_ref(struct dev_graph_memory *memory);
void dev_graph_memory_unref(struct dev_graph_memory *memory);

/* Return: the memory that begins at @address, with a reference, or NULL. */
struct dev_graph_memory *dev_graph_memory_find(uint64_t address);

void dev_graph_memory_freed_inside(struct dev_graph_memory *memory);
void dev_graph_memory_launched(struct dev_graph_memory *memory);

/* The program frees what a launch left it, after what was submitted to @stream (NULL: at once).
 * Return: NOT_FOUND where there is no such memory. */
CUresult dev_graph_memory_free_outside(uint64_t address, struct dev_stream *stream);

/* Work on a capturing stream. */
CUresult dev_graph_memory_capture_alloc(struct dev_stream *stream, const CUmemPoolProps *props,
					uint64_t bytes, uint64_t *ret_address);
CUresult dev_graph_memory_capture_free(struct dev_stream *stream, uint64_t address);

/* How many bytes graphs have on @card, and had at most; setting the latter to 0 begins anew. */
uint64_t dev_graph_memory_bytes(const struct dev_card *card, bool at_most);
void dev_graph_memory_reset(const struct dev_card *card);
