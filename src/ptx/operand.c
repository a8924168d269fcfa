/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands. They are read as they are written and then held against the row's operand words (the
 * head of opcodes.def says what each means): how many, what kind, how wide. Constants leave here
 * as the bits of the type that the instruction reads, so nobody asks again how they were written.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/matrix.h"
#include "ptx/parser.h"

struct raw {
	struct slu_ptx_operand operand;
	struct slu_ptx_token token; /* where it began */
	enum slu_ptx_token_kind literal;
	bool is_unknown; /* a name that nobody declared: perhaps a label further down */
};

static const struct {
	const char *name;
	enum slu_ptx_sreg sreg;
	bool has_components;
	bool is_wide;
} sregs[] = {
	{ "%tid", SLU_PTX_SREG_TID_X, true, false },
	{ "%ntid", SLU_PTX_SREG_NTID_X, true, false },
	{ "%ctaid", SLU_PTX_SREG_CTAID_X, true, false },
	{ "%nctaid", SLU_PTX_SREG_NCTAID_X, true, false },
	{ "%laneid", SLU_PTX_SREG_LANEID, false, false },
	{ "%warpid", SLU_PTX_SREG_WARPID, false, false },
	{ "%nwarpid", SLU_PTX_SREG_NWARPID, false, false },
	{ "%smid", SLU_PTX_SREG_SMID, false, false },
	{ "%nsmid", SLU_PTX_SREG_NSMID, false, false },
	{ "%gridid", SLU_PTX_SREG_GRIDID, false, true },
	{ "%lanemask_eq", SLU_PTX_SREG_LANEMASK_EQ, false, false },
	{ "%lanemask_le", SLU_PTX_SREG_LANEMASK_LE, false, false },
	{ "%lanemask_lt", SLU_PTX_SREG_LANEMASK_LT, false, false },
	{ "%lanemask_ge", SLU_PTX_SREG_LANEMASK_GE, false, false },
	{ "%lanemask_gt", SLU_PTX_SREG_LANEMASK_GT, false, false },
	{ "%clock", SLU_PTX_SREG_CLOCK, false, false },
	{ "%clock_hi", SLU_PTX_SREG_CLOCK_HI, false, false },
	{ "%clock64", SLU_PTX_SREG_CLOCK64, false, true },
	{ "%globaltimer", SLU_PTX_SREG_GLOBALTIMER, false, true },
	{ "%globaltimer_lo", SLU_PTX_SREG_GLOBALTIMER_LO, false, false },
	{ "%globaltimer_hi", SLU_PTX_SREG_GLOBALTIMER_HI, false, false },
	{ "%envreg1", SLU_PTX_SREG_ENVREG1, false, false },
	{ "%envreg2", SLU_PTX_SREG_ENVREG2, false, false },
	{ "%total_smem_size", SLU_PTX_SREG_TOTAL_SMEM_SIZE, false, false },
	{ "%dynamic_smem_size", SLU_PTX_SREG_DYNAMIC_SMEM_SIZE, false, false },
};

bool slu_ptx_sreg_is_wide(enum slu_ptx_sreg sreg)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sregs); i++)
		if (sregs[i].sreg == sreg)
			return sregs[i].is_wide;
	return false;
}

static int parse_sreg(struct slu_ptx_parser *p, struct raw *raw)
{
	const struct slu_ptx_token *t = &raw->token;

	raw->operand.kind = SLU_PTX_OPERAND_SREG;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sregs); i++) {
		unsigned component;

		if (!slu_ptx_token_is(t, sregs[i].name))
			continue;
		raw->operand.sreg = sregs[i].sreg;
		if (!sregs[i].has_components)
			return 0;
		if (p->lexer.token.kind != SLU_PTX_TOKEN_DIRECTIVE || p->lexer.token.size != 1 ||
		    *p->lexer.token.text < 'x' || *p->lexer.token.text > 'z')
			return slu_ptx_refuse_token(p, ".x, .y or .z");
		component = (unsigned)(*p->lexer.token.text - 'x');
		raw->operand.sreg = (enum slu_ptx_sreg)(sregs[i].sreg + component);
		slu_ptx_lexer_next(&p->lexer);
		return 0;
	}
	if (t->size >= 8 && !memcmp(t->text, "%envreg", 7)) {
		raw->operand.sreg = SLU_PTX_SREG_ENVREG;
		return 0;
	}
	raw->is_unknown = true;
	return 0;
}

