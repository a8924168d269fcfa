/* SPDX-License-Identifier: Apache-2.0 */
/* Operands, read as they are written: words, constants, addresses, vectors. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/constant.h"
#include "ptx/operand.h"
#include "ptx/selector.h"

/* An element of an array is its address: a[2]. */
static int parse_element(struct slu_ptx_parser *p, const struct slu_ptx_variable *variable,
			 int64_t *offset)
{
	uint64_t index;
	int r;

	r = slu_ptx_parse_count(p, "an index", SLU_PTX_MAX_BYTES, &index);
	if (r)
		return r;
	*offset = (int64_t)(index * slu_ptx_type_size(variable->type));
	return slu_ptx_expect(p, ']');
}

/* A vector of registers stands for all of them, or for one: v.y, or v.g. */
static int parse_vector_register(struct slu_ptx_parser *p, unsigned width,
				 struct slu_ptx_operand *o)
{
	static const char names[] = "xyzwrgba";
	struct slu_ptx_operand elements[4];
	uint32_t first = o->reg;

	if (p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE) {
		const char *name = strchr(names, *p->lexer.token.text);

		if (p->lexer.token.size != 1 || !name || (name - names) % 4 >= width)
			return slu_ptx_refuse_token(p,
						    width == 2 ? ".x or .y" : ".x, .y, .z or .w");
		o->reg += (uint32_t)((name - names) % 4);
		slu_ptx_lexer_next(&p->lexer);
		return 0;
	}
	for (unsigned i = 0; i < width; i++)
		elements[i] =
			(struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_REG, .reg = first + i };
	*o = (struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_VECTOR,
				       .n_elements = (uint8_t)width };
	o->elements = slu_ptx_arena_copy(p->module->arena, elements, width * sizeof(*elements));
	return o->elements ? 0 : slu_error(-ENOMEM);
}

