/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/divide.h"

#include "base/util.h"

static int64_t floor_div(int64_t x, int64_t d)
{
	return x / d - (x % d < 0);
}

/*
 * x = whole + rest, where d divides every term of @whole; [*ret_lo, *ret_hi] contains the rest.
 * Return: false if a sum exceeds 64 bits.
 */
static bool take_apart(struct slu_predict_scope *s, const struct slu_predict_value *x, int64_t d,
		       struct slu_predict_value *ret_whole, struct slu_predict_value *ret_rest,
		       int64_t *ret_lo, int64_t *ret_hi)
{
	struct slu_predict_value whole = slu_predict_value_one(0),
				 rest = slu_predict_value_one(x->c);

	for (unsigned i = 0; i < x->n_terms; i++) {
		struct slu_predict_value *to = x->terms[i].coef % d ? &rest : &whole;

		to->terms[to->n_terms++] = x->terms[i];
	}
	if (!slu_predict_value_reach(s, &whole, &whole.lo, &whole.hi) ||
	    !slu_predict_value_reach(s, &rest, &rest.lo, &rest.hi))
		return false;
	*ret_lo = rest.lo;
	*ret_hi = rest.hi;
	if (!whole.n_terms) {
		*ret_lo = SLU_MAX(rest.lo, x->lo);
		*ret_hi = SLU_MIN(rest.hi, x->hi);
	}
	*ret_whole = whole;
	*ret_rest = rest;
	return *ret_lo <= *ret_hi;
}

/*
 * Sound: with x = whole + rest and d a divisor of whole, floor(x / d) = whole / d + floor(rest /
 * d). The second part is one number if the rest lies between two multiples of d, else a dim that
 * counts from its lowest number on. Rounding down is monotone, which gives the interval.
 */
struct slu_predict_value slu_predict_divide_floor(struct slu_predict_scope *s,
						  const struct slu_predict_value *x, int64_t d)
{
	struct slu_predict_value whole, rest, r;
	int64_t lo, hi, first, last;

	if (x->state != SLU_PREDICT_SET || d == 1)
		return *x;
	if (!take_apart(s, x, d, &whole, &rest, &lo, &hi))
		return slu_predict_value_span(s, floor_div(x->lo, d), floor_div(x->hi, d), 1);
	first = floor_div(lo, d);
	last = floor_div(hi, d);
	r = whole;
	r.c = first;
	for (unsigned i = 0; i < r.n_terms; i++)
		r.terms[i].coef /= d;
	r.lo = floor_div(x->lo, d);
	r.hi = floor_div(x->hi, d);
	r.is_loose = x->is_loose;
	r.why = x->why;
	if (first != last) {
		if (r.n_terms == SLU_PREDICT_MAX_TERMS)
			return slu_predict_value_span(s, r.lo, r.hi, 1);
		/* this op's dim is above all others so far: terms stay in order */
		s->dims[2 * s->op] =
			(struct slu_predict_dim){ .last = (uint64_t)last - (uint64_t)first,
						  .divisor = d,
						  .rest = rest.terms[0].dim };
		s->dims[2 * s->op + 1] = (struct slu_predict_dim){ .last = (uint64_t)d - 1 };
		s->has_quotient = true;
		r.terms[r.n_terms++] = (struct slu_predict_term){ 1, 2 * s->op };
	}
	if (r.lo == r.hi) {
		r.c = r.lo;
		r.n_terms = 0;
	}
	return r;
}

/*
 * Sound: d divides whole, so that only the rest counts. Between two multiples of d it is the
 * remainder itself but for a multiple of d; otherwise the remainder is less than d, and differs
 * from the rest by a multiple of d, so that a common step of d and the rest's terms remains.
 */
struct slu_predict_value slu_predict_divide_modulo(struct slu_predict_scope *s,
						   const struct slu_predict_value *x, int64_t d)
{
	struct slu_predict_value whole, rest;
	int64_t lo, hi, base, g;

	if (x->state == SLU_PREDICT_EMPTY)
		return *x;
	if (x->state == SLU_PREDICT_ANY)
		return slu_predict_value_span(s, 0, d - 1, 1);
	if (!take_apart(s, x, d, &whole, &rest, &lo, &hi))
		return slu_predict_value_span(s, 0, d - 1, 1);
	if (floor_div(lo, d) == floor_div(hi, d)) {
		base = floor_div(lo, d) * d;
		rest.c -= base;
		rest.lo = lo - base;
		rest.hi = hi - base;
		if (rest.lo == rest.hi)
			rest = slu_predict_value_one(rest.lo);
		return rest;
	}
	g = slu_predict_value_step(&rest);
	for (int64_t y = d; y;) {
		int64_t t = g % y;

		g = y;
		y = t;
	}
	base = rest.c - floor_div(rest.c, g) * g;
	return slu_predict_value_span(s, base, d - 1, g);
}

