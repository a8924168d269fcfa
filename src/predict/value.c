/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/value.h"

#include "base/util.h"
#include "predict/program.h"

static int64_t gcd(int64_t a, int64_t b)
{
	uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;

	while (y) {
		uint64_t r = x % y;

		x = y;
		y = r;
	}
	return x > INT64_MAX ? 1 : (int64_t)x;
}

struct slu_predict_value slu_predict_value_one(int64_t c)
{
	return (struct slu_predict_value){ .state = SLU_PREDICT_SET, .lo = c, .hi = c, .c = c };
}

struct slu_predict_value slu_predict_value_any(const struct slu_predict_scope *s)
{
	return (struct slu_predict_value){ .state = SLU_PREDICT_ANY, .why = s->op };
}

struct slu_predict_value slu_predict_value_empty(void)
{
	return (struct slu_predict_value){ .state = SLU_PREDICT_EMPTY };
}

struct slu_predict_value slu_predict_value_span(struct slu_predict_scope *s, int64_t lo, int64_t hi,
						int64_t step)
{
	struct slu_predict_value v = { .state = SLU_PREDICT_SET, .lo = lo, .c = lo };
	uint64_t n;

	if (lo > hi)
		return slu_predict_value_empty();
	if (step < 1)
		step = 1;
	n = ((uint64_t)hi - (uint64_t)lo) / (uint64_t)step;
	v.hi = (int64_t)((uint64_t)lo + n * (uint64_t)step);
	if (!n)
		return v;
	s->dims[2 * s->op] = (struct slu_predict_dim){ .last = n };
	v.terms[v.n_terms++] = (struct slu_predict_term){ step, 2 * s->op };
	return v;
}

/* The members c + n * g of [lo, hi]. */
static struct slu_predict_value lattice(struct slu_predict_scope *s, int64_t lo, int64_t hi,
					int64_t c, int64_t g)
{
	__int128 first = lo, off;

	if (g > 1) {
		off = ((__int128)c - lo) % g;
		first += off < 0 ? off + g : off;
	}
	return first > hi ? slu_predict_value_empty()
			  : slu_predict_value_span(s, (int64_t)first, hi, g);
}

static void range_of(struct slu_predict_type type, int64_t *ret_lo, int64_t *ret_hi)
{
	if (type.bits >= 64) {
		*ret_lo = type.is_signed ? INT64_MIN : 0;
		*ret_hi = INT64_MAX;
	} else if (type.is_signed) {
		*ret_lo = -(INT64_C(1) << (type.bits - 1));
		*ret_hi = -*ret_lo - 1;
	} else {
		*ret_lo = 0;
		*ret_hi = (INT64_C(1) << type.bits) - 1;
	}
}

/* Sound: nothing else fits. Of 64 bits without a sign the upper half is no int64_t: unknown. */
struct slu_predict_value slu_predict_value_full(struct slu_predict_scope *s,
						struct slu_predict_type type)
{
	struct slu_predict_value v;
	int64_t lo, hi;

	if (type.bits >= 64)
		return slu_predict_value_any(s);
	range_of(type, &lo, &hi);
	v = slu_predict_value_span(s, lo, hi, 1);
	v.is_loose = type.bits >= 32;
	v.why = s->op;
	return v;
}

bool slu_predict_value_reach(const struct slu_predict_scope *s, const struct slu_predict_value *v,
			     int64_t *ret_lo, int64_t *ret_hi)
{
	int64_t lo = v->c, hi = v->c, more;

	for (unsigned i = 0; i < v->n_terms; i++) {
		uint64_t last = s->dims[v->terms[i].dim].last;

		if (last > INT64_MAX ||
		    __builtin_mul_overflow(v->terms[i].coef, (int64_t)last, &more) ||
		    (more < 0 ? __builtin_add_overflow(lo, more, &lo)
			      : __builtin_add_overflow(hi, more, &hi)))
			return false;
	}
	*ret_lo = lo;
	*ret_hi = hi;
	return true;
}

int64_t slu_predict_value_step(const struct slu_predict_value *v)
{
	int64_t g = 0;

	for (unsigned i = 0; i < v->n_terms; i++)
		g = gcd(g, v->terms[i].coef);
	return g;
}

/*
 * Sound: taken by rising steps, what was reached so far is an interval without holes of `reach + 1`
 * integers, and a step of at most that many leaves none.
 */
