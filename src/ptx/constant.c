/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/util.h"
#include "ptx/constant.h"

#define MAX_DEPTH 64

/* How tightly an operator binds. */
enum level {
	LEVEL_CHOICE = 1,
	LEVEL_EITHER,
	LEVEL_BOTH,
	LEVEL_OR,
	LEVEL_XOR,
	LEVEL_AND,
	LEVEL_EQUAL,
	LEVEL_ORDER,
	LEVEL_SHIFT,
	LEVEL_SUM,
	LEVEL_PRODUCT,
};

struct operator
{
	const char *text;
	enum level level;
	bool is_for_floats;
};

/* those of two characters first */
static const struct operator operators[] = {
	{ "||", LEVEL_EITHER, false }, { "&&", LEVEL_BOTH, false },  { "==", LEVEL_EQUAL, true },
	{ "!=", LEVEL_EQUAL, true },   { "<=", LEVEL_ORDER, true },  { ">=", LEVEL_ORDER, true },
	{ "<<", LEVEL_SHIFT, false },  { ">>", LEVEL_SHIFT, false }, { "<", LEVEL_ORDER, true },
	{ ">", LEVEL_ORDER, true },    { "|", LEVEL_OR, false },     { "^", LEVEL_XOR, false },
	{ "&", LEVEL_AND, false },     { "+", LEVEL_SUM, true },     { "-", LEVEL_SUM, true },
	{ "*", LEVEL_PRODUCT, true },  { "/", LEVEL_PRODUCT, true }, { "%", LEVEL_PRODUCT, false },
};

struct reader {
	struct slu_ptx_parser *p;
	const char *expected;
	unsigned depth;
};

static int read_choice(struct reader *r, struct slu_ptx_constant *ret);
static int read_unary(struct reader *r, struct slu_ptx_constant *ret);

static bool is_warp_size(const struct slu_ptx_token *t)
{
	return *t->text == 'W' && slu_ptx_token_is(t, "WARP_SZ");
}

bool slu_ptx_at_constant(const struct slu_ptx_parser *p)
{
	const struct slu_ptx_token *t = &p->lexer.token;

	return t->kind != SLU_PTX_TOKEN_WORD || is_warp_size(t);
}

/* The operator at hand, or NULL. */
static const struct operator* find_operator(const struct slu_ptx_lexer *l)
{
	const char *text = l->token.text;

	if (l->token.size != 1 || !strchr("|&=!<>^+-*/%", *text))
		return NULL;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(operators); i++) {
		const struct operator* o = & operators[i];

		if (*o->text == *text && (!o->text[1] || (l->at < l->end && *l->at == o->text[1])))
			return o;
	}
	return NULL;
}

static int refuse_kind(struct reader *r, const struct slu_ptx_constant *c, const char *what)
{
	return slu_ptx_refuse(r->p, &c->token, "'%.*s' begins what %s", slu_ptx_shown(&c->token),
			      c->token.text, what);
}

static double float_of(const struct slu_ptx_constant *c)
{
	double value;

	memcpy(&value, &c->bits, sizeof(value));
	return value;
}

static void set_int(struct slu_ptx_constant *c, uint64_t bits, bool is_unsigned)
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