static int parse_offset(struct slu_ptx_parser *p, int64_t *offset)
{
	bool is_minus = slu_ptx_lexer_is(&p->lexer, '-');
	uint64_t value;

	slu_ptx_lexer_next(&p->lexer);
	if (slu_ptx_accept(p, '-'))
		is_minus = !is_minus;
	if (p->lexer.token.kind != SLU_PTX_TOKEN_INT)
		return slu_ptx_refuse_token(p, "an offset");
	value = p->lexer.token.value;
	slu_ptx_lexer_next(&p->lexer);
	*offset = (int64_t)((uint64_t)*offset + (is_minus ? 0 - value : value));
	return 0;
}

static bool at_offset(const struct slu_ptx_parser *p)
{
	return slu_ptx_lexer_is(&p->lexer, '+') || slu_ptx_lexer_is(&p->lexer, '-');
}

/* An element of an array is its address: a[2]. */
static int parse_element(struct slu_ptx_parser *p, const struct slu_ptx_variable *variable,
			 int64_t *offset)
{
	uint64_t index = p->lexer.token.value;

	if (p->lexer.token.kind != SLU_PTX_TOKEN_INT)
		return slu_ptx_refuse_token(p, "an index");
	slu_ptx_lexer_next(&p->lexer);
	if (!slu_ptx_accept(p, ']'))
		return slu_ptx_refuse_token(p, "']'");
	*offset = (int64_t)(index * slu_ptx_type_size(variable->type));
	return 0;
}

/* A word: register, pair, special register, variable, function; or a label, perhaps. */
static int parse_word(struct slu_ptx_parser *p, struct raw *raw)
{
	struct slu_ptx_token name = p->lexer.token;
	struct slu_ptx_operand *o = &raw->operand;
	struct slu_ptx_symbol *symbol;

	slu_ptx_lexer_next(&p->lexer);
	if (slu_ptx_token_is(&name, "_")) {
		o->kind = SLU_PTX_OPERAND_SINK;
	} else if (slu_ptx_scope_find_reg(&p->scope, name.text, name.size, &o->reg)) {
		o->kind = SLU_PTX_OPERAND_REG;
	} else if (*name.text == '%') {
		return parse_sreg(p, raw);
	} else if (slu_ptx_token_is(&name, "WARP_SZ")) {
		o->kind = SLU_PTX_OPERAND_IMM;
		o->imm = 32;
		raw->literal = SLU_PTX_TOKEN_INT;
	} else {
		symbol = slu_ptx_scope_find(&p->scope, name.text, name.size);
		if (symbol && symbol->kind == SLU_PTX_SYMBOL_VARIABLE) {
			o->kind = SLU_PTX_OPERAND_VARIABLE;
			o->variable = symbol->variable;
			if (slu_ptx_accept(p, '['))
				return parse_element(p, o->variable, &o->offset);
			if (at_offset(p))
				return parse_offset(p, &o->offset);
		} else if (symbol && symbol->kind == SLU_PTX_SYMBOL_TARGETS) {
			o->kind = SLU_PTX_OPERAND_TARGETS;
			o->targets = symbol->targets;
		} else if (symbol && symbol->kind == SLU_PTX_SYMBOL_FUNCTION) {
			o->kind = SLU_PTX_OPERAND_FUNCTION;
			o->function = symbol->function;
		} else {
			raw->is_unknown = true;
		}
		return 0;
	}
	if (slu_ptx_accept(p, '|')) {
		struct slu_ptx_token second = p->lexer.token;

		if (second.kind != SLU_PTX_TOKEN_WORD)
			return slu_ptx_refuse_token(p, "a predicate");
		if (o->kind == SLU_PTX_OPERAND_SINK)
			o->reg = SLU_PTX_NO_REG;
		o->kind = SLU_PTX_OPERAND_PAIR;
		o->second = SLU_PTX_NO_REG;
		if (!slu_ptx_token_is(&second, "_") &&
		    !slu_ptx_scope_find_reg(&p->scope, second.text, second.size, &o->second))
			return slu_ptx_refuse(p, &second, "'%.*s' is no register",
					      slu_ptx_shown(&second), second.text);
		slu_ptx_lexer_next(&p->lexer);
	}
	return 0;
}