bool slu_predict_value_is_dense(const struct slu_predict_scope *s,
				const struct slu_predict_value *v)
{
	uint64_t reach = 0, more;
	uint32_t done = 0;

	for (unsigned n = 0; n < v->n_terms; n++) {
		unsigned best = v->n_terms;
		uint64_t step = UINT64_MAX;

		for (unsigned i = 0; i < v->n_terms; i++) {
			int64_t c = v->terms[i].coef;
			uint64_t size = c < 0 ? -(uint64_t)c : (uint64_t)c;

			if (!(done >> i & 1) && size < step) {
				step = size;
				best = i;
			}
		}
		if (best == v->n_terms || step > reach + 1)
			return false;
		done |= UINT32_C(1) << best;
		if (__builtin_mul_overflow(step, s->dims[v->terms[best].dim].last, &more) ||
		    __builtin_add_overflow(reach, more, &reach))
			return false;
	}
	return true;
}

bool slu_predict_value_fits(const struct slu_predict_value *v, struct slu_predict_type type)
{
	int64_t lo, hi;

	range_of(type, &lo, &hi);
	return v->state == SLU_PREDICT_SET && v->lo >= lo && v->hi <= hi;
}

static int64_t floor_shift(int64_t x, unsigned bits)
{
	return x >> bits;
}

/*
 * Sound: a register holds the member modulo 2^bits. If all members lie between the same two
 * multiples of 2^bits, counted from the type's lowest number, the same multiple is taken from all
 * of them. Otherwise some thread may wrap around, and anything that the type can hold is possible.
 */
struct slu_predict_value slu_predict_value_norm(struct slu_predict_scope *s,
						const struct slu_predict_value *v,
						struct slu_predict_type type)
{
	struct slu_predict_value r = *v;
	int64_t lo, hi, turns, below, above, shift;

	if (v->state == SLU_PREDICT_EMPTY || slu_predict_value_fits(v, type))
		return r;
	if (v->state == SLU_PREDICT_ANY || type.bits >= 64) {
		struct slu_predict_value full = slu_predict_value_full(s, type);

		if (v->state == SLU_PREDICT_ANY)
			full.why = v->why;
		return full;
	}
	range_of(type, &lo, &hi);
	if (__builtin_sub_overflow(v->lo, lo, &below) || __builtin_sub_overflow(v->hi, lo, &above))
		return slu_predict_value_full(s, type);
	turns = floor_shift(below, type.bits);
	if (turns != floor_shift(above, type.bits))
		return slu_predict_value_full(s, type);
	if (__builtin_mul_overflow(turns, INT64_C(1) << type.bits, &shift) ||
	    __builtin_sub_overflow(v->c, shift, &r.c))
		return slu_predict_value_full(s, type);
	r.lo -= shift;
	r.hi -= shift;
	return r;
}

/* Appends a term; too many of them: false. */
static bool add_term(struct slu_predict_value *v, int64_t coef, uint32_t dim)
{
	if (!coef)
		return true;
	if (v->n_terms == SLU_PREDICT_MAX_TERMS)
		return false;
	v->terms[v->n_terms++] = (struct slu_predict_term){ coef, dim };
	return true;
}

/* r = a * ka + b * kb without intervals. */
static bool sum_forms(const struct slu_predict_value *a, int64_t ka,
		      const struct slu_predict_value *b, int64_t kb, struct slu_predict_value *r,
		      bool *ret_have_met)
{
	int64_t x, y;
	unsigned i = 0, k = 0;

	r->n_terms = 0;
	*ret_have_met = false;
	if (__builtin_mul_overflow(a->c, ka, &x) || __builtin_mul_overflow(b->c, kb, &y) ||
	    __builtin_add_overflow(x, y, &r->c))
		return false;
	while (i < a->n_terms || k < b->n_terms) {
		uint32_t da = i < a->n_terms ? a->terms[i].dim : UINT32_MAX;
		uint32_t db = k < b->n_terms ? b->terms[k].dim : UINT32_MAX;

		x = y = 0;
		if (da <= db && __builtin_mul_overflow(a->terms[i++].coef, ka, &x))
			return false;
		if (db <= da && __builtin_mul_overflow(b->terms[k++].coef, kb, &y))
			return false;
		*ret_have_met = *ret_have_met || da == db;
		if (__builtin_add_overflow(x, y, &x) || !add_term(r, x, SLU_MIN(da, db)))
			return false;
	}
	return true;
}

static bool scale(int64_t lo, int64_t hi, int64_t k, int64_t *ret_lo, int64_t *ret_hi)
{
	int64_t x, y;

	if (__builtin_mul_overflow(lo, k, &x) || __builtin_mul_overflow(hi, k, &y))
		return false;
	*ret_lo = SLU_MIN(x, y);
	*ret_hi = SLU_MAX(x, y);
	return true;
}