static void apply_float(const char *text, struct slu_ptx_constant *a, double y)
{
	double x = float_of(a);

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
		set_int(a, x != x || y != y ? *text == '!' : compare(text, (x > y) - (x < y)),
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

static void apply_int(const struct operator* o, struct slu_ptx_constant *a,
		      const struct slu_ptx_constant *b)
{
	bool is_unsigned = a->is_unsigned || b->is_unsigned;
	uint64_t x = a->bits, y = b->bits;
	int order = is_unsigned ? (x > y) - (x < y)
				: ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);

	switch (o->level) {
	case LEVEL_EITHER:
		set_int(a, x || y, false);
		break;
	case LEVEL_BOTH:
		set_int(a, x && y, false);
		break;
	case LEVEL_OR:
		set_int(a, x | y, is_unsigned);
		break;
	case LEVEL_XOR:
		set_int(a, x ^ y, is_unsigned);
		break;
	case LEVEL_AND:
		set_int(a, x & y, is_unsigned);
		break;
	case LEVEL_SHIFT:
		set_int(a, shift(o->text, a, y), a->is_unsigned);
		break;
	case LEVEL_SUM:
		set_int(a, *o->text == '+' ? x + y : x - y, is_unsigned);
		break;
	case LEVEL_PRODUCT:
		/* a remainder knows no signs */
		if (*o->text == '%')
			set_int(a, x % y, true);
		else
			set_int(a, *o->text == '*' ? x * y : divide(x, y, is_unsigned),
				is_unsigned);
		break;
	default:
		set_int(a, compare(o->text, order), false);
	}
}

static int apply(struct reader *r, const struct operator* o, const struct slu_ptx_token *at,
		 struct slu_ptx_constant *a, const struct slu_ptx_constant *b)
{
	if (a->kind == SLU_PTX_TOKEN_F32 || b->kind == SLU_PTX_TOKEN_F32)
		return refuse_kind(r, a->kind == SLU_PTX_TOKEN_F32 ? a : b,
				   "is no part of an expression");
	if (a->kind != b->kind)
		return slu_ptx_refuse(r->p, at, "'%s' between an integer and a float", o->text);
	if (a->kind == SLU_PTX_TOKEN_F64 && !o->is_for_floats)
		return slu_ptx_refuse(r->p, at, "'%s' between floats", o->text);
	if (a->kind == SLU_PTX_TOKEN_F64) {
		apply_float(o->text, a, float_of(b));
		return 0;
	}
	if ((*o->text == '/' || *o->text == '%') && !b->bits)
		return slu_ptx_refuse(r->p, at, "'%s' by zero", o->text);
	apply_int(o, a, b);
	return 0;
}

/* "(1 + 2)", "(.u64) 3"; the parenthesis is behind us */
static int read_parentheses(struct reader *r, struct slu_ptx_constant *ret)
{
	struct slu_ptx_parser *p = r->p;
	bool is_unsigned = slu_ptx_at_directive(p, "u64");
	int error;

	if (!is_unsigned && !slu_ptx_at_directive(p, "s64")) {
		error = read_choice(r, ret);
		return error ? error : slu_ptx_expect(p, ')');
	}
	slu_ptx_lexer_next(&p->lexer);
	error = slu_ptx_expect(p, ')');
	if (!error)
		error = read_unary(r, ret);
	if (error)
		return error;
	if (ret->kind != SLU_PTX_TOKEN_INT)
		return refuse_kind(r, ret, "is no integer");
	ret->is_unsigned = is_unsigned;
	return 0;
}

static int read_literal(struct reader *r, struct slu_ptx_constant *ret)
{
	struct slu_ptx_token t = r->p->lexer.token;

	if (t.kind == SLU_PTX_TOKEN_INT || t.kind == SLU_PTX_TOKEN_F32 ||
	    t.kind == SLU_PTX_TOKEN_F64) {
		ret->kind = t.kind;
		ret->bits = t.value;
		ret->is_unsigned = t.kind == SLU_PTX_TOKEN_INT &&
				   (t.value > INT64_MAX || t.text[t.size - 1] == 'U');
	} else if (t.kind == SLU_PTX_TOKEN_WORD && is_warp_size(&t)) {
		set_int(ret, 32, false);
	} else {
		return slu_ptx_refuse_token(r->p, r->expected);
	}
	slu_ptx_lexer_next(&r->p->lexer);
	return 0;
}

static int read_sign(struct reader *r, char sign, struct slu_ptx_constant *ret)
{
	int error;

	slu_ptx_lexer_next(&r->p->lexer);
	error = read_unary(r, ret);
	if (error)
		return error;
	if ((sign == '!' || sign == '~') && ret->kind != SLU_PTX_TOKEN_INT)
		return refuse_kind(r, ret, "is no integer");
	switch (sign) {
	case '!':
		set_int(ret, !ret->bits, false);
		break;
	case '~':
		set_int(ret, ~ret->bits, true);
		break;
	case '-':
		if (ret->kind == SLU_PTX_TOKEN_INT)
			ret->bits = 0 - ret->bits;
		else
			ret->bits ^= UINT64_C(1) << (ret->kind == SLU_PTX_TOKEN_F32 ? 31 : 63);
		break;
	}
	return 0;
}

static int read_unary(struct reader *r, struct slu_ptx_constant *ret)
{
	struct slu_ptx_token t = r->p->lexer.token;
	int error;

	if (t.kind != SLU_PTX_TOKEN_CHAR || !strchr("(+-!~", *t.text)) {
		error = read_literal(r, ret);
	} else {
		if (++r->depth > MAX_DEPTH)
			return slu_ptx_refuse(r->p, &t, "the expression is nested too deep");
		if (slu_ptx_accept(r->p, '('))
			error = read_parentheses(r, ret);
		else
			error = read_sign(r, *t.text, ret);
		r->depth--;
	}
	ret->token = t;
	return error;
}

/* Operators that bind at least as tightly as @level. */
static int read_binary(struct reader *r, enum level level, struct slu_ptx_constant *ret)
{
	const struct operator* o;
	int error;

	error = read_unary(r, ret);
	while (!error && (o = find_operator(&r->p->lexer)) && o->level >= level) {
		struct slu_ptx_token at = r->p->lexer.token;
		struct slu_ptx_constant second;

		for (const char *c = o->text; *c; c++)
			slu_ptx_lexer_next(&r->p->lexer);
		error = read_binary(r, o->level + 1, &second);
		if (!error)
			error = apply(r, o, &at, ret, &second);
	}
	return error;
}

static int read_choice(struct reader *r, struct slu_ptx_constant *ret)
{
	struct slu_ptx_constant yes, no;
	struct slu_ptx_token at;
	int error;

	error = read_binary(r, LEVEL_EITHER, ret);
	at = r->p->lexer.token;
	if (error || !slu_ptx_accept(r->p, '?'))
		return error;
	if (++r->depth > MAX_DEPTH)
		return slu_ptx_refuse(r->p, &at, "the expression is nested too deep");
	if (ret->kind != SLU_PTX_TOKEN_INT)
		return refuse_kind(r, ret, "is no integer");
	error = read_choice(r, &yes);
	if (!error)
		error = slu_ptx_expect(r->p, ':');
	if (!error)
		error = read_choice(r, &no);
	if (error)
		return error;
	r->depth--;
	if (yes.kind == SLU_PTX_TOKEN_F32 || no.kind == SLU_PTX_TOKEN_F32)
		return refuse_kind(r, yes.kind == SLU_PTX_TOKEN_F32 ? &yes : &no,
				   "is no part of an expression");
	if (yes.kind != no.kind)
		return slu_ptx_refuse(r->p, &at, "'?' between an integer and a float");
	yes.is_unsigned = no.is_unsigned = yes.is_unsigned || no.is_unsigned;
	yes.token = no.token = ret->token;
	*ret = ret->bits ? yes : no;
	return 0;
}

int slu_ptx_parse_constant(struct slu_ptx_parser *p, const char *expected,
			   struct slu_ptx_constant *ret_constant)
{
	struct reader r = { .p = p, .expected = expected };

	return read_choice(&r, ret_constant);
}

int slu_ptx_parse_count(struct slu_ptx_parser *p, const char *expected, uint64_t max,
			uint64_t *ret_count)
{
	struct reader r = { .p = p, .expected = expected };
	struct slu_ptx_constant c;
	int error;

	error = read_binary(&r, LEVEL_SHIFT, &c);
	if (error)
		return error;
	if (c.kind != SLU_PTX_TOKEN_INT || c.bits > max)
		return slu_ptx_refuse(p, &c.token, "'%.*s' where %s is wanted",
				      slu_ptx_shown(&c.token), c.token.text, expected);
	*ret_count = c.bits;
	return 0;
}

bool slu_ptx_at_offset(const struct slu_ptx_parser *p)
{
	return slu_ptx_lexer_is(&p->lexer, '+') || slu_ptx_lexer_is(&p->lexer, '-');
}

int slu_ptx_parse_offset(struct slu_ptx_parser *p, int64_t *offset)
{
	struct reader r = { .p = p, .expected = "an offset" };
	struct slu_ptx_constant c;
	int error;

	while (slu_ptx_at_offset(p)) {
		bool is_minus = slu_ptx_lexer_is(&p->lexer, '-');

		slu_ptx_lexer_next(&p->lexer);
		error = read_binary(&r, LEVEL_PRODUCT, &c);
		if (error)
			return error;
		if (c.kind != SLU_PTX_TOKEN_INT)
			return refuse_kind(&r, &c, "is no integer");
		*offset = (int64_t)((uint64_t)*offset + (is_minus ? 0 - c.bits : c.bits));
	}
	return 0;
}