static int parse_literal(struct slu_ptx_parser *p, struct raw *raw)
{
	bool is_minus = slu_ptx_accept(p, '-');
	struct slu_ptx_token t = p->lexer.token;

	if (t.kind != SLU_PTX_TOKEN_INT && t.kind != SLU_PTX_TOKEN_F32 &&
	    t.kind != SLU_PTX_TOKEN_F64)
		return slu_ptx_refuse_token(p, "an operand");
	raw->operand.kind = SLU_PTX_OPERAND_IMM;
	raw->operand.imm = t.value;
	raw->literal = t.kind;
	if (is_minus && t.kind == SLU_PTX_TOKEN_INT)
		raw->operand.imm = 0 - t.value;
	else if (is_minus)
		raw->operand.imm ^= UINT64_C(1) << (t.kind == SLU_PTX_TOKEN_F32 ? 31 : 63);
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

static int refuse_unknown(struct slu_ptx_parser *p, const struct slu_ptx_token *t)
{
	return slu_ptx_refuse(p, t, "'%.*s' is not declared", slu_ptx_shown(t), t->text);
}

static int parse_address(struct slu_ptx_parser *p, struct raw *raw)
{
	struct raw base = { .token = p->lexer.token };
	struct slu_ptx_operand *o = &raw->operand;
	int r;

	o->kind = SLU_PTX_OPERAND_ADDRESS;
	if (p->lexer.token.kind == SLU_PTX_TOKEN_WORD)
		r = parse_word(p, &base);
	else
		r = parse_literal(p, &base);
	if (r)
		return r;
	if (base.is_unknown)
		return refuse_unknown(p, &base.token);
	if (base.operand.kind == SLU_PTX_OPERAND_VARIABLE) {
		o->offset = base.operand.offset;
		base.operand.offset = 0;
	} else if (base.operand.kind == SLU_PTX_OPERAND_IMM && base.literal == SLU_PTX_TOKEN_INT) {
		o->offset = (int64_t)base.operand.imm;
	} else if (base.operand.kind == SLU_PTX_OPERAND_REG) {
		unsigned size = slu_ptx_type_size(
			(enum slu_ptx_type)((uint8_t *)p->reg_types.items)[base.operand.reg]);

		if (size != 4 && size != 8)
			return slu_ptx_refuse(p, &base.token, "an address has 32 or 64 bits");
	} else {
		return slu_ptx_refuse(p, &base.token, "'%.*s' is no address",
				      slu_ptx_shown(&base.token), base.token.text);
	}
	if (at_offset(p)) {
		r = parse_offset(p, &o->offset);
		if (r)
			return r;
	}
	o->elements = slu_ptx_arena_copy(p->module->arena, &base.operand, sizeof(base.operand));
	if (!o->elements)
		return slu_error(-ENOMEM);
	o->n_elements = 1;
	return slu_ptx_expect(p, ']');
}

static int parse_vector(struct slu_ptx_parser *p, struct raw *raw)
{
	struct slu_ptx_operand elements[8];
	unsigned n = 0;
	int r;

	do {
		struct raw element = { .token = p->lexer.token };

		if (n == SLU_ARRAY_SIZE(elements))
			return slu_ptx_refuse_token(p, "at most 8 elements");
		if (p->lexer.token.kind == SLU_PTX_TOKEN_WORD)
			r = parse_word(p, &element);
		else
			r = parse_literal(p, &element);
		if (r)
			return r;
		if (element.is_unknown)
			return refuse_unknown(p, &element.token);
		elements[n++] = element.operand;
	} while (slu_ptx_accept(p, ','));
	raw->operand.kind = SLU_PTX_OPERAND_VECTOR;
	raw->operand.n_elements = (uint8_t)n;
	raw->operand.elements =
		slu_ptx_arena_copy(p->module->arena, elements, n * sizeof(*elements));
	if (!raw->operand.elements)
		return slu_error(-ENOMEM);
	return slu_ptx_expect(p, '}');
}

static int parse_raw(struct slu_ptx_parser *p, struct raw *raw)
{
	*raw = (struct raw){ .token = p->lexer.token };
	if (slu_ptx_accept(p, '['))
		return parse_address(p, raw);
	if (slu_ptx_accept(p, '{'))
		return parse_vector(p, raw);
	if (slu_ptx_accept(p, '!')) {
		raw->operand.is_negated = true;
		raw->token = p->lexer.token;
	}
	if (p->lexer.token.kind == SLU_PTX_TOKEN_WORD)
		return parse_word(p, raw);
	return parse_literal(p, raw);
}

static enum slu_ptx_type reg_type(const struct slu_ptx_parser *p, uint32_t reg)
{
	return (enum slu_ptx_type)((const uint8_t *)p->reg_types.items)[reg];
}

/* What a word of opcodes.def demands. */
struct demand {
	unsigned size;	   /* bytes; 0: no register of values */
	bool may_be_wider; /* the register, not the value */
	enum slu_ptx_type type;
};

static struct demand demand_of(const struct slu_ptx_form *form, const char *word)
{
	struct demand d = { 0 };
	char c = word[1];

	if (c >= '0' && c <= '3') {
		d.type = (enum slu_ptx_type)form->types[c - '0'];
		d.size = slu_ptx_type_size(d.type);
	} else if (c == 'U') {
		d.type = SLU_PTX_TYPE_B32;
		d.size = 4;
	} else if (c == 'L') {
		d.type = SLU_PTX_TYPE_B64;
		d.size = 8;
	}
	if (*word == 'w' || *word == 'x')
		d.size *= 2;
	d.may_be_wider = *word == 'D' || *word == 'S' || *word == 'v' || *word == 'V';
	return d;
}

static int check_reg(struct slu_ptx_parser *p, const struct raw *raw, uint32_t reg,
		     const struct demand *d)
{
	enum slu_ptx_type type = reg_type(p, reg);
	unsigned size = slu_ptx_type_size(type);

	if (size == d->size || (d->may_be_wider && size > d->size))
		return 0;
	return slu_ptx_refuse(p, &raw->token, "'%.*s' is .%s, but the instruction wants %u bits",
			      slu_ptx_shown(&raw->token), raw->token.text, slu_ptx_type_name(type),
			      d->size * 8);
}

static int check_pred(struct slu_ptx_parser *p, const struct raw *raw, uint32_t reg)
{
	if (reg == SLU_PTX_NO_REG || reg_type(p, reg) == SLU_PTX_TYPE_PRED)
		return 0;
	return slu_ptx_refuse(p, &raw->token, "'%.*s' is no predicate", slu_ptx_shown(&raw->token),
			      raw->token.text);
}

static int refuse_operand(struct slu_ptx_parser *p, const struct raw *raw, const char *expected)
{
	return slu_ptx_refuse(p, &raw->token, "'%.*s' where %s is wanted",
			      raw->token.size ? slu_ptx_shown(&raw->token) : 1, raw->token.text,
			      expected);
}

/* Turns a literal into the bits of the type that is read. */
static int check_literal(struct slu_ptx_parser *p, struct raw *raw, const struct demand *d)
{
	uint64_t *imm = &raw->operand.imm;
	double wide;
	float narrow;

	if (raw->literal == SLU_PTX_TOKEN_INT) {
		if (d->type == SLU_PTX_TYPE_F32 || d->type == SLU_PTX_TYPE_F64)
			return refuse_operand(p, raw, "a floating-point constant");
	} else if (raw->literal == SLU_PTX_TOKEN_F32 && d->size == 8) {
		if (d->type != SLU_PTX_TYPE_F64)
			return refuse_operand(p, raw, "64 bits");
		memcpy(&narrow, imm, 4);
		wide = narrow;
		memcpy(imm, &wide, 8);
	} else if (raw->literal == SLU_PTX_TOKEN_F64 && d->size == 4) {
		if (d->type != SLU_PTX_TYPE_F32)
			return refuse_operand(p, raw, "32 bits");
		memcpy(&wide, imm, 8);
		narrow = (float)wide;
		*imm = 0;
		memcpy(imm, &narrow, 4);
	}
	if (d->size < 8)
		*imm &= (UINT64_C(1) << d->size * 8) - 1;
	return 0;
}

static int check_source(struct slu_ptx_parser *p, struct raw *raw, const struct demand *d)
{
	switch (raw->operand.kind) {
	case SLU_PTX_OPERAND_REG:
		return check_reg(p, raw, raw->operand.reg, d);
	case SLU_PTX_OPERAND_IMM:
		return check_literal(p, raw, d);
	case SLU_PTX_OPERAND_SREG:
		if (slu_ptx_sreg_is_wide(raw->operand.sreg) ? d->size == 8
		    : d->may_be_wider			    ? d->size <= 4
							    : d->size == 4)
			return 0;
		return refuse_operand(p, raw, "another width");
	default:
		return refuse_operand(p, raw, "a register or constant");
	}
}

static int check_element(struct slu_ptx_parser *p, const struct raw *raw, uint32_t reg,
			 const struct demand *d)
{
	enum slu_ptx_type type = reg_type(p, reg);
	unsigned size = slu_ptx_type_size(type);

	if (size == d->size || (d->may_be_wider && size > d->size))
		return 0;
	return slu_ptx_refuse(p, &raw->token,
			      "the vector has a .%s, but the instruction wants %u bits",
			      slu_ptx_type_name(type), d->size * 8);
}

static int check_vector(struct slu_ptx_parser *p, struct raw *raw, const struct demand *d,
			unsigned n, bool is_source)
{
	if (raw->operand.kind != SLU_PTX_OPERAND_VECTOR || raw->operand.n_elements != n)
		return slu_ptx_refuse(p, &raw->token, "a vector of %u is wanted", n);
	for (unsigned i = 0; i < n; i++) {
		struct slu_ptx_operand *e = &raw->operand.elements[i];
		int r = 0;

		if (e->kind == SLU_PTX_OPERAND_REG)
			r = check_element(p, raw, e->reg, d);
		else if (is_source ? e->kind != SLU_PTX_OPERAND_IMM
				   : e->kind != SLU_PTX_OPERAND_SINK)
			r = refuse_operand(p, raw, "a vector of registers");
		if (r)
			return r;
	}
	return 0;
}

static int check_address_of(struct slu_ptx_parser *p, const struct raw *raw, unsigned size)
{
	const struct slu_ptx_variable *v = raw->operand.variable;

	/* only windows are small enough for a 32-bit address */
	if (size == 8 ||
	    (size == 4 && (v->space == SLU_PTX_SPACE_SHARED || v->space == SLU_PTX_SPACE_LOCAL ||
			   v->space == SLU_PTX_SPACE_PARAM)))
		return 0;
	return refuse_operand(p, raw, "a 64-bit register for the address");
}

static int check_mov(struct slu_ptx_parser *p, struct raw *raw, const struct demand *d,
		     bool is_source)
{
	enum slu_ptx_operand_kind kind = raw->operand.kind;

	if (kind == SLU_PTX_OPERAND_VECTOR) {
		struct demand element = { .size = d->size / SLU_MAX(raw->operand.n_elements, 1) };

		if (raw->operand.n_elements != 2 && raw->operand.n_elements != 4)
			return refuse_operand(p, raw, "a vector of 2 or 4");
		return check_vector(p, raw, &element, raw->operand.n_elements, is_source);
	}
	if (is_source && kind == SLU_PTX_OPERAND_VARIABLE)
		return check_address_of(p, raw, d->size);
	if (is_source && kind == SLU_PTX_OPERAND_FUNCTION && d->size == 8)
		return 0;
	if (!is_source && kind != SLU_PTX_OPERAND_REG)
		return refuse_operand(p, raw, "a register");
	return check_source(p, raw, d);
}

/* A vector of as many registers as the lane's part of the matrix; one may stand alone. */
static int check_fragment(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			  const char *word, struct raw *raw)
{
	struct slu_ptx_matrix m;
	const struct slu_ptx_fragment *f;
	struct demand d;

	if (!slu_ptx_matrix_of(form, form->text, &m))
		return refuse_operand(p, raw, "something else");
	f = &m.parts[word[1] - 'a'];
	d = (struct demand){ .size = f->reg_size };
	if (f->n_regs == 1 && raw->operand.kind == SLU_PTX_OPERAND_REG)
		return check_reg(p, raw, raw->operand.reg, &d);
	return check_vector(p, raw, &d, f->n_regs, *word == 'G');
}

static int check_label(struct slu_ptx_parser *p, struct raw *raw, struct slu_ptx_operand *place)
{
	struct slu_ptx_pending pending = {
		.name = raw->token.text,
		.size = raw->token.size,
		.operand = place,
		.line = raw->token.line,
		.column = raw->token.column,
	};

	if (raw->token.kind != SLU_PTX_TOKEN_WORD ||
	    (!raw->is_unknown && raw->operand.kind != SLU_PTX_OPERAND_SINK))
		return refuse_operand(p, raw, "a label");
	raw->is_unknown = false;
	raw->operand = (struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_LABEL };
	return slu_fold(slu_ptx_list_add(&p->pending, &pending));
}

/* cp.async moves 4, 8 or 16 bytes, past the first cache only 16 */
static int check_copied(struct slu_ptx_parser *p, const struct slu_ptx_form *form, struct raw *raw)
{
	uint64_t n = raw->operand.imm;

	if (raw->operand.kind != SLU_PTX_OPERAND_IMM || raw->literal != SLU_PTX_TOKEN_INT)
		return refuse_operand(p, raw, "a constant");
	if (n == 16 || ((n == 4 || n == 8) && slu_ptx_form_has(form, SLU_PTX_MOD_ca)))
		return 0;
	return refuse_operand(p, raw, "a number of bytes that can be copied");
}

static int check(struct slu_ptx_parser *p, const struct slu_ptx_form *form, const char *word,
		 struct raw *raw, struct slu_ptx_operand *place)
{
	struct demand d = demand_of(form, word);
	struct slu_ptx_operand *o = &raw->operand;
	int r;

	if (*word == 'l')
		return check_label(p, raw, place);
	if (raw->is_unknown)
		return refuse_unknown(p, &raw->token);
	if (o->is_negated && *word != 'P')
		return refuse_operand(p, raw, "no negation");
	switch (*word) {
	case 'd':
	case 'D':
	case 'w':
		if (o->kind == SLU_PTX_OPERAND_SINK)
			return 0;
		if (o->kind != SLU_PTX_OPERAND_REG)
			return refuse_operand(p, raw, "a register");
		return check_reg(p, raw, o->reg, &d);
	case 'e':
		if (o->kind == SLU_PTX_OPERAND_PAIR) {
			r = check_pred(p, raw, o->second);
			if (r || o->reg == SLU_PTX_NO_REG)
				return r;
		} else if (o->kind != SLU_PTX_OPERAND_REG) {
			return refuse_operand(p, raw, "a register");
		}
		return check_reg(p, raw, o->reg, &d);
	case 's':
	case 'S':
	case 'x':
		return check_source(p, raw, &d);
	case 'v':
	case 'V':
		if (form->vector > 1)
			return check_vector(p, raw, &d, form->vector, *word == 'V');
		if (*word == 'V')
			return check_source(p, raw, &d);
		if (o->kind != SLU_PTX_OPERAND_REG)
			return refuse_operand(p, raw, "a register");
		return check_reg(p, raw, o->reg, &d);
	case 'M':
	case 'm':
		return check_mov(p, raw, &d, *word == 'm');
	case 'c':
		if (o->kind == SLU_PTX_OPERAND_VARIABLE)
			return check_address_of(p, raw, d.size);
		return check_source(p, raw, &d);
	case 'p':
	case 'q':
		if (o->kind == SLU_PTX_OPERAND_PAIR && *word == 'q') {
			r = check_pred(p, raw, o->reg);
			return r ? r : check_pred(p, raw, o->second);
		}
		if (o->kind == SLU_PTX_OPERAND_SINK)
			return 0;
		if (o->kind != SLU_PTX_OPERAND_REG)
			return refuse_operand(p, raw, "a predicate");
		return check_pred(p, raw, o->reg);
	case 'P':
		if (o->kind == SLU_PTX_OPERAND_IMM && raw->literal == SLU_PTX_TOKEN_INT)
			return 0;
		if (o->kind != SLU_PTX_OPERAND_REG)
			return refuse_operand(p, raw, "a predicate");
		return check_pred(p, raw, o->reg);
	case 'a':
	case 'A':
		if (o->kind != SLU_PTX_OPERAND_ADDRESS)
			return refuse_operand(p, raw, "an address");
		return 0;
	case 'g':
	case 'G':
		return check_fragment(p, form, word, raw);
	case 'L':
		if (o->kind != SLU_PTX_OPERAND_TARGETS)
			return refuse_operand(p, raw, "a list of labels");
		return 0;
	case 'z':
		return check_copied(p, form, raw);
	case 'i':
		if (o->kind != SLU_PTX_OPERAND_IMM || raw->literal != SLU_PTX_TOKEN_INT)
			return refuse_operand(p, raw, "a constant");
		return 0;
	}
	return refuse_operand(p, raw, "something else");
}

/* mov between a vector and a register goes one way only */
static int check_pack(struct slu_ptx_parser *p, const struct raw *raws)
{
	if (raws[0].operand.kind == SLU_PTX_OPERAND_VECTOR &&
	    raws[1].operand.kind != SLU_PTX_OPERAND_REG &&
	    raws[1].operand.kind != SLU_PTX_OPERAND_IMM)
		return refuse_operand(p, &raws[1], "a register");
	return 0;
}

int slu_ptx_parse_operands(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
			   struct slu_ptx_instr *instr)
{
	struct raw raws[SLU_PTX_MAX_OPERANDS];
	const char *words = instr->form->row->operands;
	unsigned n = 0, n_needed = 0, n_optional = 0, n_skip;
	int r;

	while (!slu_ptx_lexer_is(&p->lexer, ';')) {
		if (n == SLU_PTX_MAX_OPERANDS)
			return slu_ptx_refuse(p, opcode, "too many operands for '%s'",
					      instr->form->text);
		r = parse_raw(p, &raws[n]);
		if (r)
			return r;
		n++;
		if (!slu_ptx_accept(p, ','))
			break;
	}
	r = slu_ptx_expect(p, ';');
	if (r)
		return r;
	for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ') {
		if (w[strcspn(w, " ") - 1] == '?')
			n_optional++;
		else
			n_needed++;
	}
	if (n < n_needed || n > n_needed + n_optional)
		return slu_ptx_refuse(p, opcode, "'%s' takes %u operands, not %u",
				      instr->form->text, n_needed, n);
	instr->operands = slu_ptx_arena_take(p->module->arena, n * sizeof(*instr->operands));
	if (!instr->operands)
		return slu_error(-ENOMEM);
	instr->n_operands = (uint8_t)n;
	n_skip = n_needed + n_optional - n;
	n = 0;
	for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ') {
		if (w[strcspn(w, " ") - 1] == '?' && n_skip) {
			n_skip--;
			continue;
		}
		r = check(p, instr->form, w, &raws[n], &instr->operands[n]);
		if (r)
			return r;
		instr->operands[n] = raws[n].operand;
		n++;
	}
	if (*words == 'M')
		return check_pack(p, raws);
	return 0;
}

