/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of variables of every space. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/constant.h"

int slu_ptx_parse_align(struct slu_ptx_parser *p, unsigned *ret_align)
{
	static const char expected[] = "a power of two up to 4096";
	struct slu_ptx_token t;
	uint64_t align;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	t = p->lexer.token;
	r = slu_ptx_parse_count(p, expected, 4096, &align);
	if (r)
		return r;
	if (!align || (align & (align - 1)))
		return slu_ptx_refuse(p, &t, "'%.*s' where %s is wanted", slu_ptx_shown(&t), t.text,
				      expected);
	*ret_align = (unsigned)align;
	return 0;
}

/* ".align 8 .v2 .f32", in any order, as the tools write it */
static int parse_type(struct slu_ptx_parser *p, struct slu_ptx_variable *v, unsigned *ret_vector)
{
	unsigned align = 0, vector = 1;
	int r;

	v->type = SLU_PTX_TYPE_NONE;
	while (p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE) {
		enum slu_ptx_type type =
			slu_ptx_type_find(p->lexer.token.text, p->lexer.token.size);

		if (slu_ptx_at_directive(p, "align")) {
			r = slu_ptx_parse_align(p, &align);
			if (r)
				return r;
			continue;
		}
		if (slu_ptx_at_directive(p, "attribute")) {
			slu_ptx_lexer_next(&p->lexer);
			r = slu_ptx_expect(p, '(');
			if (r)
				return r;
			if (!slu_ptx_at_directive(p, "managed"))
				return slu_ptx_refuse_token(p, ".managed");
			v->is_managed = true;
			slu_ptx_lexer_next(&p->lexer);
			r = slu_ptx_expect(p, ')');
			if (r)
				return r;
			continue;
		}
		if (slu_ptx_at_directive(p, "ptr")) {
			/* a hint about what a kernel's pointer points to */
			slu_ptx_lexer_next(&p->lexer);
			if (slu_ptx_at_directive(p, "global") || slu_ptx_at_directive(p, "const") ||
			    slu_ptx_at_directive(p, "shared") || slu_ptx_at_directive(p, "local"))
				slu_ptx_lexer_next(&p->lexer);
			if (slu_ptx_at_directive(p, "align")) {
				unsigned ignored;

				r = slu_ptx_parse_align(p, &ignored);
				if (r)
					return r;
			}
			continue;
		}
		if (slu_ptx_at_directive(p, "v2"))
			vector = 2;
		else if (slu_ptx_at_directive(p, "v4"))
			vector = 4;
		else if (type && type != SLU_PTX_TYPE_PRED)
			v->type = type;
		else
			return slu_ptx_refuse_token(p, "a type");
		slu_ptx_lexer_next(&p->lexer);
	}
	if (!v->type)
		return slu_ptx_refuse_token(p, "a type");
	v->align = SLU_MAX(align, slu_ptx_type_size(v->type) * vector);
	*ret_vector = vector;
	return 0;
}

/* "[4][8]" behind a name; "[]" leaves the size open */
static int parse_dimensions(struct slu_ptx_parser *p, struct slu_ptx_variable *v, unsigned vector)
{
	uint64_t bytes = (uint64_t)slu_ptx_type_size(v->type) * vector, n;
	int r;

	while (slu_ptx_accept(p, '[')) {
		struct slu_ptx_token t = p->lexer.token;

		if (slu_ptx_accept(p, ']')) {
			if (v->is_open)
				return slu_ptx_refuse_token(p, "only one open dimension");
			v->is_open = true;
			continue;
		}
		r = slu_ptx_parse_count(p, "a number of elements", INT64_MAX, &n);
		if (r)
			return r;
		if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > SLU_PTX_MAX_BYTES)
			return slu_ptx_refuse(p, &t, "variable is too large");
		r = slu_ptx_expect(p, ']');
		if (r)
			return r;
	}
	v->size = bytes;
	return 0;
}

static int declare(struct slu_ptx_parser *p, struct slu_ptx_variable *v,
		   const struct slu_ptx_token *name)
{
	struct slu_ptx_symbol *symbol;
	int r;

	r = slu_ptx_scope_declare(&p->scope, name->text, name->size, SLU_PTX_SYMBOL_VARIABLE,
				  &symbol);
	if (r == SLU_PTX_SCOPE_E_TAKEN) {
		struct slu_ptx_variable *old = symbol->variable;

		/* a module may declare a variable and then define it */
		if (p->scope.depth == 0 && symbol->kind == SLU_PTX_SYMBOL_VARIABLE &&
		    old->space == v->space &&
		    (old->linkage == SLU_PTX_LINKAGE_EXTERN ||
		     v->linkage == SLU_PTX_LINKAGE_EXTERN)) {
			if (v->linkage != SLU_PTX_LINKAGE_EXTERN) {
				v->index = old->index;
				*old = *v;
			}
			return 0;
		}
		return slu_ptx_refuse(p, name, "'%.*s' is declared twice", slu_ptx_shown(name),
				      name->text);
	}
	if (r)
		return slu_fold(r);
	symbol->variable = v;
	if (v->space == SLU_PTX_SPACE_GLOBAL || v->space == SLU_PTX_SPACE_CONST ||
	    v->space == SLU_PTX_SPACE_SHARED) {
		v->index = (unsigned)p->variables.n;
		return slu_fold(slu_ptx_list_add(&p->variables, &v));
	}
	return 0;
}

