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

/* Sound: nothing else fits. Of 64 bits without a sign the upper half is no int64_t: unknown. */
struct slu_predict_value slu_predict_value_full(struct slu_predict_scope *s,
						struct slu_predict_type type)
{
	struct slu_predict_value v;
	int64_t lo, hi;

	if (type.bits >= 64)
		return slu_predict_value_any(s);
	slu_predict_type_range(type, &lo, &hi);
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

static int64_t floor_shift(int64_t x, unsigned bits)
{
	return x >> bits;
}

/*
 * Sound: a register holds the member modulo 2^bits. If all members lie between the same two
 * multiples of 2^bits, counted from the type's lowest number, the same multiple is taken from all
 * of them. Otherwise some thread may wrap around, and anything that the type can hold is possible.
 */
const struct slu_predict_value *slu_predict_value_norm(struct slu_predict_scope *s,
						       const struct slu_predict_value *v,
						       struct slu_predict_type type,
						       struct slu_predict_value *space)
{
	int64_t lo, hi, turns, below, above, shift, c;

	if (v->state == SLU_PREDICT_EMPTY || slu_predict_value_fits(v, type))
		return v;
	if (v->state == SLU_PREDICT_ANY || type.bits >= 64) {
		*space = slu_predict_value_full(s, type);
		if (v->state == SLU_PREDICT_ANY)
			space->why = v->why;
		return space;
	}
	slu_predict_type_range(type, &lo, &hi);
	if (__builtin_sub_overflow(v->lo, lo, &below) ||
	    __builtin_sub_overflow(v->hi, lo, &above)) {
		*space = slu_predict_value_full(s, type);
		return space;
	}
	turns = floor_shift(below, type.bits);
	if (turns != floor_shift(above, type.bits) ||
	    __builtin_mul_overflow(turns, INT64_C(1) << type.bits, &shift) ||
	    __builtin_sub_overflow(v->c, shift, &c)) {
		*space = slu_predict_value_full(s, type);
		return space;
	}
	*space = *v;
	space->c = c;
	space->lo -= shift;
	space->hi -= shift;
	return space;
}

bool slu_predict_value_scale(int64_t lo, int64_t hi, int64_t k, int64_t *ret_lo, int64_t *ret_hi)
{
	int64_t x, y;

	if (__builtin_mul_overflow(lo, k, &x) || __builtin_mul_overflow(hi, k, &y))
		return false;
	*ret_lo = SLU_MIN(x, y);
	*ret_hi = SLU_MAX(x, y);
	return true;
}

void slu_predict_value_tighten(const struct slu_predict_scope *s, struct slu_predict_value *v)
{
	int64_t lo, hi;

	if (slu_predict_value_reach(s, v, &lo, &hi)) {
		v->lo = SLU_MAX(v->lo, lo);
		v->hi = SLU_MIN(v->hi, hi);
	}
	if (v->lo > v->hi) {
		*v = slu_predict_value_empty();
	} else if (v->lo == v->hi) {
		v->c = v->lo;
		v->n_terms = 0;
	}
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
	struct slu_predict_value r;
	int64_t lo, hi, x, y, g;

	if (a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY)
		return slu_predict_value_empty();
	if (a->state == SLU_PREDICT_ANY || b->state == SLU_PREDICT_ANY) {
		r = slu_predict_value_any(s);
		r.why = a->state == SLU_PREDICT_ANY ? a->why : b->why;
		return r;
	}
	/* sound: a product of two intervals is between the products of their ends */
	if (!slu_predict_value_scale(a->lo, a->hi, b->lo, &lo, &hi) ||
	    !slu_predict_value_scale(a->lo, a->hi, b->hi, &x, &y))
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
const struct slu_predict_value *slu_predict_value_clip(struct slu_predict_scope *s,
						       const struct slu_predict_value *v,
						       int64_t lo, int64_t hi,
						       struct slu_predict_value *space)
{
	struct slu_predict_value *r = space;

	if (v->state == SLU_PREDICT_EMPTY ||
	    (v->state == SLU_PREDICT_SET && lo <= v->lo && hi >= v->hi))
		return v;
	if (v->state == SLU_PREDICT_SET) {
		lo = SLU_MAX(lo, v->lo);
		hi = SLU_MIN(hi, v->hi);
	}
	if (lo > hi) {
		*r = slu_predict_value_empty();
	} else if (v->state == SLU_PREDICT_ANY) {
		*r = slu_predict_value_span(s, lo, hi, 1);
		r->is_loose = true;
		r->why = v->why;
	} else if (v->n_terms == 1 || slu_predict_value_is_dense(s, v)) {
		*r = v->n_terms == 1 ? lattice(s, lo, hi, v->c, slu_predict_value_step(v))
				     : slu_predict_value_span(s, lo, hi, 1);
		r->is_loose = v->is_loose;
		r->why = v->why;
	} else {
		*r = *v;
		r->lo = lo;
		r->hi = hi;
		slu_predict_value_tighten(s, r);
	}
	return r;
}
