/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/evaluate.h"

#include <string.h>

#include "base/util.h"
#include "predict/bits.h"
#include "predict/divide.h"
#include "predict/number.h"
#include "predict/relation.h"
#include "predict/sum.h"

static struct slu_predict_value any(struct slu_predict_run *r)
{
	return slu_predict_value_any(&r->scope);
}

/* The launch's bytes; what it does not give is unknown. */
static void parameter(struct slu_predict_run *r, struct slu_predict_value *ret_value)
{
	const struct slu_predict_op *op = r->op;
	unsigned bytes = op->type.bits / 8;
	uint64_t bits = 0, at = (uint64_t)op->imm;
	const uint8_t *from = (const uint8_t *)r->launch->params + at;

	if (at > r->launch->param_bytes || r->launch->param_bytes - at < bytes) {
		*ret_value = any(r);
		return;
	}
	if (bytes == 8)
		memcpy(&bits, from, 8);
	else if (bytes == 4)
		memcpy(&bits, from, 4);
	else
		memcpy(&bits, from, bytes);
	if (op->type.is_signed && bytes < 8)
		bits = (uint64_t)((int64_t)(bits << (64 - op->type.bits)) >> (64 - op->type.bits));
	slu_predict_value_set(ret_value, (int64_t)bits);
}

/* 0 … @n - 1; @n is not 0. */
static void index_below(struct slu_predict_run *r, uint32_t n, struct slu_predict_value *ret_value)
{
	slu_predict_value_set(ret_value, 0);
	if (n == 1)
		return;
	ret_value->hi = (int64_t)n - 1;
	ret_value->n_terms = 1;
	ret_value->terms[0] = (struct slu_predict_term){ 1, 2 * r->scope.op };
}

static void special(struct slu_predict_run *r, struct slu_predict_value *ret_value)
{
	const struct slu_predict_launch *l = r->launch;
	enum slu_ptx_sreg sreg = (enum slu_ptx_sreg)r->op->imm;

	switch (sreg) {
	case SLU_PTX_SREG_TID_X:
	case SLU_PTX_SREG_TID_Y:
	case SLU_PTX_SREG_TID_Z:
		index_below(r, l->block[sreg - SLU_PTX_SREG_TID_X], ret_value);
		break;
	case SLU_PTX_SREG_NTID_X:
	case SLU_PTX_SREG_NTID_Y:
	case SLU_PTX_SREG_NTID_Z:
		slu_predict_value_set(ret_value, l->block[sreg - SLU_PTX_SREG_NTID_X]);
		break;
	case SLU_PTX_SREG_CTAID_X:
	case SLU_PTX_SREG_CTAID_Y:
	case SLU_PTX_SREG_CTAID_Z:
		index_below(r, l->grid[sreg - SLU_PTX_SREG_CTAID_X], ret_value);
		break;
	case SLU_PTX_SREG_NCTAID_X:
	case SLU_PTX_SREG_NCTAID_Y:
	case SLU_PTX_SREG_NCTAID_Z:
		slu_predict_value_set(ret_value, l->grid[sreg - SLU_PTX_SREG_NCTAID_X]);
		break;
	case SLU_PTX_SREG_LANEID:
		index_below(r, 32, ret_value);
		break;
	case SLU_PTX_SREG_ZERO:
	case SLU_PTX_SREG_ZERO64:
		slu_predict_value_set(ret_value, 0);
		break;
	default:
		*ret_value = any(r);
		break;
	}
}

static void variable(struct slu_predict_run *r, struct slu_predict_value *ret_value)
{
	const struct slu_predict_launch *l = r->launch;
	uint64_t index = (uint64_t)r->op->imm;

	if (!l->variables || index >= l->n_variables || !l->variables[index])
		*ret_value = any(r);
	else
		slu_predict_value_set(ret_value, (int64_t)l->variables[index]);
}

static void leaf(struct slu_predict_run *r, struct slu_predict_value *ret_value)
{
	switch ((enum slu_predict_code)r->op->code) {
	case SLU_PREDICT_CODE_PARAM:
		parameter(r, ret_value);
		break;
	case SLU_PREDICT_CODE_SPECIAL:
		special(r, ret_value);
		break;
	default:
		variable(r, ret_value);
		break;
	}
}

/* A leaf is one number, 0 … n, or unknown: this tells whether it is another one than before. */
static bool is_same_leaf(const struct slu_predict_value *a, const struct slu_predict_value *b)
{
	return a->state == b->state &&
	       (a->state != SLU_PREDICT_SET || (a->lo == b->lo && a->hi == b->hi));
}

