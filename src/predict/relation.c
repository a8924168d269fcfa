/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/relation.h"

#include "base/util.h"
#include "predict/sum.h"

static int64_t less_one(int64_t x)
{
	return x == INT64_MIN ? x : x - 1;
}

static int64_t plus_one(int64_t x)
{
	return x == INT64_MAX ? x : x + 1;
}

const struct slu_predict_value *
slu_predict_relation_refine(struct slu_predict_scope *s, const struct slu_predict_value *a,
			    const struct slu_predict_value *b, enum slu_predict_relation relation,
			    struct slu_predict_type type, bool keeps,
			    struct slu_predict_value *space)
{
	static const struct slu_predict_value empty = { .state = SLU_PREDICT_EMPTY };
	struct slu_predict_value xs, ys;
	const struct slu_predict_value *x, *y = slu_predict_value_norm(s, b, type, &ys);
	int64_t lo = type.is_signed ? INT64_MIN : 0, hi = INT64_MAX;

	if (a->state == SLU_PREDICT_EMPTY || y->state == SLU_PREDICT_EMPTY)
		return &empty;
	if (keeps && !slu_predict_value_fits(a, type)) {
		*space = slu_predict_value_any(s);
		return space;
	}
	x = slu_predict_value_norm(s, a, type, &xs);
	/* 64 bits without a sign, of which nothing is known: no end of its is an int64_t */
	if (y->state == SLU_PREDICT_ANY ||
	    (x->state == SLU_PREDICT_ANY && !type.is_signed && relation != SLU_PREDICT_LT &&
	     relation != SLU_PREDICT_LE && relation != SLU_PREDICT_EQ))
		return a;
	if (x->state == SLU_PREDICT_SET) {
		lo = x->lo;
		hi = x->hi;
	}
	/* sound: what holds for the value holds for the worst that the bound can be */
	switch (relation) {
	case SLU_PREDICT_EQ:
		lo = SLU_MAX(lo, y->lo);
		hi = SLU_MIN(hi, y->hi);
		break;
	case SLU_PREDICT_NE:
		if (y->lo == y->hi && lo == y->lo && lo == hi)
			return &empty;
		if (y->lo == y->hi && lo == y->lo)
			lo = plus_one(lo);
		if (y->lo == y->hi && hi == y->lo)
			hi = less_one(hi);
		break;
	case SLU_PREDICT_LT:
		if (y->hi == INT64_MIN)
			return &empty;
		hi = SLU_MIN(hi, less_one(y->hi));
		break;
	case SLU_PREDICT_LE:
		hi = SLU_MIN(hi, y->hi);
		break;
	case SLU_PREDICT_GT:
		if (y->lo == INT64_MAX)
			return &empty;
		lo = SLU_MAX(lo, plus_one(y->lo));
		break;
	case SLU_PREDICT_GE:
		lo = SLU_MAX(lo, y->lo);
		break;
	}
	a = slu_predict_value_clip(s, x, lo, hi, space);
	if (a == &xs) {
		*space = xs;
		return space;
	}
	return a;
}

static bool owns(const struct slu_predict_scope *s, const struct slu_predict_value *v)
{
	return v->n_terms && v->terms[v->n_terms - 1].dim / 2 == s->op;
}

/* d has only multiples of @step, all of them not negative. */
static bool counts_down(const struct slu_predict_value *d, int64_t step)
{
	if (d->state != SLU_PREDICT_SET || d->lo < 0 || d->c % step)
		return false;
	for (unsigned i = 0; i < d->n_terms; i++)
		if (d->terms[i].coef % step)
			return false;
	return true;
}

/*
 * Sound, for a step upwards and `first + k * step < bound`: as long as that sum of integers stays
 * inside the type, the comparison sees it as it is. It holds only for k < (bound - first) / step.
 * At the first k for which it does not, the sum is less than the highest bound plus one step; if
 * that is inside the type too, the loop ends there, before anything could wrap around. So the last
 * turn that begins is the one after the last comparison that held. Downwards the same with all
 * signs turned. `!=` holds until the sum meets the bound: it does if their distance, which must not
 * change meanwhile, is a multiple of the step and lies in its direction.
 */
struct slu_predict_value slu_predict_relation_turns(
	struct slu_predict_scope *s, const struct slu_predict_value *first,
	const struct slu_predict_value *step, const struct slu_predict_value *bound,
	enum slu_predict_relation relation, struct slu_predict_type type, bool is_bound_fixed)
{
	struct slu_predict_value spaces[4];
	const struct slu_predict_value *x = slu_predict_value_norm(s, first, type, &spaces[0]);
	const struct slu_predict_value *y = slu_predict_value_norm(s, bound, type, &spaces[1]), *d;
	struct slu_predict_value end;
	int64_t size, past, most;
	bool is_up;

	/* the loop is never entered */
	if (x->state == SLU_PREDICT_EMPTY)
		return *x;
	/* its first turn begins, but no thread comes to the test */
	if (y->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_one(0);
	/* a step of less than the type's width may be written as its complement */
	d = slu_predict_value_norm(s, step, (struct slu_predict_type){ type.bits, true },
				   &spaces[2]);
	/* a set that wraps around has this op's dim, which must not meet itself in the bound */
	if (x->state != SLU_PREDICT_SET || y->state != SLU_PREDICT_SET || owns(s, x) ||
	    !slu_predict_value_is_one(d) || !d->c || d->c == INT64_MIN ||
	    relation == SLU_PREDICT_EQ)
		return slu_predict_value_any(s);
	is_up = d->c > 0;
	size = is_up ? d->c : -d->c;
	if (relation == SLU_PREDICT_NE) {
		d = is_up ? slu_predict_sum_sub(s, y, x, &spaces[3])
			  : slu_predict_sum_sub(s, x, y, &spaces[3]);
		if (!is_bound_fixed || !counts_down(d, size))
			return slu_predict_value_any(s);
		return slu_predict_value_span(s, 0, d->hi / size, 1);
	}
	if (is_up != (relation == SLU_PREDICT_LT || relation == SLU_PREDICT_LE))
		return slu_predict_value_any(s);
	past = relation == SLU_PREDICT_LT || relation == SLU_PREDICT_GT ? size - 1 : size;
	if (__builtin_add_overflow(is_up ? y->hi : y->lo, is_up ? past : -past, &past))
		return slu_predict_value_any(s);
	end = slu_predict_value_one(past);
	if (!slu_predict_value_fits(&end, type))
		return slu_predict_value_any(s);
	d = is_up ? slu_predict_sum_sub(s, y, x, &spaces[3])
		  : slu_predict_sum_sub(s, x, y, &spaces[3]);
	if (d->state != SLU_PREDICT_SET)
		return slu_predict_value_any(s);
	most = d->hi;
	/* as `<`: one more for `<=` */
	if ((relation == SLU_PREDICT_LE || relation == SLU_PREDICT_GE) && most < INT64_MAX)
		most++;
	if (most <= 0)
		return slu_predict_value_one(0);
	return slu_predict_value_span(s, 0, (most - 1) / size + 1, 1);
}
