/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that a graph allocates and frees. Its address is told when the node is made, and holds for
 * every launch. The memory itself comes with the first launch (or cuGraphUpload()) and is kept for
 * the next one, until a trim, a launch of another graph that finds no other memory, or the end of
 * the last graph that knows it. What a graph allocates and does not free belongs to the program
 * after the launch, until that frees it, by a call or by a launch of another graph.
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
	struct dev_arena *arena;	   /* constant */
	bool is_out; /* allocated by a launch, and no free submitted; then with a use */
};

CUresult dev_graph_memory_new(struct dev_card *card, const CUDA_MEM_ALLOC_NODE_PARAMS *params,
			      struct dev_graph_memory **ret_memory);
struct dev_graph_memory *dev_graph_memory_ref(struct dev_graph_memory *memory);
void dev_graph_memory_unref(struct dev_graph_memory *memory);

/* Return: the memory that begins at @address, with a reference, or NULL. */
struct dev_graph_memory *dev_graph_memory_find(uint64_t address);

/* While it is used there is memory. Return: OUT_OF_MEMORY where there is none. */
CUresult dev_graph_memory_use(struct dev_graph_memory *memory);
void dev_graph_memory_unuse(struct dev_graph_memory *memory);

/* A command of a launch is about to be submitted, of any kind; its memory is used. */
void dev_graph_memory_launched(struct dev_command *command);

/* ALLOC or FREE is carried out, or will never be. */
void dev_graph_memory_done(struct dev_command *command);

/* The program frees what a launch left it, after what was submitted to @stream (NULL: at once).
 * Return: NOT_FOUND where there is no such memory. */
CUresult dev_graph_memory_free_outside(uint64_t address, struct dev_stream *stream);

/* Work on a capturing stream. */
CUresult dev_graph_memory_capture_alloc(struct dev_stream *stream, const CUmemPoolProps *props,
					uint64_t bytes, uint64_t *ret_address);
CUresult dev_graph_memory_capture_free(struct dev_stream *stream, uint64_t address);

/* Gives back what no launch needs that is queued or runs, and the program does not have. */
void dev_graph_memory_trim(const struct dev_card *card);

/*
 * How many bytes graphs have on @card, or had at most. Memory is in use by a graph or it is given
 * back, so the driver's two figures are one here. A high mark begins anew by itself.
 */
uint64_t dev_graph_memory_bytes(const struct dev_card *card, CUgraphMem_attribute which);
void dev_graph_memory_reset(const struct dev_card *card, CUgraphMem_attribute which);
