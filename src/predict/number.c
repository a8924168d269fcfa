/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sound: each rule computes what the op does to integers, or has no answer. As with sets, a
 * register holds the result modulo 2^width, and only those ops whose operands are normalised look
 * at the numbers themselves.
 */

#include "predict/number.h"

#include "base/util.h"

/* The number of @type that is @x modulo 2^bits. Return: false if it is no int64_t. */
static bool norm(int64_t x, struct slu_predict_type type, int64_t *ret)
{
	unsigned rest = (64u - type.bits) & 63;

	if (type.bits >= 64) {
		*ret = x;
		return type.is_signed || x >= 0;
	}
	*ret = type.is_signed ? (int64_t)((uint64_t)x << rest) >> rest
			      : (int64_t)((uint64_t)x << rest >> rest);
	return true;
}

static bool holds(int64_t x, enum slu_predict_relation relation, int64_t y)
{
	switch (relation) {
	case SLU_PREDICT_EQ:
		return x == y;
	case SLU_PREDICT_NE:
		return x != y;
	case SLU_PREDICT_LT:
		return x < y;
	case SLU_PREDICT_LE:
		return x <= y;
	case SLU_PREDICT_GT:
		return x > y;
	case SLU_PREDICT_GE:
		return x >= y;
	}
	return false;
}

bool slu_predict_number_op(const struct slu_predict_op *op, int64_t a, int64_t b,
			   int64_t *ret_number)
{
	int64_t x, y;

	switch ((enum slu_predict_code)op->code) {
	case SLU_PREDICT_CODE_ADD:
		return !__builtin_add_overflow(a, b, ret_number);
	case SLU_PREDICT_CODE_SUB:
		return !__builtin_sub_overflow(a, b, ret_number);
	case SLU_PREDICT_CODE_MUL:
		return !__builtin_mul_overflow(a, b, ret_number);
	case SLU_PREDICT_CODE_SHL:
		return b >= 0 && b < op->type.bits && b < 63 &&
		       !__builtin_mul_overflow(a, INT64_C(1) << b, ret_number);
	case SLU_PREDICT_CODE_SHR:
		*ret_number = a >> (b & 63);
		return b >= 0 && b < op->type.bits;
	case SLU_PREDICT_CODE_DIV:
		if (a < 0 || b < 1)
			return false;
		*ret_number = a / b;
		return true;
	case SLU_PREDICT_CODE_REM:
		if (a < 0 || b < 1)
			return false;
		*ret_number = a % b;
		return true;
	case SLU_PREDICT_CODE_MIN:
		*ret_number = SLU_MIN(a, b);
		return true;
	case SLU_PREDICT_CODE_MAX:
		*ret_number = SLU_MAX(a, b);
		return true;
	case SLU_PREDICT_CODE_NORM:
		return norm(a, op->type, ret_number);
	case SLU_PREDICT_CODE_RATIO:
		if (!b || a == INT64_MIN || a % b)
			return false;
		*ret_number = a / b;
		return true;
	case SLU_PREDICT_CODE_KEEP:
	case SLU_PREDICT_CODE_REFINE:
		if (!norm(a, op->type, &x) || !norm(b, op->type, &y) ||
		    !holds(x, (enum slu_predict_relation)op->relation, y))
			return false;
		*ret_number = x;
		/* another number than @a is not what KEEP may answer */
		return op->code == SLU_PREDICT_CODE_REFINE || x == a;
	default:
		return false;
	}
}
