/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: their signatures, what stands between these and the body, other names for them. */
#include <errno.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/constant.h"

/* "(.param .b32 a, .reg .b64 b)"; the opening one is behind us */
int slu_ptx_parse_signature(struct slu_ptx_parser *p, enum slu_ptx_role role,
			    struct slu_ptx_variable ***ret_list, unsigned *ret_n,
			    uint64_t *ret_bytes, unsigned *ret_align)
{
	struct slu_ptx_list list = { .item_size = sizeof(struct slu_ptx_variable *) };
	struct slu_ptx_variable *v;
	uint64_t bytes = 0;
	unsigned align = 1;
	int r = 0;

	while (!slu_ptx_lexer_is(&p->lexer, ')')) {
		bool is_register = slu_ptx_at_directive(p, "reg") && !p->function->is_kernel;

		if (!is_register && !slu_ptx_at_directive(p, "param")) {
			r = slu_ptx_refuse_token(p, ".param");
			break;
		}
		slu_ptx_lexer_next(&p->lexer);
		r = is_register ? slu_ptx_parse_bound(p, role, &bytes, &v)
				: slu_ptx_parse_param(p, role, &bytes, &v);
		if (r)
			break;
		v->index = (unsigned)list.n;
		align = SLU_MAX(align, v->align);
		r = slu_fold(slu_ptx_list_add(&list, &v));
		if (r || !slu_ptx_accept(p, ','))
			break;
	}
	if (!r)
		r = slu_ptx_expect(p, ')');
	if (!r) {
		*ret_list =
			slu_ptx_arena_copy(p->module->arena, list.items, list.n * list.item_size);
		*ret_n = (unsigned)list.n;
		*ret_bytes = bytes;
		*ret_align = align;
		if (!*ret_list)
			r = slu_error(-ENOMEM);
	}
	slu_ptx_list_deinit(&list);
	return r;
}

static int parse_number(struct slu_ptx_parser *p, unsigned *ret_number)
{
	uint64_t n;
	int r;

	r = slu_ptx_parse_count(p, "a number", UINT32_MAX, &n);
	if (!r)
		*ret_number = (unsigned)n;
	return r;
}

/* "256, 1, 1" */
static int parse_shape(struct slu_ptx_parser *p, unsigned shape[3])
{
	int r;

	shape[0] = shape[1] = shape[2] = 1;
	for (unsigned i = 0; i < 3; i++) {
		r = parse_number(p, &shape[i]);
		if (r)
			return r;
		if (!slu_ptx_accept(p, ','))
			break;
	}
	return 0;
}

/*
 * What stands between a signature and its body. Of functions that are called, how many registers
 * they leave alone is between a compiler and its allocator, and nobody's here.
 */
int slu_ptx_parse_performance(struct slu_ptx_parser *p, struct slu_ptx_function *f)
{
	bool is_prototype = !f->name;
	unsigned ignored;
	int r = 0;

	while (!r && p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE) {
		struct slu_ptx_token t = p->lexer.token;

		slu_ptx_lexer_next(&p->lexer);
		if (slu_ptx_token_is(&t, "noreturn")) {
			if (f->is_kernel || f->n_results)
				return slu_ptx_refuse(
					p, &t,
					"'.noreturn' is for functions that give nothing back");
		} else if (!f->is_kernel && (slu_ptx_token_is(&t, "abi_preserve") ||
					     slu_ptx_token_is(&t, "abi_preserve_control"))) {
			r = parse_number(p, &ignored);
		} else if (!is_prototype && slu_ptx_token_is(&t, "maxntid")) {
			r = parse_shape(p, f->max_threads);
		} else if (!is_prototype && slu_ptx_token_is(&t, "reqntid")) {
			r = parse_shape(p, f->required_threads);
		} else if (!is_prototype && (slu_ptx_token_is(&t, "minnctapersm") ||
					     slu_ptx_token_is(&t, "maxnctapersm"))) {
			r = parse_number(p, &f->min_blocks);
		} else if (!is_prototype && slu_ptx_token_is(&t, "maxnreg")) {
			r = parse_number(p, &f->max_registers);
		} else if (!is_prototype && slu_ptx_token_is(&t, "pragma")) {
			while (!slu_ptx_accept(p, ';')) {
				if (p->lexer.token.kind == SLU_PTX_TOKEN_END)
					return slu_ptx_refuse_token(p, "';'");
				slu_ptx_lexer_next(&p->lexer);
			}
		} else {
			return slu_ptx_refuse(p, &t, "directive '.%.*s' is not supported here",
					      slu_ptx_shown(&t), t.text);
		}
	}
	return r;
}

/*
 * Finds or makes the function of that name. Its signature is read afterwards, because results
 * stand in front of the name and their names belong into the function's scope.
 */
