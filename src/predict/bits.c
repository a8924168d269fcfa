/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/bits.h"

#include "base/util.h"
#include "predict/divide.h"
#include "predict/sum.h"

static bool is_power(uint64_t x)
{
	return x && !(x & (x - 1));
}

/* The lowest 2^n - 1 that is not less than @x. */
static int64_t fill(int64_t x)
{
	return x ? (int64_t)(UINT64_MAX >> __builtin_clzll((uint64_t)x)) : 0;
}

static uint64_t mask_of(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* A number's bits, with the sign that they have in a register. */
static int64_t as_signed(uint64_t x, unsigned bits)
{
	return bits >= 64 ? (int64_t)x : (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static bool is_empty(const struct slu_predict_value *a, const struct slu_predict_value *b)
{
	return a->state == SLU_PREDICT_EMPTY || b->state == SLU_PREDICT_EMPTY;
}

static struct slu_predict_value unsigned_of(struct slu_predict_scope *s,
					    const struct slu_predict_value *v, unsigned bits)
{
	struct slu_predict_value space;

	return *slu_predict_value_norm(s, v, (struct slu_predict_type){ (uint8_t)bits, false },
				       &space);
}

/*
 * Sound: the low n bits of a number are what remains modulo 2^n, and clearing them rounds down to a
 * multiple of 2^n; neither depends on which of the numbers modulo 2^bits is looked at. Any other
 * mask only clears bits.
 */
static struct slu_predict_value mask(struct slu_predict_scope *s, const struct slu_predict_value *a,
				     uint64_t m, unsigned bits)
{
	uint64_t rounding = ~m & mask_of(bits);
	struct slu_predict_value u, space;
	int64_t d;

	if (!m)
		return slu_predict_value_one(0);
	if (m == mask_of(bits))
		return *a;
	if (is_power(m + 1) && m < INT64_MAX)
		return slu_predict_divide_modulo(s, a, (int64_t)m + 1);
	if (is_power(rounding + 1) && rounding < INT64_MAX && a->state == SLU_PREDICT_SET) {
		d = (int64_t)rounding + 1;
		u = slu_predict_divide_floor(s, a, d);
		/* the op's value is not the quotient, so that no remainder follows from it */
		s->dims[2 * s->op].divisor = 0;
		return *slu_predict_sum_multiply(s, &u, d, &space);
	}
	u = unsigned_of(s, a, bits);
	if (m > INT64_MAX)
		return u.state == SLU_PREDICT_SET ? slu_predict_value_span(s, 0, u.hi, 1)
						  : slu_predict_value_any(s);
	return slu_predict_value_span(
		s, 0, u.state == SLU_PREDICT_SET ? SLU_MIN((int64_t)m, u.hi) : (int64_t)m, 1);
}

struct slu_predict_value slu_predict_bits_and(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, unsigned bits)
{
	struct slu_predict_value x, y;

	if (is_empty(a, b))
		return slu_predict_value_empty();
	if (slu_predict_value_is_one(a) && slu_predict_value_is_one(b))
		return slu_predict_value_one(as_signed((uint64_t)a->c & (uint64_t)b->c, bits));
	if (slu_predict_value_is_one(b))
		return mask(s, a, (uint64_t)b->c & mask_of(bits), bits);
	if (slu_predict_value_is_one(a))
		return mask(s, b, (uint64_t)a->c & mask_of(bits), bits);
	/* sound: it has no bit that both do not have */
	x = unsigned_of(s, a, bits);
	y = unsigned_of(s, b, bits);
	if (x.state != SLU_PREDICT_SET && y.state != SLU_PREDICT_SET)
		return slu_predict_value_any(s);
	return slu_predict_value_span(s, 0,
				      x.state != SLU_PREDICT_SET   ? y.hi
				      : y.state != SLU_PREDICT_SET ? x.hi
								   : SLU_MIN(x.hi, y.hi),
				      1);
}

/* Has no member of @a a bit below the highest that a member of @b can have? */
static bool is_above(const struct slu_predict_value *a, const struct slu_predict_value *b)
{
	uint64_t low = (uint64_t)a->c;

	if (a->state != SLU_PREDICT_SET || b->state != SLU_PREDICT_SET || b->lo < 0)
		return false;
	for (unsigned i = 0; i < a->n_terms; i++)
		low |= (uint64_t)a->terms[i].coef;
	return !(low & (uint64_t)fill(b->hi));
}

/* Sound: without a bit in common both operations are a sum. */
static bool is_sum(const struct slu_predict_value *a, const struct slu_predict_value *b)
{
	return is_above(a, b) || is_above(b, a);
}

/* Sound: no bit above the highest of both can be set. */
static struct slu_predict_value below_fill(struct slu_predict_scope *s,
					   const struct slu_predict_value *a,
					   const struct slu_predict_value *b, unsigned bits,
					   bool is_or)
{
	struct slu_predict_value x = unsigned_of(s, a, bits), y = unsigned_of(s, b, bits), r;

	if (x.state != SLU_PREDICT_SET || y.state != SLU_PREDICT_SET) {
		r = slu_predict_value_any(s);
		r.why = x.state != SLU_PREDICT_SET ? x.why : y.why;
		return r;
	}
	r = slu_predict_value_span(s, is_or ? SLU_MAX(x.lo, y.lo) : 0, fill(SLU_MAX(x.hi, y.hi)),
				   1);
	r.is_loose = x.is_loose || y.is_loose;
	r.why = x.is_loose ? x.why : y.why;
	return r;
}

struct slu_predict_value slu_predict_bits_or(struct slu_predict_scope *s,
					     const struct slu_predict_value *a,
					     const struct slu_predict_value *b, unsigned bits)
{
	struct slu_predict_value space;

	if (is_empty(a, b))
		return slu_predict_value_empty();
	if (slu_predict_value_is_one(a) && slu_predict_value_is_one(b))
		return slu_predict_value_one(as_signed((uint64_t)a->c | (uint64_t)b->c, bits));
	if (is_sum(a, b))
		return *slu_predict_sum_add(s, a, b, &space);
	return below_fill(s, a, b, bits, true);
}

struct slu_predict_value slu_predict_bits_xor(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, unsigned bits)
{
	struct slu_predict_value ones = slu_predict_value_one(-1), space;

	if (is_empty(a, b))
		return slu_predict_value_empty();
	if (slu_predict_value_is_one(a) && slu_predict_value_is_one(b))
		return slu_predict_value_one(as_signed((uint64_t)a->c ^ (uint64_t)b->c, bits));
	/* sound: to turn all bits is -1 - a, whatever the width */
	if (slu_predict_value_is_one(b) && as_signed((uint64_t)b->c, bits) == -1)
		return *slu_predict_sum_sub(s, &ones, a, &space);
	if (is_sum(a, b))
		return *slu_predict_sum_add(s, a, b, &space);
	return below_fill(s, a, b, bits, false);
}

const struct slu_predict_value *slu_predict_bits_shl(struct slu_predict_scope *s,
						     const struct slu_predict_value *a,
						     const struct slu_predict_value *b,
						     unsigned bits, struct slu_predict_value *space)
{
	struct slu_predict_value n, factor;

	if (slu_predict_value_is_one(b) && b->lo >= 0 && b->lo < bits && b->lo < 63)
		return slu_predict_sum_multiply(s, a, INT64_C(1) << b->lo, space);
	n = unsigned_of(s, b, 32);
	if (is_empty(a, b)) {
		*space = slu_predict_value_empty();
	} else if (n.state != SLU_PREDICT_SET || n.hi >= bits || n.hi >= 63) {
		*space = n.state == SLU_PREDICT_SET && n.lo >= bits ? slu_predict_value_one(0)
								    : slu_predict_value_any(s);
	} else {
		factor = slu_predict_value_span(s, INT64_C(1) << n.lo, INT64_C(1) << n.hi,
						INT64_C(1) << n.lo);
		return slu_predict_sum_product(s, a, &factor, space);
	}
	return space;
}

/* Sound: it rounds down, rises with a number, and its size falls with the shift. */
struct slu_predict_value slu_predict_bits_shr(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, unsigned bits)
{
	struct slu_predict_value n, r;
	int64_t least, most;

	if (is_empty(a, b))
		return slu_predict_value_empty();
	if (a->state != SLU_PREDICT_SET) {
		r = slu_predict_value_any(s);
		r.why = a->why;
		return r;
	}
	n = unsigned_of(s, b, 32);
	least = n.state == SLU_PREDICT_SET ? SLU_MIN(n.lo, (int64_t)bits) : 0;
	most = n.state == SLU_PREDICT_SET ? SLU_MIN(n.hi, (int64_t)bits) : (int64_t)bits;
	if (least == most && most < 62)
		return slu_predict_divide_floor(s, a, INT64_C(1) << most);
	least = SLU_MIN(least, INT64_C(63));
	most = SLU_MIN(most, INT64_C(63));
	r = slu_predict_value_span(s, a->lo >> (a->lo < 0 ? least : most),
				   a->hi >> (a->hi < 0 ? most : least), 1);
	r.is_loose = a->is_loose;
	r.why = a->why;
	return r;
}
