/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/operator.h"

static double float_of(const struct slu_ptx_constant *c)
{
	double value;

	memcpy(&value, &c->bits, sizeof(value));
	return value;
}

void slu_ptx_constant_set(struct slu_ptx_constant *c, uint64_t bits, bool is_unsigned)
{
	c->kind = SLU_PTX_TOKEN_INT;
	c->bits = bits;
	c->is_unsigned = is_unsigned;
}

static bool compare(const char *text, int order)
{
	switch (*text) {
	case '=':
		return order == 0;
	case '!':
		return order != 0;
	case '<':
		return text[1] ? order <= 0 : order < 0;
	default:
		return text[1] ? order >= 0 : order > 0;
	}
}

void slu_ptx_apply_float(const struct slu_ptx_operator *o, struct slu_ptx_constant *a,
			 const struct slu_ptx_constant *b)
{
	double x = float_of(a), y = float_of(b);
	const char *text = o->text;

	switch (*text) {
	case '+':
		x += y;
		break;
	case '-':
		x -= y;
		break;
	case '*':
		x *= y;
		break;
	case '/':
		x /= y;
		break;
	default:
		/* nothing is less than, equal to or greater than a NaN */
		slu_ptx_constant_set(
			a, x != x || y != y ? *text == '!' : compare(text, (x > y) - (x < y)),
			false);
		return;
	}
	memcpy(&a->bits, &x, sizeof(x));
}

static uint64_t shift(const char *text, const struct slu_ptx_constant *a, uint64_t by)
{
	bool is_minus = !a->is_unsigned && (int64_t)a->bits < 0;

	if (*text == '<')
		return by < 64 ? a->bits << by : 0;
	if (by >= 64)
		return is_minus ? UINT64_MAX : 0;
	return is_minus ? ~(~a->bits >> by) : a->bits >> by;
}

static uint64_t divide(uint64_t x, uint64_t y, bool is_unsigned)
{
	uint64_t quotient;

	if (is_unsigned)
		return x / y;
	quotient = ((int64_t)x < 0 ? 0 - x : x) / ((int64_t)y < 0 ? 0 - y : y);
	return (int64_t)(x ^ y) < 0 ? 0 - quotient : quotient;
}

void slu_ptx_apply_int(const struct slu_ptx_operator *o, struct slu_ptx_constant *a,
		       const struct slu_ptx_constant *b)
{
	bool is_unsigned = a->is_unsigned || b->is_unsigned;
	uint64_t x = a->bits, y = b->bits;
	int order = is_unsigned ? (x > y) - (x < y)
				: ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);

	switch (o->level) {
	case SLU_PTX_LEVEL_EITHER:
		slu_ptx_constant_set(a, x || y, false);
		break;
	case SLU_PTX_LEVEL_BOTH:
		slu_ptx_constant_set(a, x && y, false);
		break;
	case SLU_PTX_LEVEL_OR:
		slu_ptx_constant_set(a, x | y, is_unsigned);
		break;
	case SLU_PTX_LEVEL_XOR:
		slu_ptx_constant_set(a, x ^ y, is_unsigned);
		break;
	case SLU_PTX_LEVEL_AND:
		slu_ptx_constant_set(a, x & y, is_unsigned);
		break;
	case SLU_PTX_LEVEL_SHIFT:
		slu_ptx_constant_set(a, shift(o->text, a, y), a->is_unsigned);
		break;
	case SLU_PTX_LEVEL_SUM:
		slu_ptx_constant_set(a, *o->text == '+' ? x + y : x - y, is_unsigned);
		break;
	case SLU_PTX_LEVEL_PRODUCT:
		/* a remainder knows no signs */
		if (*o->text == '%')
			slu_ptx_constant_set(a, x % y, true);
		else
			slu_ptx_constant_set(a, *o->text == '*' ? x * y : divide(x, y, is_unsigned),
					     is_unsigned);
		break;
	default:
		slu_ptx_constant_set(a, compare(o->text, order), false);
	}
}