/* Behind %r1| or {…}|: the register of a predicate, or none. */
static int parse_second(struct slu_ptx_parser *p, struct slu_ptx_operand *o)
{
	struct slu_ptx_token second = p->lexer.token;

	if (second.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "a predicate");
	o->second = SLU_PTX_NO_REG;
	if (!slu_ptx_token_is(&second, "_") &&
	    !slu_ptx_scope_find_reg(&p->scope, second.text, second.size, &o->second))
		return slu_ptx_refuse(p, &second, "'%.*s' is no register", slu_ptx_shown(&second),
				      second.text);
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* A word: register, pair, special register, variable, function; or a label, perhaps. */
static int parse_word(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_token name = p->lexer.token;
	struct slu_ptx_operand *o = &raw->operand;
	struct slu_ptx_symbol *symbol;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	if (slu_ptx_token_is(&name, "_")) {
		o->kind = SLU_PTX_OPERAND_SINK;
	} else if ((symbol = slu_ptx_scope_find_reg(&p->scope, name.text, name.size, &o->reg))) {
		o->kind = SLU_PTX_OPERAND_REG;
		if (symbol->width > 1) {
			r = parse_vector_register(p, symbol->width, o);
			if (r || o->kind == SLU_PTX_OPERAND_VECTOR)
				return r;
		}
	} else if (*name.text == '%') {
		return slu_ptx_parse_sreg(p, raw);
	} else {
		symbol = slu_ptx_scope_find(&p->scope, name.text, name.size);
		if (symbol && symbol->kind == SLU_PTX_SYMBOL_VARIABLE) {
			o->kind = SLU_PTX_OPERAND_VARIABLE;
			o->variable = symbol->variable;
			raw->is_element = slu_ptx_accept(p, '[');
			if (raw->is_element)
				return parse_element(p, o->variable, &o->offset);
			return slu_ptx_parse_offset(p, &o->offset);
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
		if (o->kind == SLU_PTX_OPERAND_SINK)
			o->reg = SLU_PTX_NO_REG;
		o->kind = SLU_PTX_OPERAND_PAIR;
		return parse_second(p, o);
	}
	return 0;
}

static int parse_literal(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_constant c;
	int r;

	r = slu_ptx_parse_constant(p, "an operand", &c);
	if (r)
		return r;
	raw->operand.kind = SLU_PTX_OPERAND_IMM;
	raw->operand.imm = c.bits;
	raw->literal = c.kind;
	return 0;
}

/* What may stand alone, between braces, or between brackets. */
static int parse_simple(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	return slu_ptx_may_be_constant(&p->lexer.token) ? parse_literal(p, raw)
							: parse_word(p, raw);
}

int slu_ptx_refuse_unknown(struct slu_ptx_parser *p, const struct slu_ptx_token *t)
{
	return slu_ptx_refuse(p, t, "'%.*s' is not declared", slu_ptx_shown(t), t->text);
}

/* Elements up to the closing brace, which is left to the caller. */
static int parse_elements(struct slu_ptx_parser *p, struct slu_ptx_raw *raw,
			  struct slu_ptx_operand *elements, unsigned *n)
{
	do {
		struct slu_ptx_raw element = { .token = p->lexer.token };
		int r;

		if (*n == SLU_PTX_MAX_ELEMENTS)
			return slu_ptx_refuse_token(p, "at most 8 elements");
		r = parse_simple(p, &element);
		if (r)
			return r;
		if (element.is_unknown)
			return slu_ptx_refuse_unknown(p, &element.token);
		raw->literals[*n] = (uint8_t)element.literal;
		elements[(*n)++] = element.operand;
	} while (slu_ptx_accept(p, ','));
	return 0;
}

/* [object, {x, y}]: what stands behind the comma; a single one needs no braces. */
static int parse_coordinates(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_operand elements[1 + SLU_PTX_MAX_ELEMENTS] = { raw->operand.elements[0] };
	bool is_vector = slu_ptx_accept(p, '{');
	unsigned n = 0;
	int r;

	r = parse_elements(p, raw, elements + 1, &n);
	if (!r && is_vector)
		r = slu_ptx_expect(p, '}');
	if (r)
		return r;
	raw->operand.n_elements = (uint8_t)(1 + n);
	raw->operand.elements =
		slu_ptx_arena_copy(p->module->arena, elements, (1 + n) * sizeof(*elements));
	return raw->operand.elements ? 0 : slu_error(-ENOMEM);
}

static int parse_address(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_raw base = { .token = p->lexer.token };
	struct slu_ptx_operand *o = &raw->operand;
	int r;

	o->kind = SLU_PTX_OPERAND_ADDRESS;
	r = parse_simple(p, &base);
	if (r)
		return r;
	if (base.is_unknown)
		return slu_ptx_refuse_unknown(p, &base.token);
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
	r = slu_ptx_parse_offset(p, &o->offset);
	if (r)
		return r;
	o->elements = slu_ptx_arena_copy(p->module->arena, &base.operand, sizeof(base.operand));
	if (!o->elements)
		return slu_error(-ENOMEM);
	o->n_elements = 1;
	r = slu_ptx_accept(p, ',') ? parse_coordinates(p, raw) : 0;
	if (!r)
		r = slu_ptx_expect(p, ']');
	/* a promise about the address that needs no keeping here */
	if (!r && p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE &&
	    slu_ptx_token_is(&p->lexer.token, "unified"))
		slu_ptx_lexer_next(&p->lexer);
	return r;
}

static int parse_vector(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_operand elements[SLU_PTX_MAX_ELEMENTS];
	unsigned n = 0;
	int r;

	r = parse_elements(p, raw, elements, &n);
	if (r)
		return r;
	raw->operand.kind = SLU_PTX_OPERAND_VECTOR;
	raw->operand.n_elements = (uint8_t)n;
	raw->operand.elements =
		slu_ptx_arena_copy(p->module->arena, elements, n * sizeof(*elements));
	if (!raw->operand.elements)
		return slu_error(-ENOMEM);
	r = slu_ptx_expect(p, '}');
	raw->operand.second = SLU_PTX_NO_REG;
	raw->is_paired = !r && slu_ptx_accept(p, '|');
	return raw->is_paired ? parse_second(p, &raw->operand) : r;
}

/* A sign in front of a word is the operand's, in front of anything else the constant's. */
static bool at_signed_word(const struct slu_ptx_parser *p)
{
	struct slu_ptx_lexer ahead;

	if (!slu_ptx_lexer_is(&p->lexer, '!') && !slu_ptx_lexer_is(&p->lexer, '-'))
		return false;
	ahead = p->lexer;
	slu_ptx_lexer_next(&ahead);
	return !slu_ptx_may_be_constant(&ahead.token);
}

int slu_ptx_parse_raw(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	int r;

	*raw = (struct slu_ptx_raw){ .token = p->lexer.token };
	if (slu_ptx_accept(p, '['))
		return parse_address(p, raw);
	if (slu_ptx_accept(p, '{'))
		return parse_vector(p, raw);
	if (at_signed_word(p)) {
		raw->operand.is_negated = slu_ptx_accept(p, '!');
		raw->is_minus = slu_ptx_accept(p, '-');
		if (raw->operand.is_negated)
			raw->token = p->lexer.token;
	} else if (slu_ptx_may_be_constant(&p->lexer.token)) {
		return parse_literal(p, raw);
	}
	r = parse_word(p, raw);
	if (!r && raw->operand.kind == SLU_PTX_OPERAND_REG)
		r = slu_ptx_parse_selector(p, raw);
	return r;
}

int slu_ptx_parse_operands(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
			   struct slu_ptx_instr *instr)
{
	struct slu_ptx_raw raws[SLU_PTX_MAX_OPERANDS];
	const struct slu_ptx_form *form = instr->form;
	unsigned n = 0, n_needed = 0;
	int r;

	while (!slu_ptx_lexer_is(&p->lexer, ';')) {
		if (n == SLU_PTX_MAX_OPERANDS)
			return slu_ptx_refuse(p, opcode, "too many operands for '%s'", form->text);
		r = slu_ptx_parse_raw(p, &raws[n]);
		if (r)
			return r;
		n++;
		if (!slu_ptx_accept(p, ','))
			break;
	}
	r = slu_ptx_expect(p, ';');
	if (r)
		return r;
	for (unsigned i = 0; i < form->n_slots; i++)
		n_needed += !form->slots[i].is_optional;
	if (n < n_needed || n > form->n_slots)
		return slu_ptx_refuse(p, opcode, "'%s' takes %u operands, not %u", form->text,
				      n_needed, n);
	instr->operands = slu_ptx_arena_take(p->module->arena, n * sizeof(*instr->operands));
	if (!instr->operands)
		return slu_error(-ENOMEM);
	instr->n_operands = (uint8_t)n;
	for (unsigned k = 0; k < n; k++) {
		r = slu_ptx_check_operand(p, form, slu_ptx_slot_of(form, n, k), &raws[k],
					  &instr->operands[k]);
		if (r)
			return r;
		instr->operands[k] = raws[k].operand;
	}
	if (form->n_slots && form->slots[0].kind == SLU_PTX_SLOT_DEST_MOV)
		return slu_ptx_check_pack(p, raws);
	if (form->row->family == SLU_PTX_FAMILY_VIDEO)
		return slu_ptx_check_selectors(p, form, raws, n);
	return 0;
}
