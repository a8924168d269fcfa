/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/sum.h"

#include "base/util.h"
#include "predict/program.h"

/* Appends a term; too many of them: false. */
static inline bool add_term(struct slu_predict_value *v, int64_t coef, uint32_t dim)
{
	if (!coef)
		return true;
	if (v->n_terms == SLU_PREDICT_MAX_TERMS)
		return false;
	v->terms[v->n_terms++] = (struct slu_predict_term){ coef, dim };
	return true;
}

/* r = a + b * k without intervals. */
__attribute__((always_inline)) static inline bool add_forms(const struct slu_predict_value *a,
							    const struct slu_predict_value *b,
							    int64_t k, struct slu_predict_value *r,
							    bool *ret_have_met)
{
	const struct slu_predict_term *ta = a->terms, *enda = ta + a->n_terms;
	const struct slu_predict_term *tb = b->terms, *endb = tb + b->n_terms;
	int64_t x;

	r->n_terms = 0;
	*ret_have_met = false;
	if (__builtin_mul_overflow(b->c, k, &x) || __builtin_add_overflow(a->c, x, &r->c))
		return false;
	while (ta < enda && tb < endb) {
		bool is_met = ta->dim == tb->dim;

		if (ta->dim < tb->dim) {
			if (!add_term(r, ta->coef, ta->dim))
				return false;
			ta++;
			continue;
		}
		if (__builtin_mul_overflow(tb->coef, k, &x) ||
		    (is_met && __builtin_add_overflow(x, ta->coef, &x)) || !add_term(r, x, tb->dim))
			return false;
		*ret_have_met |= is_met;
		ta += is_met;
		tb++;
	}
	for (; ta < enda; ta++)
		if (!add_term(r, ta->coef, ta->dim))
			return false;
	for (; tb < endb; tb++)
		if (__builtin_mul_overflow(tb->coef, k, &x) || !add_term(r, x, tb->dim))
			return false;
	return true;
}

static int64_t coef_of(const struct slu_predict_value *v, uint32_t dim)
{
	for (unsigned i = 0; i < v->n_terms; i++)
		if (v->terms[i].dim == dim)
			return v->terms[i].coef;
	return 0;
}

/* Puts a term in its place. */
static bool insert_term(struct slu_predict_value *v, int64_t coef, uint32_t dim)
{
	if (!add_term(v, coef, dim))
		return false;
	for (unsigned k = v->n_terms - 1u; k && v->terms[k - 1].dim > v->terms[k].dim; k--) {
		struct slu_predict_term t = v->terms[k];

		v->terms[k] = v->terms[k - 1];
		v->terms[k - 1] = t;
	}
	return true;
}

/*
 * A number x and its quotient q by d are not independent: where a form has both, x becomes d * q +
 * rest, with a dim for the rest. Sound: that equation holds for the same x and q, which their dims
 * stand for, with 0 <= rest < d.
 */
static bool take_remainder_of(struct slu_predict_scope *s, struct slu_predict_value *r, unsigned i)
{
	uint32_t dim = r->terms[i].dim, op = dim / 2;
	struct slu_predict_value rest, shorter;
	bool have_met;
	int64_t m = 0;

	if (dim % 2 || op >= s->op ||
	    !add_forms(s->values[s->ops[op].a], s->values[op], -s->dims[dim].divisor, &rest,
		       &have_met))
		return false;
	for (unsigned k = 0; k < rest.n_terms && !m; k++)
		if (rest.terms[k].dim != dim)
			m = coef_of(r, rest.terms[k].dim) / rest.terms[k].coef;
	if (!m || !add_forms(r, &rest, -m, &shorter, &have_met) || shorter.n_terms >= r->n_terms ||
	    !insert_term(&shorter, m, dim + 1))
		return false;
	r->c = shorter.c;
	r->n_terms = shorter.n_terms;
	for (unsigned k = 0; k < shorter.n_terms; k++)
		r->terms[k] = shorter.terms[k];
	return true;
}

static bool take_remainder(struct slu_predict_scope *s, struct slu_predict_value *r)
{
	for (unsigned i = 0; i < r->n_terms; i++) {
		const struct slu_predict_dim *d = &s->dims[r->terms[i].dim];

		/* a form that lacks a part of x has little to win */
		if (d->divisor && coef_of(r, d->rest) && take_remainder_of(s, r, i))
			return true;
	}
	return false;
}

/* Form and interval of @r are filled in; @have_met: terms of one dim were added. */
static inline void finish(struct slu_predict_scope *s, struct slu_predict_value *r, bool have_met)
{
	for (unsigned i = 0;
	     s->has_quotient && i < SLU_PREDICT_MAX_TERMS && r->n_terms > 1 && take_remainder(s, r);
	     i++)
		have_met = true;
	if (have_met || (!r->n_terms && (r->lo != r->hi || r->lo != r->c)))
		slu_predict_value_tighten(s, r);
}

/* Sound: every integer of the interval instead of those that the form reaches. */
static const struct slu_predict_value *drop_form(struct slu_predict_scope *s,
						 struct slu_predict_value *r)
{
	bool is_loose = r->is_loose;
	uint32_t why = r->why;

	*r = slu_predict_value_span(s, r->lo, r->hi, 1);
	r->is_loose = is_loose;
	r->why = why;
	return r;
}

/* Sound: no other memory lies as near to a window as this. */
static struct slu_predict_value window_sum(struct slu_predict_scope *s,
					   const struct slu_predict_value *a,
					   const struct slu_predict_value *b, int64_t k)
{
	struct slu_predict_value r = *a;
	int64_t lo, hi;

	if (!slu_predict_value_scale(b->lo, b->hi, k, &lo, &hi) ||
	    __builtin_add_overflow(a->lo, lo, &r.lo) || __builtin_add_overflow(a->hi, hi, &r.hi) ||
	    r.lo < -SLU_PREDICT_WINDOW_BYTES || r.hi > SLU_PREDICT_WINDOW_BYTES)
		return slu_predict_value_any(s);
	return r;
}