/* "(a, b)": names of .param variables */
static int parse_call_list(struct slu_ptx_parser *p, const struct slu_ptx_variable ***ret_list,
			   unsigned *ret_n)
{
	struct slu_ptx_list list = { .item_size = sizeof(struct slu_ptx_variable *) };
	struct slu_ptx_symbol *symbol;
	int r = 0;

	if (slu_ptx_accept(p, ')'))
		return 0;
	do {
		struct slu_ptx_token name = p->lexer.token;

		symbol = slu_ptx_scope_find(&p->scope, name.text, name.size);
		if (name.kind != SLU_PTX_TOKEN_WORD || !symbol ||
		    symbol->kind != SLU_PTX_SYMBOL_VARIABLE ||
		    symbol->variable->space != SLU_PTX_SPACE_PARAM) {
			r = slu_ptx_refuse_token(p, "a .param variable");
			break;
		}
		slu_ptx_lexer_next(&p->lexer);
		r = slu_fold(slu_ptx_list_add(&list, &symbol->variable));
	} while (!r && slu_ptx_accept(p, ','));
	if (!r) {
		*ret_list =
			slu_ptx_arena_copy(p->module->arena, list.items, list.n * list.item_size);
		*ret_n = (unsigned)list.n;
		r = *ret_list ? slu_ptx_expect(p, ')') : slu_error(-ENOMEM);
	}
	slu_ptx_list_deinit(&list);
	return r;
}

