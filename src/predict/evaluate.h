/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A kernel's program, run for one launch after another. For sheet.c. */

#include "predict/kernel.h"
#include "predict/program.h"

struct slu_predict_run {
	const struct slu_predict_program *program;
	const struct slu_predict_launch *launch;
	struct slu_predict_value *spaces; /* by op: its value, where that is its own */
	struct slu_predict_scope scope;
	const struct slu_predict_op *op;
};

/* What the launch gives. Return: the leaves that are not as before (slu_predict_op.needs). */
uint64_t slu_predict_evaluate_leaves(struct slu_predict_run *r, bool is_first);
/* All ops that need one of @changed; @is_first: all ops. */
void slu_predict_evaluate_ops(struct slu_predict_run *r, uint64_t changed, bool is_first);