uint64_t slu_predict_evaluate_leaves(struct slu_predict_run *r, bool is_first)
{
	const struct slu_predict_program *p = r->program;
	struct slu_predict_value v;
	uint64_t changed = 0;

	for (uint32_t i = 1; i < p->end_leaf; i++) {
		r->scope.op = i;
		r->op = &p->ops[i];
		leaf(r, &v);
		if (!is_first && is_same_leaf(&v, &r->spaces[i]))
			continue;
		changed |= r->op->needs;
		r->scope.dims[2 * i] = (struct slu_predict_dim){ .last = (uint64_t)v.hi };
		r->spaces[i] = v;
		r->scope.values[i] = &r->spaces[i];
	}
	return changed;
}

/* Sound: one of both, and not more (less) than either. */
static struct slu_predict_value extreme(struct slu_predict_run *r,
					const struct slu_predict_value *a,
					const struct slu_predict_value *b, bool is_max)
{
	struct slu_predict_value v, space;

	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_empty();
	if (a->state != SLU_PREDICT_SET || b->state != SLU_PREDICT_SET) {
		v = any(r);
		v.why = a->state != SLU_PREDICT_SET ? a->why : b->why;
		return v;
	}
	if (is_max ? a->lo >= b->hi : a->hi <= b->lo)
		return *a;
	if (is_max ? b->lo >= a->hi : b->hi <= a->lo)
		return *b;
	v = slu_predict_value_join(&r->scope, a, b);
	return is_max ? *slu_predict_value_clip(&r->scope, &v, SLU_MAX(a->lo, b->lo), v.hi, &space)
		      : *slu_predict_value_clip(&r->scope, &v, v.lo, SLU_MIN(a->hi, b->hi), &space);
}

static struct slu_predict_value absolute(struct slu_predict_run *r,
					 const struct slu_predict_value *a)
{
	if (a->state == SLU_PREDICT_EMPTY || (a->state == SLU_PREDICT_SET && a->lo >= 0))
		return *a;
	if (a->state != SLU_PREDICT_SET || a->lo == INT64_MIN)
		return any(r);
	return slu_predict_value_span(&r->scope, 0, SLU_MAX(-a->lo, a->hi), 1);
}

static struct slu_predict_value fewer(struct slu_predict_run *r, const struct slu_predict_value *a,
				      const struct slu_predict_value *b)
{
	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_ANY)
		return *a;
	if (b->state == SLU_PREDICT_EMPTY || a->state == SLU_PREDICT_ANY)
		return *b;
	return slu_predict_value_span(&r->scope, 0, SLU_MIN(a->hi, b->hi), 1);
}

/* Sound: the k-th turn passes its test only if another one can follow it. */
static struct slu_predict_value body(struct slu_predict_run *r,
				     const struct slu_predict_value *turns)
{
	if (turns->state != SLU_PREDICT_SET)
		return *turns;
	return slu_predict_value_span(&r->scope, 0, turns->hi - 1, 1);
}

/* All turns of a counter, as far as the first value or a bounded next one reach. */
static const struct slu_predict_value *counter(struct slu_predict_run *r,
					       const struct slu_predict_value *all,
					       const struct slu_predict_value *first,
					       const struct slu_predict_value *next,
					       struct slu_predict_value *space)
{
	int64_t lo, hi;

	if (first->state == SLU_PREDICT_EMPTY)
		return first;
	if (all->state != SLU_PREDICT_SET || first->state != SLU_PREDICT_SET)
		return all;
	if (next->state == SLU_PREDICT_EMPTY) {
		lo = first->lo;
		hi = first->hi;
	} else if (next->state == SLU_PREDICT_SET) {
		lo = SLU_MIN(first->lo, next->lo);
		hi = SLU_MAX(first->hi, next->hi);
	} else {
		return all;
	}
	return slu_predict_value_clip(&r->scope, all, lo, hi, space);
}

/* Sound: the value is in both sets, so that either will do. */
static const struct slu_predict_value *narrower(const struct slu_predict_value *a,
						const struct slu_predict_value *b)
{
	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_ANY)
		return a;
	if (b->state == SLU_PREDICT_EMPTY || a->state == SLU_PREDICT_ANY)
		return b;
	return (uint64_t)b->hi - (uint64_t)b->lo < (uint64_t)a->hi - (uint64_t)a->lo ? b : a;
}

/* Only sums and choices know what to do with the address of a window. */
static const struct slu_predict_value *no_window(const struct slu_predict_value *v)
{
	static const struct slu_predict_value any_window = { .state = SLU_PREDICT_ANY };

	return v->state == SLU_PREDICT_WINDOW ? &any_window : v;
}

