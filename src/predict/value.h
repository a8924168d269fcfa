/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a launch can know of an integer in a register: a set that contains the value of every
 * thread, every time the value is computed.
 *
 *   { c + coef[0] * x[0] + coef[1] * x[1] + … } and in [lo, hi]     0 <= x[i] <= last of its dim
 *
 * Everything that does not depend on the thread is one number, because arguments and sizes are
 * known at a launch. A dim is something that varies: an index of a thread or block, the number of
 * a loop's turn, or a part of a value that we cannot follow further. The same dim in two values
 * means the same x at the same time, so that sums of both are as precise as they can be.
 *
 * A set is of mathematical integers. A register of w bits holds a member modulo 2^w, so that sums
 * and products need no care: they commute with the modulus. Whoever needs the number itself
 * (comparisons, divisions, wider registers) asks for it with slu_predict_value_norm(), which finds
 * out whether the set may wrap around.
 *
 * Sound means here: if the operands' sets contain the operands, the result's set contains the
 * result. Each function says why this holds where that is not plain.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More terms than this become one interval. */
#define SLU_PREDICT_MAX_TERMS 6

enum slu_predict_state {
	SLU_PREDICT_EMPTY, /* no thread computes this */
	SLU_PREDICT_ANY,   /* nothing is known; @why tells which op gave up */
	/* an address in a window: of shared, local or parameter memory. [lo, hi] is how far from a
	 * place inside of it */
	SLU_PREDICT_WINDOW,
	SLU_PREDICT_SET,
};

/* A window has at least this many bytes of nothing else on both sides. */
#define SLU_PREDICT_WINDOW_BYTES (INT64_C(1) << 24)

enum slu_predict_relation {
	SLU_PREDICT_EQ,
	SLU_PREDICT_NE,
	SLU_PREDICT_LT,
	SLU_PREDICT_LE,
	SLU_PREDICT_GT,
	SLU_PREDICT_GE,
};

struct slu_predict_term {
	int64_t coef;
	uint32_t dim;
};

struct slu_predict_value {
	uint8_t state;
	uint8_t n_terms;
	/* an end of the interval is the type's, not the program's: wrap-around, or unknown bits */
	bool is_loose;
	uint32_t why; /* ANY, and loose sets */
	int64_t lo, hi;
	int64_t c;
	struct slu_predict_term terms[SLU_PREDICT_MAX_TERMS]; /* by rising dim; coef is not 0 */
};

/* Op n owns the dims 2n and 2n+1; @last is what its values say it is. */
struct slu_predict_dim {
	uint64_t last;
	/* not 0: this is the part of a quotient by @divisor that the op could not take apart;
	 * 2n+1 is its remainder */
	int64_t divisor;
	uint32_t rest; /* of a quotient: a dim of what it could not take apart */
};

/* A type's bits and how they are read. */
struct slu_predict_type {
	uint8_t bits; /* 8, 16, 32, 64 */
	bool is_signed;
};

/*
 * One evaluation: @values and @dims of all ops before @op are filled in. Where an op changes
 * nothing, its value is its operand's.
 */
struct slu_predict_scope {
	const struct slu_predict_op *ops;
	const struct slu_predict_value **values;
	struct slu_predict_dim *dims;
	uint32_t op;
	bool has_quotient; /* a dim has a divisor */
};

static inline bool slu_predict_value_is_one(const struct slu_predict_value *v)
{
	return v->state == SLU_PREDICT_SET && v->lo == v->hi;
}

/* What a type can hold, as far as it is an int64_t. */
static inline void slu_predict_type_range(struct slu_predict_type type, int64_t *ret_lo,
					  int64_t *ret_hi)
{
	unsigned rest = (64u - type.bits) & 63;

	*ret_lo = type.is_signed ? INT64_MIN >> rest : 0;
	*ret_hi = type.is_signed || !rest ? INT64_MAX >> rest : (int64_t)(UINT64_MAX >> rest);
}

/* Is every member a number of @type? */
static inline bool slu_predict_value_fits(const struct slu_predict_value *v,
					  struct slu_predict_type type)
{
	int64_t lo, hi;

	slu_predict_type_range(type, &lo, &hi);
	return v->state == SLU_PREDICT_SET && v->lo >= lo && v->hi <= hi;
}

/* One number, without a word on terms that nobody reads. */
static inline void slu_predict_value_set(struct slu_predict_value *v, int64_t c)
{
	v->state = SLU_PREDICT_SET;
	v->n_terms = 0;
	v->is_loose = false;
	v->why = 0;
	v->lo = v->hi = v->c = c;
}

struct slu_predict_value slu_predict_value_one(int64_t c);
struct slu_predict_value slu_predict_value_any(const struct slu_predict_scope *s);
struct slu_predict_value slu_predict_value_empty(void);
/* lo, lo + step, … up to @hi, of a dim of its own */
struct slu_predict_value slu_predict_value_span(struct slu_predict_scope *s, int64_t lo, int64_t hi,
						int64_t step);
/* Everything that a type can hold. */
struct slu_predict_value slu_predict_value_full(struct slu_predict_scope *s,
						struct slu_predict_type type);

/* Lowest and highest sum of a form without its interval. Return: false if it exceeds 64 bits. */
bool slu_predict_value_reach(const struct slu_predict_scope *s, const struct slu_predict_value *v,
			     int64_t *ret_lo, int64_t *ret_hi);
/* The greatest step of which all members are the same multiple apart; 0 for one number. */
int64_t slu_predict_value_step(const struct slu_predict_value *v);
/* Does the form reach every integer of its interval? */
bool slu_predict_value_is_dense(const struct slu_predict_scope *s,
				const struct slu_predict_value *v);

/* Leaves the interval that both the form and @v's own bounds allow. */
void slu_predict_value_tighten(const struct slu_predict_scope *s, struct slu_predict_value *v);
/* [lo, hi] * k. Return: false if it exceeds 64 bits. */
bool slu_predict_value_scale(int64_t lo, int64_t hi, int64_t k, int64_t *ret_lo, int64_t *ret_hi);

/*
 * The numbers that a register of @type holds: the same modulo 2^bits, inside the type's range.
 * Return: @v itself if it is that already, else @space, which is not @v.
 */
const struct slu_predict_value *slu_predict_value_norm(struct slu_predict_scope *s,
						       const struct slu_predict_value *v,
						       struct slu_predict_type type,
						       struct slu_predict_value *space);

/* The product of two sets, neither of which is one number (sum.h has those). */
struct slu_predict_value slu_predict_value_product(struct slu_predict_scope *s,
						   const struct slu_predict_value *a,
						   const struct slu_predict_value *b);
/* one or the other */
struct slu_predict_value slu_predict_value_join(struct slu_predict_scope *s,
						const struct slu_predict_value *a,
						const struct slu_predict_value *b);
/* Those of @v that lie in [lo, hi]. Return: as slu_predict_value_norm(). */
const struct slu_predict_value *slu_predict_value_clip(struct slu_predict_scope *s,
						       const struct slu_predict_value *v,
						       int64_t lo, int64_t hi,
						       struct slu_predict_value *space);