static struct slu_predict_value give_up(struct slu_predict_scope *s,
					const struct slu_predict_value *x,
					const struct slu_predict_value *y)
{
	struct slu_predict_value r;

	if (x->state == SLU_PREDICT_EMPTY || y->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_empty();
	r = slu_predict_value_any(s);
	if (x->state == SLU_PREDICT_ANY)
		r.why = x->why;
	else if (y->state == SLU_PREDICT_ANY)
		r.why = y->why;
	return r;
}

struct slu_predict_value slu_predict_divide_quotient(struct slu_predict_scope *s,
						     const struct slu_predict_value *x,
						     const struct slu_predict_value *y)
{
	struct slu_predict_value r;

	/* a quotient by zero is whatever a device makes of it */
	if (x->state != SLU_PREDICT_SET || y->state != SLU_PREDICT_SET || y->lo < 1)
		return give_up(s, x, y);
	if (x->lo >= 0 && slu_predict_value_is_one(y))
		return slu_predict_divide_floor(s, x, y->c);
	/* sound: rounded to zero, a quotient by positive numbers rises with x, and its size falls
	 * with y */
	r = slu_predict_value_span(s, x->lo / (x->lo < 0 ? y->lo : y->hi),
				   x->hi / (x->hi < 0 ? y->hi : y->lo), 1);
	r.is_loose = x->is_loose || y->is_loose;
	r.why = s->op;
	return r;
}

struct slu_predict_value slu_predict_divide_remainder(struct slu_predict_scope *s,
						      const struct slu_predict_value *x,
						      const struct slu_predict_value *y)
{
	if (x->state == SLU_PREDICT_EMPTY || y->state != SLU_PREDICT_SET || y->lo < 1)
		return give_up(s, x, y);
	if (x->state == SLU_PREDICT_SET && x->lo >= 0 && slu_predict_value_is_one(y))
		return slu_predict_divide_modulo(s, x, y->c);
	/* sound: it is smaller than y, not larger than x, and has the sign of x */
	if (x->state == SLU_PREDICT_ANY)
		return slu_predict_value_span(s, -(y->hi - 1), y->hi - 1, 1);
	return slu_predict_value_span(s, x->lo < 0 ? SLU_MAX(x->lo, -(y->hi - 1)) : 0,
				      x->hi > 0 ? SLU_MIN(x->hi, y->hi - 1) : 0, 1);
}

/*
 * Sound: the function rises with x. It is floor(x / d) for 0 <= x <= hi if d * factor = 2^shift +
 * e with e >= 0 and e * hi < 2^shift: then x * factor / 2^shift exceeds x / d by x * e / (d *
 * 2^shift) < 1 / d, and from x / d to the next integer it is at least that far.
 */
struct slu_predict_value slu_predict_divide_scale(struct slu_predict_scope *s,
						  const struct slu_predict_value *x, int64_t factor,
						  unsigned shift)
{
	unsigned __int128 one = (unsigned __int128)1 << shift, d, e;
	struct slu_predict_value r;

	if (x->state != SLU_PREDICT_SET || x->lo < 0 || factor < 1)
		return give_up(s, x, x);
	d = (one + (unsigned __int128)factor - 1) / (unsigned __int128)factor;
	if (d <= INT64_MAX) {
		e = d * (unsigned __int128)factor - one;
		if (!e || (unsigned __int128)x->hi < (one + e - 1) / e)
			return slu_predict_divide_floor(s, x, (int64_t)d);
	}
	if ((unsigned __int128)x->hi * (unsigned __int128)factor >> shift > INT64_MAX)
		return slu_predict_value_any(s);
	r = slu_predict_value_span(
		s, (int64_t)((unsigned __int128)x->lo * (unsigned __int128)factor >> shift),
		(int64_t)((unsigned __int128)x->hi * (unsigned __int128)factor >> shift), 1);
	r.is_loose = x->is_loose;
	r.why = x->why;
	return r;
}
