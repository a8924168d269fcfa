/* SPDX-License-Identifier: Apache-2.0 */
/* Registers: declared in a body, and as parameters of a function. */
#include <errno.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/constant.h"

/* ".v4 .f32" */
static int parse_register_type(struct slu_ptx_parser *p, enum slu_ptx_type *ret_type,
			       unsigned *ret_vector)
{
	enum slu_ptx_type type = SLU_PTX_TYPE_NONE;
	unsigned vector = slu_ptx_at_directive(p, "v2") ? 2 : slu_ptx_at_directive(p, "v4") ? 4 : 1;

	if (vector > 1)
		slu_ptx_lexer_next(&p->lexer);
	if (p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE)
		type = slu_ptx_type_find(p->lexer.token.text, p->lexer.token.size);
	if (!type)
		return slu_ptx_refuse_token(p, "the type of a register");
	if (vector > 1 && (type == SLU_PTX_TYPE_PRED || slu_ptx_type_size(type) * vector > 16))
		return slu_ptx_refuse_token(p, "a type that a vector can have");
	slu_ptx_lexer_next(&p->lexer);
	*ret_type = type;
	*ret_vector = vector;
	return 0;
}

int slu_ptx_take_registers(struct slu_ptx_parser *p, const struct slu_ptx_token *at,
			   enum slu_ptx_type type, uint64_t n, uint32_t *ret_first)
{
	uint8_t byte = (uint8_t)type;
	int r;

	if (n > SLU_PTX_MAX_REGS - p->reg_types.n)
		return slu_ptx_refuse(p, at, "more than %u registers", SLU_PTX_MAX_REGS);
	*ret_first = (uint32_t)p->reg_types.n;
	for (uint64_t i = 0; i < n; i++) {
		r = slu_ptx_list_add(&p->reg_types, &byte);
		if (r)
			return slu_fold(r);
	}
	return 0;
}

int slu_ptx_parse_bound(struct slu_ptx_parser *p, enum slu_ptx_role role, uint64_t *bytes,
			struct slu_ptx_variable **ret_variable)
{
	struct slu_ptx_bound bound = { 0 };
	struct slu_ptx_symbol *symbol;
	enum slu_ptx_type type = SLU_PTX_TYPE_NONE;
	struct slu_ptx_token name;
	struct slu_ptx_variable *v;
	unsigned vector = 1;
	int r;

	name = p->lexer.token;
	r = parse_register_type(p, &type, &vector);
	if (r)
		return r;
	if (vector > 1 || type == SLU_PTX_TYPE_PRED)
		return slu_ptx_refuse(p, &name, "'.%.*s' where a parameter's type is wanted",
				      slu_ptx_shown(&name), name.text);
	name = p->lexer.token;
	if (name.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "the parameter's name");
	slu_ptx_lexer_next(&p->lexer);
	v = slu_ptx_arena_take(p->module->arena, sizeof(*v));
	if (!v)
		return slu_error(-ENOMEM);
	v->name = slu_ptx_intern(p, &name);
	if (!v->name)
		return slu_error(-ENOMEM);
	v->space = SLU_PTX_SPACE_PARAM;
	v->role = role;
	v->type = type;
	v->size = v->align = slu_ptx_type_size(type);
	v->offset = slu_round_up(*bytes, v->align);
	*bytes = v->offset + v->size;
	*ret_variable = v;
	if (slu_ptx_token_is(&name, "_"))
		return 0;
	r = slu_ptx_scope_declare(&p->scope, name.text, name.size, SLU_PTX_SYMBOL_REG, &symbol);
	if (r == SLU_PTX_SCOPE_E_TAKEN)
		return slu_ptx_refuse(p, &name, "'%.*s' is declared twice", slu_ptx_shown(&name),
				      name.text);
	if (r)
		return slu_fold(r);
	r = slu_ptx_take_registers(p, &name, type, 1, &symbol->reg);
	if (r)
		return r;
	bound.variable = v;
	bound.reg = symbol->reg;
	return slu_fold(slu_ptx_list_add(&p->bound, &bound));
}

int slu_ptx_parse_registers(struct slu_ptx_parser *p)
{
	enum slu_ptx_type type = SLU_PTX_TYPE_NONE;
	unsigned vector = 1;
	int r;

	r = parse_register_type(p, &type, &vector);
	if (r)
		return r;
	do {
		struct slu_ptx_token name = p->lexer.token;
		enum slu_ptx_symbol_kind kind = SLU_PTX_SYMBOL_REG;
		struct slu_ptx_symbol *symbol;
		uint64_t count = 1;

		if (name.kind != SLU_PTX_TOKEN_WORD)
			return slu_ptx_refuse_token(p, "a register's name");
		slu_ptx_lexer_next(&p->lexer);
		if (slu_ptx_accept(p, '<')) {
			kind = SLU_PTX_SYMBOL_RANGE;
			r = slu_ptx_parse_count(p, "a number of registers", INT64_MAX / 4, &count);
			if (!r)
				r = slu_ptx_expect(p, '>');
			if (r)
				return r;
		}
		r = slu_ptx_scope_declare(&p->scope, name.text, name.size, kind, &symbol);
		if (r == SLU_PTX_SCOPE_E_TAKEN)
			return slu_ptx_refuse(p, &name, "'%.*s' is declared twice",
					      slu_ptx_shown(&name), name.text);
		if (r)
			return slu_fold(r);
		symbol->count = (uint32_t)count;
		symbol->width = vector;
		r = slu_ptx_take_registers(p, &name, type, count * vector, &symbol->reg);
		if (r)
			return r;
	} while (slu_ptx_accept(p, ','));
	return slu_ptx_expect(p, ';');
}
