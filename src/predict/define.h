/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which computation a register holds at a place: its static single assignment form, found when it
 * is asked for.
 *
 * A node is one place of the text where a value comes from. Where ways meet that bring different
 * ones there is a node for the meeting (MERGE), exactly in the iterated dominance frontier of the
 * register's definitions. So a node's place dominates every use of it, and this is what the rest
 * of the analysis rests on:
 *
 *   When a node u is used at a place, and u was computed from v without a MERGE between them, then
 *   v's last computation is the one that u was computed from. For v dominates u, and u dominates
 *   the place: a way that computed v again after u without coming past u would, cut at v, be a way
 *   from the entry to the place without u.
 *
 * The same holds for what a branch told of v, if the branch's edge dominates the place. A guarded
 * definition (@%p) is a definition: its value is the new or the old one.
 */

#include "predict/flow.h"

enum slu_predict_node_kind {
	SLU_PREDICT_NODE_NONE,	   /* never written on some way, or not a value that we follow */
	SLU_PREDICT_NODE_INSTR,	   /* @a: instruction; @b: which of its results */
	SLU_PREDICT_NODE_MERGE,	   /* @a: block; @b: register */
	SLU_PREDICT_NODE_CONSTANT, /* @b: its bits, with the sign of the highest */
	SLU_PREDICT_NODE_SPECIAL,  /* @a: enum slu_ptx_sreg */
	SLU_PREDICT_NODE_VARIABLE, /* @b: the operand, as an address */
};

struct slu_predict_node {
	uint32_t kind;
	uint32_t a;
	uint64_t b;
};

struct slu_predict_definition {
	uint32_t instr;
	uint32_t result;
};

struct slu_predict_define {
	const struct slu_predict_flow *flow;
	uint32_t
		*first; /* by register: definitions[first[r] … first[r + 1]], in the text's order */
	struct slu_predict_definition *definitions;
	/* dominance frontiers: frontier[frontier_first[b] …] */
	uint32_t *frontier_first;
	uint32_t *frontier;
	/* by register: where its ways meet; NULL until asked for; ended by NO_BLOCK */
	uint32_t **merges;
	uint8_t *mark; /* by block, while merges are looked for */
	uint32_t *stack;
	int error; /* -ENOMEM; sticks, and everything is NONE from then on */
};

int slu_predict_define_init(struct slu_predict_define *d, const struct slu_predict_flow *flow);
void slu_predict_define_deinit(struct slu_predict_define *d);

/* What a register holds before instruction @before of @block (its end: at the block's end). */
struct slu_predict_node slu_predict_define_find(struct slu_predict_define *d, uint32_t reg,
						uint32_t block, uint32_t before);
/* The same for an operand of an instruction: register, constant, special register or variable. */
struct slu_predict_node slu_predict_define_operand(struct slu_predict_define *d, uint32_t instr,
						   const struct slu_ptx_operand *operand);
/* The register that a result goes to; SLU_PTX_NO_REG behind the last, and where it goes nowhere. */
uint32_t slu_predict_define_result(const struct slu_ptx_instr *instr, uint32_t result,
				   bool *ret_is_behind);

static inline bool slu_predict_node_is(const struct slu_predict_node *x,
				       const struct slu_predict_node *y)
{
	return x->kind == y->kind && x->a == y->a && x->b == y->b &&
	       x->kind != SLU_PREDICT_NODE_NONE;
}
