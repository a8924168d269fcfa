/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a launch of one kernel computes: ops in order, each from earlier ones, and accesses that
 * use them. Made once (access.c), run at every launch (evaluate.c). An op that is asked for twice
 * is the same op: equal ops of equal operands are equal values at the same time.
 */

#include "predict/value.h"

enum slu_predict_code {
#define SLU_PREDICT_OP(name, n_operands) SLU_PREDICT_CODE_##name,
#include "predict/opcodes.def"
	_SLU_PREDICT_CODE_MAX,
};

struct slu_predict_op {
	uint8_t code;
	uint8_t relation; /* REFINE, KEEP, TURNS */
	uint8_t shift;	  /* SCALE */
	bool is_fixed;	  /* TURNS: the bound does not change while the loop runs */
	struct slu_predict_type type;
	uint32_t a, b, c;
	int64_t imm;
	uint32_t line; /* of the PTX text that made it first */
	/* the leaves that it is made from, as bits; leaf n has bit n % 64. Filled in at the end */
	uint64_t needs;
};

/* Bytes at an address that are touched together. */
struct slu_predict_access {
	uint32_t address; /* op */
	uint32_t guard;	  /* op; 0: always */
	int64_t offset;
	uint32_t bytes;
	uint32_t line;
	bool is_read;
	bool is_written;
	bool may_be_window; /* a generic address */
};

struct slu_predict_program {
	struct slu_predict_op *ops;
	uint32_t n_ops;
	uint32_t end_leaf; /* ops 1 … are leaves, which a launch gives: PARAM, SPECIAL, VARIABLE */
	struct slu_predict_access *accesses;
	uint32_t n_accesses;

	/* while it is made */
	uint32_t *buckets; /* of ops by contents; index + 1 */
	uint32_t n_buckets;
	uint32_t max_ops;
	uint32_t max_accesses;
	int error; /* -ENOMEM; sticks */
};

/* Beyond these a kernel is unknown: evaluation shall stay short. */
#define SLU_PREDICT_MAX_OPS	 4096u
#define SLU_PREDICT_MAX_ACCESSES 2048u

void slu_predict_program_deinit(struct slu_predict_program *p);

/* Return: the op, or one of the same value; 0 if there is no memory or there are too many. */
uint32_t slu_predict_program_op(struct slu_predict_program *p, const struct slu_predict_op *asked);
/* Return: false if there is no memory or there are too many. */
bool slu_predict_program_access(struct slu_predict_program *p,
				const struct slu_predict_access *access);
/*
 * Drops ops that no access needs, joins accesses that lie side by side, and puts the leaves first.
 */
int slu_predict_program_finish(struct slu_predict_program *p);