/* a + b * k, where one of both is no set. */
static struct slu_predict_value sum_of_states(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, int64_t k)
{
	struct slu_predict_value r;

	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_empty();
	if (a->state == SLU_PREDICT_WINDOW && b->state == SLU_PREDICT_SET)
		return window_sum(s, a, b, k);
	if (b->state == SLU_PREDICT_WINDOW && a->state == SLU_PREDICT_SET && k == 1)
		return window_sum(s, b, a, 1);
	r = slu_predict_value_any(s);
	r.why = a->state == SLU_PREDICT_ANY ? a->why : b->why;
	return r;
}

/*
 * @a and a number: the form is @a's, moved. What a quotient and its remainder would become was
 * found when @a was made. Return: false if a sum exceeds 64 bits.
 */
static inline bool add_number(const struct slu_predict_value *a, int64_t number,
			      struct slu_predict_value *r)
{
	if (__builtin_add_overflow(a->lo, number, &r->lo) ||
	    __builtin_add_overflow(a->hi, number, &r->hi) ||
	    __builtin_add_overflow(a->c, number, &r->c))
		return false;
	r->state = SLU_PREDICT_SET;
	r->is_loose = a->is_loose;
	r->why = a->why;
	r->n_terms = a->n_terms;
	for (unsigned i = 0; i < a->n_terms; i++)
		r->terms[i] = a->terms[i];
	return true;
}

/* a + b * k; k is 1 or -1 */
__attribute__((always_inline)) static inline const struct slu_predict_value *
sum(struct slu_predict_scope *s, const struct slu_predict_value *a,
    const struct slu_predict_value *b, int64_t k, struct slu_predict_value *r)
{
	bool have_met;

	if (a->state != SLU_PREDICT_SET || b->state != SLU_PREDICT_SET) {
		*r = sum_of_states(s, a, b, k);
		return r;
	}
	if (k > 0 && a->lo == a->hi && add_number(b, a->lo, r))
		return r;
	if (b->lo == b->hi && (k > 0 || b->lo > INT64_MIN) && add_number(a, k * b->lo, r))
		return r;
	if (k > 0 ? __builtin_add_overflow(a->lo, b->lo, &r->lo) ||
			    __builtin_add_overflow(a->hi, b->hi, &r->hi)
		  : __builtin_sub_overflow(a->lo, b->hi, &r->lo) ||
			    __builtin_sub_overflow(a->hi, b->lo, &r->hi)) {
		*r = slu_predict_value_any(s);
		return r;
	}
	r->state = SLU_PREDICT_SET;
	r->is_loose = a->is_loose || b->is_loose;
	r->why = a->is_loose ? a->why : b->why;
	if (!add_forms(a, b, k, r, &have_met))
		return drop_form(s, r);
	finish(s, r, have_met);
	return r;
}

const struct slu_predict_value *slu_predict_sum_add(struct slu_predict_scope *s,
						    const struct slu_predict_value *a,
						    const struct slu_predict_value *b,
						    struct slu_predict_value *space)
{
	return sum(s, a, b, 1, space);
}

const struct slu_predict_value *slu_predict_sum_sub(struct slu_predict_scope *s,
						    const struct slu_predict_value *a,
						    const struct slu_predict_value *b,
						    struct slu_predict_value *space)
{
	return sum(s, a, b, -1, space);
}

/* r = a * k without intervals. */
static bool multiply_form(const struct slu_predict_value *a, int64_t k, struct slu_predict_value *r)
{
	if (__builtin_mul_overflow(a->c, k, &r->c))
		return false;
	for (unsigned i = 0; i < a->n_terms; i++) {
		r->terms[i].dim = a->terms[i].dim;
		if (__builtin_mul_overflow(a->terms[i].coef, k, &r->terms[i].coef))
			return false;
	}
	r->n_terms = k ? a->n_terms : 0;
	return true;
}

const struct slu_predict_value *slu_predict_sum_multiply(struct slu_predict_scope *s,
							 const struct slu_predict_value *a,
							 int64_t k, struct slu_predict_value *space)
{
	struct slu_predict_value *r = space;

	if (k == 1 || a->state == SLU_PREDICT_EMPTY)
		return a;
	if (a->state != SLU_PREDICT_SET ||
	    !slu_predict_value_scale(a->lo, a->hi, k, &r->lo, &r->hi)) {
		*r = slu_predict_value_any(s);
		if (a->state == SLU_PREDICT_ANY)
			r->why = a->why;
		return r;
	}
	r->state = SLU_PREDICT_SET;
	r->is_loose = a->is_loose;
	r->why = a->why;
	if (!multiply_form(a, k, r))
		return drop_form(s, r);
	if (!r->n_terms && (r->lo != r->hi || r->lo != r->c))
		slu_predict_value_tighten(s, r);
	return r;
}

const struct slu_predict_value *slu_predict_sum_product(struct slu_predict_scope *s,
							const struct slu_predict_value *a,
							const struct slu_predict_value *b,
							struct slu_predict_value *space)
{
	if (a->state == SLU_PREDICT_EMPTY)
		return a;
	if (slu_predict_value_is_one(b))
		return slu_predict_sum_multiply(s, a, b->lo, space);
	if (b->state != SLU_PREDICT_EMPTY && slu_predict_value_is_one(a))
		return slu_predict_sum_multiply(s, b, a->lo, space);
	*space = slu_predict_value_product(s, a, b);
	return space;
}