/* Gives a variable of a function's frame its place. */
static int place(struct slu_ptx_parser *p, struct slu_ptx_variable *v, uint64_t *top)
{
	v->offset = slu_round_up(*top, v->align);
	*top = v->offset + v->size;
	if (*top > SLU_PTX_MAX_BYTES)
		return slu_ptx_refuse(p, &p->lexer.token,
				      "variables of the function are too large");
	return 0;
}

/* ".const[3]": old texts say in which of eleven banks; here all are one memory */
static int skip_bank(struct slu_ptx_parser *p)
{
	uint64_t bank;
	int r;

	if (!slu_ptx_accept(p, '['))
		return 0;
	r = slu_ptx_parse_count(p, "a bank from 0 to 10", 10, &bank);
	return r ? r : slu_ptx_expect(p, ']');
}

int slu_ptx_parse_variables(struct slu_ptx_parser *p, enum slu_ptx_space space,
			    enum slu_ptx_linkage linkage)
{
	struct slu_ptx_variable common = { .space = space, .linkage = linkage };
	unsigned vector;
	int r;

	if (space == SLU_PTX_SPACE_CONST) {
		r = skip_bank(p);
		if (r)
			return r;
	}
	r = parse_type(p, &common, &vector);
	if (r)
		return r;
	do {
		struct slu_ptx_token name = p->lexer.token;
		struct slu_ptx_variable *v;

		if (name.kind != SLU_PTX_TOKEN_WORD)
			return slu_ptx_refuse_token(p, "a name");
		slu_ptx_lexer_next(&p->lexer);
		v = slu_ptx_arena_copy(p->module->arena, &common, sizeof(common));
		if (!v)
			return slu_error(-ENOMEM);
		v->name = slu_ptx_intern(p, &name);
		if (!v->name)
			return slu_error(-ENOMEM);
		r = parse_dimensions(p, v, vector);
		if (!r && slu_ptx_accept(p, '='))
			r = slu_ptx_parse_init(p, v);
		if (r)
			return r;
		if (v->is_open) {
			v->size = 0;
			if (linkage != SLU_PTX_LINKAGE_EXTERN)
				return slu_ptx_refuse(p, &name, "'%s' needs a size", v->name);
		}
		if (space == SLU_PTX_SPACE_LOCAL) {
			r = place(p, v, &p->local_top);
			p->function->local_bytes = SLU_MAX(p->function->local_bytes, p->local_top);
			p->function->local_align = SLU_MAX(p->function->local_align, v->align);
		} else if (space == SLU_PTX_SPACE_PARAM) {
			v->role = SLU_PTX_ROLE_CALL;
			r = place(p, v, &p->call_top);
			p->function->call_bytes =
				SLU_MAX(p->function->call_bytes,
					slu_round_up(p->call_top, SLU_PTX_PARAM_ALIGN));
		}
		if (!r)
			r = declare(p, v, &name);
		if (r)
			return r;
	} while (slu_ptx_accept(p, ','));
	return slu_ptx_expect(p, ';');
}

int slu_ptx_parse_param(struct slu_ptx_parser *p, enum slu_ptx_role role, uint64_t *bytes,
			struct slu_ptx_variable **ret_variable)
{
	struct slu_ptx_token name;
	struct slu_ptx_variable *v;
	unsigned vector;
	int r;

	v = slu_ptx_arena_take(p->module->arena, sizeof(*v));
	if (!v)
		return slu_error(-ENOMEM);
	v->space = SLU_PTX_SPACE_PARAM;
	v->role = role;
	r = parse_type(p, v, &vector);
	if (r)
		return r;
	name = p->lexer.token;
	if (name.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "the parameter's name");
	slu_ptx_lexer_next(&p->lexer);
	v->name = slu_ptx_intern(p, &name);
	if (!v->name)
		return slu_error(-ENOMEM);
	r = parse_dimensions(p, v, vector);
	if (r)
		return r;
	if (v->is_open)
		return slu_ptx_refuse(p, &name, "a parameter of open size is not supported");
	if (v->size > 65536)
		return slu_ptx_refuse(p, &name, "parameter is too large");
	v->offset = slu_round_up(*bytes, v->align);
	*bytes = v->offset + v->size;
	/* a declaration may leave its parameters unnamed */
	if (!slu_ptx_token_is(&name, "_")) {
		r = declare(p, v, &name);
		if (r)
			return r;
	}
	*ret_variable = v;
	return 0;
}

int slu_ptx_take_param(struct slu_ptx_parser *p, unsigned size,
		       const struct slu_ptx_variable **ret_variable)
{
	struct slu_ptx_variable *v = slu_ptx_arena_take(p->module->arena, sizeof(*v));
	int r;

	if (!v)
		return slu_error(-ENOMEM);
	v->name = "";
	v->space = SLU_PTX_SPACE_PARAM;
	v->role = SLU_PTX_ROLE_CALL;
	v->type = SLU_PTX_TYPE_B8;
	v->size = v->align = size;
	r = place(p, v, &p->call_top);
	if (r)
		return r;
	p->function->call_bytes =
		SLU_MAX(p->function->call_bytes, slu_round_up(p->call_top, SLU_PTX_PARAM_ALIGN));
	*ret_variable = v;
	return 0;
}
