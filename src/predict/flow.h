/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A function's blocks: runs of instructions with one way in and out, the edges between them, who
 * dominates whom, and loops. Blocks that cannot be reached are left out.
 *
 * A loop is the blocks from which its head can be reached again without leaving the head's
 * dominance. A function with a cycle that has no such head is refused: then a value's last
 * computation is not known from the dominators alone, on which all of this rests.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

#define SLU_PREDICT_NO_BLOCK UINT32_MAX
#define SLU_PREDICT_NO_LOOP  UINT32_MAX

/* The way from one block to another. */
struct slu_predict_edge {
	uint32_t from, to;
	/* taken only if the guard of the last instruction of @from holds (or does not) */
	bool is_conditional;
	bool is_taken; /* the guard holds, its negation included */
};

struct slu_predict_block {
	uint32_t first, end; /* instructions */
	uint32_t idom;	     /* NO_BLOCK for the entry */
	uint32_t depth;	     /* in the tree of dominators */
	uint32_t loop;	     /* the innermost */
	uint32_t first_in;   /* edges: flow->in[first_in …] */
	uint32_t n_in;
	uint32_t out[2]; /* its first two edges, by index; more of them: n_out tells */
	uint32_t n_out;
};

struct slu_predict_loop {
	uint32_t head;
	uint32_t outer; /* NO_LOOP at the top */
	uint32_t depth;
	uint32_t n_latches; /* edges back to the head */
};

struct slu_predict_flow {
	const struct slu_ptx_function *function;
	struct slu_predict_block *blocks; /* in reverse postorder; 0 is the entry */
	uint32_t n_blocks;
	struct slu_predict_edge *edges;
	uint32_t n_edges;
	uint32_t *in;	    /* edges by their end */
	uint32_t *block_of; /* by instruction; NO_BLOCK where nothing comes */
	struct slu_predict_loop *loops;
	uint32_t n_loops;
};

/*
 * Return: 0, SLU_PREDICT_FLOW_E_IRREDUCIBLE for a cycle without a head, SLU_PREDICT_FLOW_E_LARGE
 * for more than we want to look at, -ENOMEM.
 */
enum {
	_SLU_PREDICT_FLOW_E_SUCCESS,
	SLU_PREDICT_FLOW_E_IRREDUCIBLE,
	SLU_PREDICT_FLOW_E_LARGE,
};
int slu_predict_flow_init(struct slu_predict_flow *flow, const struct slu_ptx_function *function);
void slu_predict_flow_deinit(struct slu_predict_flow *flow);

/* Does every way to @b lead over @a? Every block dominates itself. */
bool slu_predict_flow_dominates(const struct slu_predict_flow *flow, uint32_t a, uint32_t b);
/* Is @block in @loop, or in one inside of it? */
bool slu_predict_flow_is_in(const struct slu_predict_flow *flow, uint32_t block, uint32_t loop);
/* The loop that @block is the head of, or NO_LOOP. */
uint32_t slu_predict_flow_head_of(const struct slu_predict_flow *flow, uint32_t block);