/* Leaves the interval that both the form and @r's own bounds allow. */
static struct slu_predict_value tighten(struct slu_predict_scope *s, struct slu_predict_value *r)
{
	int64_t lo, hi;

	if (slu_predict_value_reach(s, r, &lo, &hi)) {
		r->lo = SLU_MAX(r->lo, lo);
		r->hi = SLU_MIN(r->hi, hi);
	}
	if (r->lo > r->hi)
		return slu_predict_value_empty();
	if (r->lo == r->hi) {
		r->c = r->lo;
		r->n_terms = 0;
	}
	return *r;
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
static bool take_remainder(struct slu_predict_scope *s, struct slu_predict_value *r)
{
	for (unsigned i = 0; i < r->n_terms; i++) {
		uint32_t dim = r->terms[i].dim, op = dim / 2;
		int64_t d = s->dims[dim].divisor, m = 0;
		struct slu_predict_value rest, shorter = *r;
		bool have_met;

		if (dim % 2 || !d || op >= s->op ||
		    !sum_forms(&s->values[s->ops[op].a], 1, &s->values[op], -d, &rest, &have_met))
			continue;
		for (unsigned k = 0; k < rest.n_terms && !m; k++)
			if (rest.terms[k].dim != dim)
				m = coef_of(r, rest.terms[k].dim) / rest.terms[k].coef;
		if (!m || !sum_forms(r, 1, &rest, -m, &shorter, &have_met) ||
		    shorter.n_terms >= r->n_terms || !insert_term(&shorter, m, dim + 1))
			continue;
		*r = shorter;
		return true;
	}
	return false;
}

/* Sound: no other memory lies as near to a window as this. */
static struct slu_predict_value window_sum(struct slu_predict_scope *s,
					   const struct slu_predict_value *a,
					   const struct slu_predict_value *b, int64_t k)
{
	struct slu_predict_value r = *a;
	int64_t lo, hi;

	if (!scale(b->lo, b->hi, k, &lo, &hi) || __builtin_add_overflow(a->lo, lo, &r.lo) ||
	    __builtin_add_overflow(a->hi, hi, &r.hi) || r.lo < -SLU_PREDICT_WINDOW_BYTES ||
	    r.hi > SLU_PREDICT_WINDOW_BYTES)
		return slu_predict_value_any(s);
	return r;
}

struct slu_predict_value slu_predict_value_sum(struct slu_predict_scope *s,
					       const struct slu_predict_value *a, int64_t ka,
					       const struct slu_predict_value *b, int64_t kb)
{
	struct slu_predict_value r = { .state = SLU_PREDICT_SET };
	int64_t alo, ahi, blo, bhi;
	bool have_met;

	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_empty();
	if (a->state == SLU_PREDICT_WINDOW && b->state == SLU_PREDICT_SET && ka == 1)
		return window_sum(s, a, b, kb);
	if (b->state == SLU_PREDICT_WINDOW && a->state == SLU_PREDICT_SET && kb == 1)
		return window_sum(s, b, a, ka);
	if (a->state != SLU_PREDICT_SET || b->state != SLU_PREDICT_SET) {
		r = slu_predict_value_any(s);
		r.why = a->state == SLU_PREDICT_ANY ? a->why : b->why;
		return r;
	}
	r.is_loose = a->is_loose || b->is_loose;
	r.why = a->is_loose ? a->why : b->why;
	if (!scale(a->lo, a->hi, ka, &alo, &ahi) || !scale(b->lo, b->hi, kb, &blo, &bhi) ||
	    __builtin_add_overflow(alo, blo, &r.lo) || __builtin_add_overflow(ahi, bhi, &r.hi))
		return slu_predict_value_any(s);
	if (!sum_forms(a, ka, b, kb, &r, &have_met)) {
		/* sound: every integer of the interval instead of those that the form reaches */
		bool is_loose = r.is_loose;
		uint32_t why = r.why;

		r = slu_predict_value_span(s, r.lo, r.hi, 1);
		r.is_loose = is_loose;
		r.why = why;
		return r;
	}
	for (unsigned i = 0; i < SLU_PREDICT_MAX_TERMS && r.n_terms > 1 && take_remainder(s, &r);
	     i++)
		have_met = true;
	return have_met || !r.n_terms ? tighten(s, &r) : r;
}

/* All multiples of what both factors' members are multiples of. */
static int64_t common_factor(const struct slu_predict_value *v)
{
	return gcd(slu_predict_value_step(v), v->c);
}

struct slu_predict_value slu_predict_value_product(struct slu_predict_scope *s,
						   const struct slu_predict_value *a,
						   const struct slu_predict_value *b)
{
	static const struct slu_predict_value zero = { .state = SLU_PREDICT_SET };
	struct slu_predict_value r;
	int64_t lo, hi, x, y, g;

	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_empty();
	if (slu_predict_value_is_one(b))
		return slu_predict_value_sum(s, a, b->c, &zero, 0);
	if (slu_predict_value_is_one(a))
		return slu_predict_value_sum(s, b, a->c, &zero, 0);
	if (a->state == SLU_PREDICT_ANY || b->state == SLU_PREDICT_ANY) {
		r = slu_predict_value_any(s);
		r.why = a->state == SLU_PREDICT_ANY ? a->why : b->why;
		return r;
	}
	/* sound: a product of two intervals is between the products of their ends */
	if (!scale(a->lo, a->hi, b->lo, &lo, &hi) || !scale(a->lo, a->hi, b->hi, &x, &y))
		return slu_predict_value_any(s);
	lo = SLU_MIN(lo, x);
	hi = SLU_MAX(hi, y);
	if (__builtin_mul_overflow(common_factor(a), common_factor(b), &g) || g < 1)
		g = 1;
	r = lattice(s, lo, hi, 0, g);
	r.is_loose = a->is_loose || b->is_loose;
	r.why = a->is_loose ? a->why : b->why;
	return r;
}

static bool is_same(const struct slu_predict_value *a, const struct slu_predict_value *b)
{
	if (a->state != b->state || a->lo != b->lo || a->hi != b->hi || a->c != b->c ||
	    a->n_terms != b->n_terms)
		return false;
	for (unsigned i = 0; i < a->n_terms; i++)
		if (a->terms[i].coef != b->terms[i].coef || a->terms[i].dim != b->terms[i].dim)
			return false;
	return true;
}

/*
 * Sound: the interval of both, and a step that divides every distance between two members. The
 * result has a dim of its own, so that nothing is claimed about which of both it is.
 */
struct slu_predict_value slu_predict_value_join(struct slu_predict_scope *s,
						const struct slu_predict_value *a,
						const struct slu_predict_value *b)
{
	struct slu_predict_value r;
	int64_t g, lo, hi, distance;

	if (a->state == SLU_PREDICT_EMPTY || is_same(a, b))
		return *b;
	if (b->state == SLU_PREDICT_EMPTY || a->state == SLU_PREDICT_ANY)
		return *a;
	if (b->state == SLU_PREDICT_ANY)
		return *b;
	if (a->state != b->state)
		return slu_predict_value_any(s);
	if (a->state == SLU_PREDICT_WINDOW) {
		r = *a;
		r.lo = SLU_MIN(a->lo, b->lo);
		r.hi = SLU_MAX(a->hi, b->hi);
		return r;
	}
	lo = SLU_MIN(a->lo, b->lo);
	hi = SLU_MAX(a->hi, b->hi);
	g = gcd(slu_predict_value_step(a), slu_predict_value_step(b));
	if (__builtin_sub_overflow(a->c, b->c, &distance))
		g = 1;
	else
		g = gcd(g, distance);
	r = lattice(s, lo, hi, a->c, g);
	r.is_loose = a->is_loose || b->is_loose;
	r.why = a->is_loose ? a->why : b->why;
	return r;
}

/*
 * Sound: members outside of [lo, hi] do not occur. Where the form reaches everything between its
 * ends, or every step of a single term, the rest is such an interval too, with a dim of its own.
 */
struct slu_predict_value slu_predict_value_clip(struct slu_predict_scope *s,
						const struct slu_predict_value *v, int64_t lo,
						int64_t hi)
{
	struct slu_predict_value r = *v;

	if (v->state == SLU_PREDICT_EMPTY ||
	    (v->state == SLU_PREDICT_SET && lo <= v->lo && hi >= v->hi))
		return r;
	if (lo > hi)
		return slu_predict_value_empty();
	if (v->state == SLU_PREDICT_ANY) {
		r = slu_predict_value_span(s, lo, hi, 1);
		r.is_loose = true;
		r.why = v->why;
		return r;
	}
	r.lo = SLU_MAX(lo, v->lo);
	r.hi = SLU_MIN(hi, v->hi);
	if (r.lo > r.hi)
		return slu_predict_value_empty();
	if (v->n_terms == 1)
		r = lattice(s, r.lo, r.hi, v->c, slu_predict_value_step(v));
	else if (slu_predict_value_is_dense(s, v))
		r = slu_predict_value_span(s, r.lo, r.hi, 1);
	else
		return tighten(s, &r);
	r.is_loose = v->is_loose;
	r.why = v->why;
	return r;
}
