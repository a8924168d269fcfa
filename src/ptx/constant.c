/* SPDX-License-Identifier: Apache-2.0 */
/* Constants, read by how tightly their operators bind; operator.c says what these do. */
#include <string.h>

#include "base/util.h"
#include "ptx/operator.h"

#define MAX_DEPTH 64

/* those of two characters first */
static const struct slu_ptx_operator operators[] = {
	{ "||", SLU_PTX_LEVEL_EITHER, false }, { "&&", SLU_PTX_LEVEL_BOTH, false },
	{ "==", SLU_PTX_LEVEL_EQUAL, true },   { "!=", SLU_PTX_LEVEL_EQUAL, true },
	{ "<=", SLU_PTX_LEVEL_ORDER, true },   { ">=", SLU_PTX_LEVEL_ORDER, true },
	{ "<<", SLU_PTX_LEVEL_SHIFT, false },  { ">>", SLU_PTX_LEVEL_SHIFT, false },
	{ "<", SLU_PTX_LEVEL_ORDER, true },    { ">", SLU_PTX_LEVEL_ORDER, true },
	{ "|", SLU_PTX_LEVEL_OR, false },      { "^", SLU_PTX_LEVEL_XOR, false },
	{ "&", SLU_PTX_LEVEL_AND, false },     { "+", SLU_PTX_LEVEL_SUM, true },
	{ "-", SLU_PTX_LEVEL_SUM, true },      { "*", SLU_PTX_LEVEL_PRODUCT, true },
	{ "/", SLU_PTX_LEVEL_PRODUCT, true },  { "%", SLU_PTX_LEVEL_PRODUCT, false },
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

bool slu_ptx_may_be_constant(const struct slu_ptx_token *t)
{
	return t->kind != SLU_PTX_TOKEN_WORD || is_warp_size(t);
}

/* The operator at hand, or NULL. */
static const struct slu_ptx_operator *find_operator(const struct slu_ptx_lexer *l)
{
	const char *text = l->token.text;

	if (l->token.size != 1 || !strchr("|&=!<>^+-*/%", *text))
		return NULL;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(operators); i++) {
		const struct slu_ptx_operator *o = &operators[i];

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

static int apply(struct reader *r, const struct slu_ptx_operator *o, const struct slu_ptx_token *at,
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
		slu_ptx_apply_float(o, a, b);
		return 0;
	}
	if ((*o->text == '/' || *o->text == '%') && !b->bits)
		return slu_ptx_refuse(r->p, at, "'%s' by zero", o->text);
	slu_ptx_apply_int(o, a, b);
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
		slu_ptx_constant_set(ret, 32, false);
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
		slu_ptx_constant_set(ret, !ret->bits, false);
		break;
	case '~':
		slu_ptx_constant_set(ret, ~ret->bits, true);
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
static int read_binary(struct reader *r, enum slu_ptx_level level, struct slu_ptx_constant *ret)
{
	const struct slu_ptx_operator *o;
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

	error = read_binary(r, SLU_PTX_LEVEL_EITHER, ret);
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
	const struct slu_ptx_lexer *l = &p->lexer;

	/* nearly all are a number and nothing else */
	if (l->token.kind == SLU_PTX_TOKEN_INT && l->at < l->end &&
	    (*l->at == ',' || *l->at == ';' || *l->at == ']')) {
		ret_constant->token = l->token;
		return read_literal(&r, ret_constant);
	}
	return read_choice(&r, ret_constant);
}

int slu_ptx_parse_count(struct slu_ptx_parser *p, const char *expected, uint64_t max,
			uint64_t *ret_count)
{
	struct reader r = { .p = p, .expected = expected };
	struct slu_ptx_constant c;
	int error;

	error = read_binary(&r, SLU_PTX_LEVEL_SHIFT, &c);
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
		error = read_binary(&r, SLU_PTX_LEVEL_PRODUCT, &c);
		if (error)
			return error;
		if (c.kind != SLU_PTX_TOKEN_INT)
			return refuse_kind(&r, &c, "is no integer");
		*offset = (int64_t)((uint64_t)*offset + (is_minus ? 0 - c.bits : c.bits));
	}
	return 0;
}