/* Ops that few programs have more than a few of. */
__attribute__((noinline)) static struct slu_predict_value
run_rare(struct slu_predict_run *r, const struct slu_predict_value *wa,
	 const struct slu_predict_value *wb)
{
	const struct slu_predict_op *op = r->op;
	const struct slu_predict_value *a = no_window(wa), *b = no_window(wb);
	struct slu_predict_scope *s = &r->scope;

	switch ((enum slu_predict_code)op->code) {
	case SLU_PREDICT_CODE_LOADED:
		return slu_predict_value_full(s, op->type);
	case SLU_PREDICT_CODE_WINDOW:
		return (struct slu_predict_value){ .state = SLU_PREDICT_WINDOW };
	case SLU_PREDICT_CODE_SHR:
		return slu_predict_bits_shr(s, a, b, op->type.bits);
	case SLU_PREDICT_CODE_DIV:
		return slu_predict_divide_quotient(s, a, b);
	case SLU_PREDICT_CODE_REM:
		return slu_predict_divide_remainder(s, a, b);
	case SLU_PREDICT_CODE_SCALE:
		return slu_predict_divide_scale(s, a, op->imm, op->shift);
	case SLU_PREDICT_CODE_AND:
		return slu_predict_bits_and(s, a, b, op->type.bits);
	case SLU_PREDICT_CODE_OR:
		return slu_predict_bits_or(s, a, b, op->type.bits);
	case SLU_PREDICT_CODE_XOR:
		return slu_predict_bits_xor(s, a, b, op->type.bits);
	case SLU_PREDICT_CODE_MIN:
		return extreme(r, a, b, false);
	case SLU_PREDICT_CODE_MAX:
		return extreme(r, a, b, true);
	case SLU_PREDICT_CODE_ABS:
		return absolute(r, a);
	case SLU_PREDICT_CODE_JOIN:
		return slu_predict_value_join(s, wa, wb);
	case SLU_PREDICT_CODE_GUARD:
		return a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY
			       ? slu_predict_value_empty()
			       : slu_predict_value_one(0);
	case SLU_PREDICT_CODE_TURNS:
		return slu_predict_relation_turns(s, a, b, no_window(s->values[op->c]),
						  (enum slu_predict_relation)op->relation, op->type,
						  op->is_fixed);
	case SLU_PREDICT_CODE_FEWER:
		return fewer(r, a, b);
	case SLU_PREDICT_CODE_BODY:
		return body(r, a);
	default:
		return any(r);
	}
}

/* Return: the op's value: @space, or that of an earlier op. */
static const struct slu_predict_value *run_op(struct slu_predict_run *r,
					      struct slu_predict_value *space)
{
	const struct slu_predict_op *op = r->op;
	struct slu_predict_scope *s = &r->scope;
	const struct slu_predict_value *wa = s->values[op->a], *wb = s->values[op->b], *a, *b;
	int64_t number;

	if (slu_predict_value_is_one(wa) &&
	    (slu_predict_value_is_one(wb) || op->code == SLU_PREDICT_CODE_NORM) &&
	    slu_predict_number_op(op, wa->lo, wb->lo, &number)) {
		slu_predict_value_set(space, number);
		return space;
	}
	a = no_window(wa);
	b = no_window(wb);
	switch ((enum slu_predict_code)op->code) {
	case SLU_PREDICT_CODE_CONSTANT:
		slu_predict_value_set(space, op->imm);
		return space;
	case SLU_PREDICT_CODE_ADD:
		return slu_predict_sum_add(s, wa, wb, space);
	case SLU_PREDICT_CODE_SUB:
		return slu_predict_sum_sub(s, wa, wb, space);
	case SLU_PREDICT_CODE_MUL:
		return slu_predict_sum_product(s, a, b, space);
	case SLU_PREDICT_CODE_SHL:
		return slu_predict_bits_shl(s, a, b, op->type.bits, space);
	case SLU_PREDICT_CODE_NORM:
		return slu_predict_value_norm(s, a, op->type, space);
	case SLU_PREDICT_CODE_EITHER:
		return a->state == SLU_PREDICT_ANY ? b : a;
	case SLU_PREDICT_CODE_NARROWER:
		return narrower(a, b);
	case SLU_PREDICT_CODE_REFINE:
	case SLU_PREDICT_CODE_KEEP:
		return slu_predict_relation_refine(s, a, b, (enum slu_predict_relation)op->relation,
						   op->type, op->code == SLU_PREDICT_CODE_KEEP,
						   space);
	case SLU_PREDICT_CODE_COUNTER:
		return counter(r, a, b, no_window(s->values[op->c]), space);
	default:
		*space = run_rare(r, wa, wb);
		return space;
	}
}

/*
 * Sound: an op's value and dims follow from those of its operands, from theirs, and from nothing
 * else. So where no leaf behind it changed, they are what they were.
 */
void slu_predict_evaluate_ops(struct slu_predict_run *r, uint64_t changed, bool is_first)
{
	const struct slu_predict_program *p = r->program;

	for (uint32_t i = p->end_leaf; i < p->n_ops; i++) {
		if (!is_first && !(p->ops[i].needs & changed))
			continue;
		r->scope.op = i;
		r->op = &p->ops[i];
		r->scope.dims[2 * i].divisor = 0;
		r->scope.values[i] = run_op(r, &r->spaces[i]);
	}
}