static int check_call_list(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
			   const struct slu_ptx_variable *const *given, unsigned n_given,
			   struct slu_ptx_variable *const *wanted, unsigned n_wanted)
{
	if (n_given != n_wanted)
		return slu_ptx_refuse(p, opcode, "the function takes %u values here, not %u",
				      n_wanted, n_given);
	for (unsigned i = 0; i < n_given; i++)
		if (given[i]->size != wanted[i]->size)
			return slu_ptx_refuse(p, opcode, "'%s' has %llu bytes, not %llu",
					      given[i]->name, (unsigned long long)given[i]->size,
					      (unsigned long long)wanted[i]->size);
	return 0;
}

int slu_ptx_parse_call(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
		       struct slu_ptx_instr *instr)
{
	struct demand wide = { .size = 8 };
	struct slu_ptx_call *call;
	struct raw target;
	int r;

	call = slu_ptx_arena_take(p->module->arena, sizeof(*call));
	if (!call)
		return slu_error(-ENOMEM);
	if (slu_ptx_accept(p, '(')) {
		r = parse_call_list(p, &call->results, &call->n_results);
		if (!r)
			r = slu_ptx_expect(p, ',');
		if (r)
			return r;
	}
	r = parse_raw(p, &target);
	if (r)
		return r;
	if (target.is_unknown)
		return refuse_unknown(p, &target.token);
	if (slu_ptx_accept(p, ',')) {
		r = slu_ptx_expect(p, '(');
		if (!r)
			r = parse_call_list(p, &call->params, &call->n_params);
		if (r)
			return r;
	}
	if (target.operand.kind == SLU_PTX_OPERAND_FUNCTION) {
		const struct slu_ptx_function *f = target.operand.function;

		if (f->is_kernel)
			return slu_ptx_refuse(p, &target.token, "a kernel cannot be called");
		r = check_call_list(p, opcode, call->params, call->n_params, f->params,
				    f->n_params);
		if (!r)
			r = check_call_list(p, opcode, call->results, call->n_results, f->results,
					    f->n_results);
	} else if (target.operand.kind == SLU_PTX_OPERAND_REG) {
		r = check_reg(p, &target, target.operand.reg, &wide);
		/* the prototype says what the call says itself */
		if (!r && slu_ptx_accept(p, ',')) {
			if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
				return slu_ptx_refuse_token(p, "a prototype");
			slu_ptx_lexer_next(&p->lexer);
		}
	} else {
		r = refuse_operand(p, &target, "a function");
	}
	if (r)
		return r;
	instr->operands =
		slu_ptx_arena_copy(p->module->arena, &target.operand, sizeof(target.operand));
	if (!instr->operands)
		return slu_error(-ENOMEM);
	instr->n_operands = 1;
	instr->call = call;
	return slu_ptx_expect(p, ';');
}
