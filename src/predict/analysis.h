/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The making of a kernel's program, for the files of this folder: from nodes (define.h) to ops
 * (program.h). These call each other:
 *
 *   access.c     every instruction that touches memory asks for the op of its address
 *   translate.c  the op of a node, at a place
 *   guard.c      what branches and guards told before a place: facts
 *   loop.c       the op of a value that changes from turn to turn, and how many turns there are
 *
 * A place is a list of facts: comparisons that are known to hold there. Lists share their tails,
 * as blocks share their dominators.
 */

#include "predict/define.h"
#include "predict/program.h"
#include "predict/reason.h"

#define SLU_PREDICT_NO_FACT 0u

struct slu_predict_fact {
	uint32_t parent; /* what is known besides */
	bool has_relation;
	uint8_t relation; /* between @x and @y */
	struct slu_predict_type type;
	struct slu_predict_node x, y;
	uint32_t loop; /* the edge stays in this loop, past its test; NO_LOOP: it does not matter */
	uint32_t guard; /* op that is empty if this cannot hold */
	bool has_guard;
};

struct slu_predict_turns {
	bool is_known;
	bool is_counting; /* they are being looked for */
	bool is_bounding; /* what its back edge tells is being looked for */
	bool has_primary; /* a counter that a test bounds: others follow from it */
	uint32_t primary; /* its register */
	uint32_t n_tests; /* edges that stay in the loop, past a test that every turn makes */
	uint32_t op;
};

struct slu_predict_memo {
	struct slu_predict_node node;
	uint32_t facts;
	uint32_t op; /* plus one; 0: free */
};

struct slu_predict_analysis {
	const struct slu_ptx_module *module;
	const struct slu_ptx_function *function;
	struct slu_predict_flow flow;
	struct slu_predict_define define;
	struct slu_predict_program *program;

	struct slu_predict_fact *facts; /* 0 is none */
	uint32_t n_facts, max_facts;
	uint32_t *block_facts;		 /* by block */
	uint32_t *edge_facts;		 /* by edge; plus one; 0: not known yet */
	uint32_t *loop_latch;		 /* by loop: its only edge back, or UINT32_MAX */
	struct slu_predict_turns *turns; /* by loop */

	struct slu_predict_memo *memo;
	uint32_t n_memo, max_memo;

	uint32_t n_unwritten; /* unknown values that no node stands for */
	unsigned depth;	      /* of translate() in itself */
	uint32_t n_evaded;    /* answers that were cut short because they depend on themselves */
	uint64_t budget;      /* steps that are left; at 0 everything is unknown */
	int error;	      /* -ENOMEM; sticks */
};

/* translate.c: the op of a node where @facts hold */
uint32_t slu_predict_translate(struct slu_predict_analysis *an, struct slu_predict_node node,
			       uint32_t facts);
/* The same for the address in an instruction's brackets, without its offset. */
uint32_t slu_predict_translate_address(struct slu_predict_analysis *an, uint32_t instr,
				       const struct slu_ptx_operand *operand, uint32_t facts);
/* The node that a chain of copies leads to. */
struct slu_predict_node slu_predict_translate_origin(struct slu_predict_analysis *an,
						     struct slu_predict_node node);
/* The node of which this one has the low bits, or all of them. */
struct slu_predict_node slu_predict_translate_uncut(struct slu_predict_analysis *an,
						    struct slu_predict_node node);
uint32_t slu_predict_translate_unknown(struct slu_predict_analysis *an,
				       enum slu_predict_reason reason,
				       struct slu_predict_node node);
/* One or the other, whichever @node is. */
uint32_t slu_predict_translate_join(struct slu_predict_analysis *an, struct slu_predict_node node,
				    uint32_t a, uint32_t b);
/* An op of two operands. */
uint32_t slu_predict_translate_op(struct slu_predict_analysis *an, enum slu_predict_code code,
				  uint32_t a, uint32_t b, unsigned bits);

/* guard.c: fills in what holds in each block; what holds on an edge */
void slu_predict_guard_all(struct slu_predict_analysis *an);
uint32_t slu_predict_guard_edge(struct slu_predict_analysis *an, uint32_t edge);
/* @facts and what follows from a predicate of @instr being true (or false) */
uint32_t slu_predict_guard_add(struct slu_predict_analysis *an, uint32_t facts, uint32_t instr,
			       uint32_t reg, bool is_true);
/* The op that is empty if @facts cannot hold together; 0 if they always can. */
uint32_t slu_predict_guard_op(struct slu_predict_analysis *an, uint32_t facts);
/* @op, which is @node's, as far as @facts allow it. */
uint32_t slu_predict_guard_refine(struct slu_predict_analysis *an, struct slu_predict_node node,
				  uint32_t op, uint32_t facts, enum slu_predict_code code);

/* loop.c: a MERGE at the head of a loop */
uint32_t slu_predict_loop_counter(struct slu_predict_analysis *an, uint32_t loop,
				  struct slu_predict_node node, uint32_t facts);
/* The turns of a loop: how often its head can be reached again, 0 … n. */
uint32_t slu_predict_loop_turns(struct slu_predict_analysis *an, uint32_t loop);
bool slu_predict_loop_is_past_test(const struct slu_predict_analysis *an, uint32_t loop,
				   uint32_t facts);
/* The loop in which an edge stays, though its other way out of the block leaves it. */
uint32_t slu_predict_loop_stayed(struct slu_predict_analysis *an, uint32_t edge);

/* access.c: all accesses of the function. Return: why the kernel is unknown, with its line. */
enum slu_predict_reason slu_predict_access_all(struct slu_predict_analysis *an, uint32_t *ret_line);
