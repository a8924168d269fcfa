/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/sheet.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "predict/evaluate.h"
#include "predict/kernel-parts.h"
#include "predict/range.h"

struct slu_predict_sheet {
	const struct slu_predict_kernel *kernel;
	bool is_filled; /* the run's values and @set are those of the last launch */
	struct slu_predict_run run;
	struct slu_predict_set set;
	struct slu_predict_set nothing; /* of a launch without threads, or an unknown kernel */
};

int slu_predict_sheet_new(const struct slu_predict_kernel *kernel,
			  struct slu_predict_sheet **ret_sheet)
{
	const struct slu_predict_program *p = &kernel->program;
	struct slu_predict_sheet *sheet = calloc(1, sizeof(*sheet));

	if (!sheet)
		return slu_error(-ENOMEM);
	sheet->kernel = kernel;
	sheet->run.program = p;
	sheet->run.scope.ops = p->ops;
	sheet->run.spaces = calloc(p->n_ops + 1, sizeof(*sheet->run.spaces));
	sheet->run.scope.dims = calloc(2 * (size_t)p->n_ops + 1, sizeof(*sheet->run.scope.dims));
	sheet->run.scope.values = calloc(p->n_ops + 1, sizeof(*sheet->run.scope.values));
	sheet->set.ranges = calloc(p->n_accesses + 1, sizeof(*sheet->set.ranges));
	sheet->nothing.why_reads = sheet->nothing.why_writes = kernel->why;
	if (!sheet->run.spaces || !sheet->run.scope.dims || !sheet->run.scope.values ||
	    !sheet->set.ranges) {
		slu_predict_sheet_free(sheet);
		return slu_error(-ENOMEM);
	}
	sheet->run.spaces[0] = slu_predict_value_any(&sheet->run.scope);
	sheet->run.scope.values[0] = &sheet->run.spaces[0];
	*ret_sheet = sheet;
	return 0;
}

void slu_predict_sheet_free(struct slu_predict_sheet *sheet)
{
	if (!sheet)
		return;
	free(sheet->run.spaces);
	free(sheet->run.scope.dims);
	free(sheet->run.scope.values);
	free(sheet->set.ranges);
	free(sheet);
}

/* The reason behind an op that gave up. */
static struct slu_predict_why why_of(const struct slu_predict_program *p, uint32_t op,
				     const struct slu_predict_access *access)
{
	struct slu_predict_why why = { SLU_PREDICT_REASON_WRAP, p->ops[op].line };

	switch ((enum slu_predict_code)p->ops[op].code) {
	case SLU_PREDICT_CODE_UNKNOWN:
		why.reason = (enum slu_predict_reason)(p->ops[op].imm & 0xff);
		break;
	case SLU_PREDICT_CODE_LOADED:
		why.reason = SLU_PREDICT_REASON_INDIRECT;
		break;
	case SLU_PREDICT_CODE_VARIABLE:
		why.reason = SLU_PREDICT_REASON_VARIABLE;
		break;
	case SLU_PREDICT_CODE_PARAM:
		why.reason = SLU_PREDICT_REASON_LAUNCH;
		break;
	case SLU_PREDICT_CODE_TURNS:
		why.reason = SLU_PREDICT_REASON_TURNS;
		break;
	case SLU_PREDICT_CODE_SPECIAL:
	case SLU_PREDICT_CODE_DIV:
	case SLU_PREDICT_CODE_SHL:
		why.reason = SLU_PREDICT_REASON_OPCODE;
		break;
	case SLU_PREDICT_CODE_NONE:
		why.reason = SLU_PREDICT_REASON_LARGE;
		break;
	default:
		break;
	}
	if (!why.line)
		why.line = access->line;
	return why;
}

static void add_why(struct slu_predict_set *set, const struct slu_predict_access *access,
		    struct slu_predict_why why)
{
	if (access->is_read && !set->why_reads.reason)
		set->why_reads = why;
	if (access->is_written && !set->why_writes.reason)
		set->why_writes = why;
}

static void add_access(struct slu_predict_run *r, const struct slu_predict_program *p,
		       const struct slu_predict_access *access, struct slu_predict_set *set)
{
	const struct slu_predict_value *v = r->scope.values[access->address];

	if (v->state == SLU_PREDICT_EMPTY ||
	    (access->guard && r->scope.values[access->guard]->state == SLU_PREDICT_EMPTY) ||
	    (v->state == SLU_PREDICT_WINDOW && access->may_be_window))
		return;
	if (v->state != SLU_PREDICT_SET) {
		add_why(set, access, why_of(p, v->why, access));
		return;
	}
	switch (slu_predict_range_make(&r->scope, v, access->offset, access->bytes,
				       &set->ranges[set->n_ranges])) {
	case 0:
		set->ranges[set->n_ranges].is_read = access->is_read;
		set->ranges[set->n_ranges].is_written = access->is_written;
		set->n_ranges++;
		break;
	default:
		add_why(set, access, why_of(p, v->is_loose ? v->why : access->address, access));
		break;
	}
}

static bool is_empty_launch(const struct slu_predict_launch *l)
{
	return !l->grid[0] || !l->grid[1] || !l->grid[2] || !l->block[0] || !l->block[1] ||
	       !l->block[2];
}

const struct slu_predict_set *slu_predict_sheet_evaluate(struct slu_predict_sheet *sheet,
							 const struct slu_predict_launch *launch)
{
	const struct slu_predict_program *p = &sheet->kernel->program;
	struct slu_predict_run *r = &sheet->run;
	struct slu_predict_set *set = &sheet->set;
	uint64_t changed;

	if (sheet->kernel->why.reason || is_empty_launch(launch) || !p->n_ops)
		return &sheet->nothing;
	r->launch = launch;
	changed = slu_predict_evaluate_leaves(r, !sheet->is_filled);
	if (!changed && sheet->is_filled)
		return set;
	slu_predict_evaluate_ops(r, changed, !sheet->is_filled);
	set->n_ranges = 0;
	set->why_reads = set->why_writes = (struct slu_predict_why){ 0 };
	for (uint32_t i = 0; i < p->n_accesses; i++)
		add_access(r, p, &p->accesses[i], set);
	sheet->is_filled = true;
	return set;
}