static int declare_function(struct slu_ptx_parser *p, const struct slu_ptx_token *name,
			    bool is_kernel, struct slu_ptx_function **ret_function)
{
	struct slu_ptx_symbol *symbol;
	struct slu_ptx_function *f;
	int r;

	r = slu_ptx_scope_declare(&p->scope, name->text, name->size, SLU_PTX_SYMBOL_FUNCTION,
				  &symbol);
	if (r == SLU_PTX_SCOPE_E_TAKEN) {
		f = symbol->function;
		if (symbol->kind != SLU_PTX_SYMBOL_FUNCTION || f->is_defined ||
		    f->is_kernel != is_kernel)
			return slu_ptx_refuse(p, name, "'%.*s' is declared twice",
					      slu_ptx_shown(name), name->text);
		*f = (struct slu_ptx_function){ .name = f->name, .index = f->index };
	} else if (r) {
		return slu_fold(r);
	} else {
		f = slu_ptx_arena_take(p->module->arena, sizeof(*f));
		if (!f)
			return slu_error(-ENOMEM);
		f->index = (unsigned)p->functions.n;
		f->name = slu_ptx_intern(p, name);
		if (!f->name)
			return slu_error(-ENOMEM);
		symbol->function = f;
		r = slu_ptx_list_add(&p->functions, &f);
		if (r)
			return slu_fold(r);
	}
	f->is_kernel = is_kernel;
	f->local_align = 1;
	f->line = name->line;
	*ret_function = f;
	return 0;
}

/* The name of a function, from a lexer of its own that looks past the results. */
static int peek_name(struct slu_ptx_parser *p, struct slu_ptx_token *ret_name)
{
	struct slu_ptx_lexer saved = p->lexer;
	int r = 0;

	if (slu_ptx_accept(p, '(')) {
		while (!slu_ptx_lexer_is(&p->lexer, ')') &&
		       p->lexer.token.kind != SLU_PTX_TOKEN_END)
			slu_ptx_lexer_next(&p->lexer);
		slu_ptx_lexer_next(&p->lexer);
	}
	if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
		r = slu_ptx_refuse_token(p, "the function's name");
	*ret_name = p->lexer.token;
	p->lexer = saved;
	return r;
}

int slu_ptx_parse_function(struct slu_ptx_parser *p, enum slu_ptx_linkage linkage, bool is_kernel)
{
	struct slu_ptx_function *f = NULL;
	struct slu_ptx_token name;
	unsigned ignored;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	r = peek_name(p, &name);
	if (!r)
		r = declare_function(p, &name, is_kernel, &f);
	if (r)
		return r;
	f->linkage = linkage;
	p->function = f;
	p->reg_types.n = p->bound.n = 0;
	slu_ptx_scope_enter(&p->scope);
	if (!is_kernel && slu_ptx_accept(p, '(')) {
		r = slu_ptx_parse_signature(p, SLU_PTX_ROLE_RESULT, &f->results, &f->n_results,
					    &f->result_bytes, &ignored);
		if (r)
			return r;
	}
	if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "the function's name");
	slu_ptx_lexer_next(&p->lexer);
	if (slu_ptx_accept(p, '(')) {
		r = slu_ptx_parse_signature(p, SLU_PTX_ROLE_PARAM, &f->params, &f->n_params,
					    &f->param_bytes, &f->param_align);
		if (r)
			return r;
	}
	if (!is_kernel) {
		f->param_bytes = slu_round_up(f->param_bytes, SLU_PTX_PARAM_ALIGN);
		f->result_bytes = slu_round_up(f->result_bytes, SLU_PTX_PARAM_ALIGN);
	}
	r = slu_ptx_parse_performance(p, f);
	if (r)
		return r;
	if (slu_ptx_lexer_is(&p->lexer, '{'))
		r = slu_ptx_parse_body(p);
	else
		r = slu_ptx_expect(p, ';');
	if (!r)
		slu_ptx_scope_leave(&p->scope);
	return r;
}

/* ".alias a, b;": another name for a function that is there */
int slu_ptx_parse_alias(struct slu_ptx_parser *p)
{
	struct slu_ptx_token names[2];
	struct slu_ptx_symbol *symbol, *target;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	for (unsigned i = 0; i < 2; i++) {
		names[i] = p->lexer.token;
		if (names[i].kind != SLU_PTX_TOKEN_WORD)
			return slu_ptx_refuse_token(p, "a function's name");
		slu_ptx_lexer_next(&p->lexer);
		r = slu_ptx_expect(p, i ? ';' : ',');
		if (r)
			return r;
	}
	target = slu_ptx_scope_find(&p->scope, names[1].text, names[1].size);
	if (!target || target->kind != SLU_PTX_SYMBOL_FUNCTION)
		return slu_ptx_refuse(p, &names[1], "'%.*s' is no function",
				      slu_ptx_shown(&names[1]), names[1].text);
	symbol = slu_ptx_scope_find(&p->scope, names[0].text, names[0].size);
	if (symbol && symbol->kind == SLU_PTX_SYMBOL_FUNCTION && !symbol->function->is_defined) {
		struct slu_ptx_function *f = symbol->function;
		const char *name = f->name;
		unsigned index = f->index;

		*f = *target->function;
		f->name = name;
		f->index = index;
		return 0;
	}
	return slu_ptx_refuse(p, &names[0], "an alias must be declared and not defined before");
}
