/* SPDX-License-Identifier: Apache-2.0 */
/* The module: its head, functions with their signatures, and the way in. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/parser.h"

int slu_ptx_list_add(struct slu_ptx_list *list, const void *item)
{
	if (list->n == list->n_allocated) {
		size_t n = list->n_allocated ? list->n_allocated * 2 : 64;
		void *items = realloc(list->items, n * list->item_size);

		if (!items)
			return slu_error(-ENOMEM);
		list->items = items;
		list->n_allocated = n;
	}
	memcpy((char *)list->items + list->n * list->item_size, item, list->item_size);
	list->n++;
	return 0;
}

void slu_ptx_list_deinit(struct slu_ptx_list *list)
{
	free(list->items);
	*list = (struct slu_ptx_list){ 0 };
}

int slu_ptx_refuse(struct slu_ptx_parser *p, const struct slu_ptx_token *at, const char *format,
		   ...)
{
	va_list args;

	p->error->line = at->line;
	p->error->column = at->column;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return SLU_PTX_E_REFUSED;
}

int slu_ptx_refuse_token(struct slu_ptx_parser *p, const char *expected)
{
	const struct slu_ptx_token *t = &p->lexer.token;

	if (t->kind == SLU_PTX_TOKEN_END)
		return slu_ptx_refuse(p, t, "the text ends where %s is wanted", expected);
	return slu_ptx_refuse(p, t, "'%s%.*s' where %s is wanted",
			      t->kind == SLU_PTX_TOKEN_DIRECTIVE ? "." : "", slu_ptx_shown(t),
			      t->text, expected);
}

bool slu_ptx_accept(struct slu_ptx_parser *p, char c)
{
	if (!slu_ptx_lexer_is(&p->lexer, c))
		return false;
	slu_ptx_lexer_next(&p->lexer);
	return true;
}

int slu_ptx_expect(struct slu_ptx_parser *p, char c)
{
	char expected[] = { '\'', c, '\'', 0 };

	return slu_ptx_accept(p, c) ? 0 : slu_ptx_refuse_token(p, expected);
}

char *slu_ptx_intern(struct slu_ptx_parser *p, const struct slu_ptx_token *token)
{
	return slu_ptx_arena_string(p->module->arena, token->text, token->size);
}

static bool at_directive(const struct slu_ptx_parser *p, const char *name)
{
	return p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE &&
	       slu_ptx_token_is(&p->lexer.token, name);
}

/* "(.param .b32 a, .param .b64 b)"; the opening one is behind us */
static int parse_signature(struct slu_ptx_parser *p, enum slu_ptx_role role,
			   struct slu_ptx_variable ***ret_list, unsigned *ret_n,
			   uint64_t *ret_bytes, unsigned *ret_align)
{
	struct slu_ptx_list list = { .item_size = sizeof(struct slu_ptx_variable *) };
	struct slu_ptx_variable *v;
	uint64_t bytes = 0;
	unsigned align = 1;
	int r = 0;

	while (!slu_ptx_lexer_is(&p->lexer, ')')) {

		if (!at_directive(p, "param")) {
			r = slu_ptx_refuse_token(p, ".param");
			break;
		}
		slu_ptx_lexer_next(&p->lexer);
		r = slu_ptx_parse_param(p, role, &bytes, &v);
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

/* "256, 1, 1" */
static int parse_shape(struct slu_ptx_parser *p, unsigned shape[3])
{
	shape[0] = shape[1] = shape[2] = 1;
	for (unsigned i = 0; i < 3; i++) {
		if (p->lexer.token.kind != SLU_PTX_TOKEN_INT || p->lexer.token.value > UINT32_MAX)
			return slu_ptx_refuse_token(p, "a number of threads");
		shape[i] = (unsigned)p->lexer.token.value;
		slu_ptx_lexer_next(&p->lexer);
		if (!slu_ptx_accept(p, ','))
			break;
	}
	return 0;
}

static int parse_number(struct slu_ptx_parser *p, unsigned *ret)
{
	if (p->lexer.token.kind != SLU_PTX_TOKEN_INT || p->lexer.token.value > UINT32_MAX)
		return slu_ptx_refuse_token(p, "a number");
	*ret = (unsigned)p->lexer.token.value;
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* What stands between a signature and its body. */
static int parse_performance(struct slu_ptx_parser *p, struct slu_ptx_function *f)
{
	int r = 0;

	while (!r && p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE) {
		struct slu_ptx_token t = p->lexer.token;

		slu_ptx_lexer_next(&p->lexer);
		if (slu_ptx_token_is(&t, "maxntid"))
			r = parse_shape(p, f->max_threads);
		else if (slu_ptx_token_is(&t, "reqntid"))
			r = parse_shape(p, f->required_threads);
		else if (slu_ptx_token_is(&t, "minnctapersm") ||
			 slu_ptx_token_is(&t, "maxnctapersm"))
			r = parse_number(p, &f->min_blocks);
		else if (slu_ptx_token_is(&t, "maxnreg"))
			r = parse_number(p, &f->max_registers);
		else if (slu_ptx_token_is(&t, "noreturn"))
			f->is_noreturn = true;
		else if (slu_ptx_token_is(&t, "pragma"))
			while (!slu_ptx_accept(p, ';')) {
				if (p->lexer.token.kind == SLU_PTX_TOKEN_END)
					return slu_ptx_refuse_token(p, "';'");
				slu_ptx_lexer_next(&p->lexer);
			}
		else
			return slu_ptx_refuse(p, &t, "directive '.%.*s' is not supported here",
					      slu_ptx_shown(&t), t.text);
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

static int parse_function(struct slu_ptx_parser *p, enum slu_ptx_linkage linkage, bool is_kernel)
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
	slu_ptx_scope_enter(&p->scope);
	if (!is_kernel && slu_ptx_accept(p, '(')) {
		r = parse_signature(p, SLU_PTX_ROLE_RESULT, &f->results, &f->n_results,
				    &f->result_bytes, &ignored);
		if (r)
			return r;
	}
	if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "the function's name");
	slu_ptx_lexer_next(&p->lexer);
	if (slu_ptx_accept(p, '(')) {
		r = parse_signature(p, SLU_PTX_ROLE_PARAM, &f->params, &f->n_params,
				    &f->param_bytes, &f->param_align);
		if (r)
			return r;
	}
	r = parse_performance(p, f);
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
static int parse_alias(struct slu_ptx_parser *p)
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

/* debug sections: braces around what nobody here reads */
static int skip_section(struct slu_ptx_parser *p)
{
	unsigned depth = 0;

	do {
		slu_ptx_lexer_next(&p->lexer);
		if (p->lexer.token.kind == SLU_PTX_TOKEN_END)
			return slu_ptx_refuse_token(p, "'}'");
		if (slu_ptx_lexer_is(&p->lexer, '{'))
			depth++;
		if (slu_ptx_lexer_is(&p->lexer, '}'))
			depth--;
	} while (depth || !slu_ptx_lexer_is(&p->lexer, '}'));
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* ".version 7.0" reads as one number with a dot in it */
static int parse_version(struct slu_ptx_parser *p)
{
	const struct slu_ptx_token *t;
	unsigned *part = &p->module->version_major;

	slu_ptx_lexer_next(&p->lexer);
	t = &p->lexer.token;
	if (t->kind != SLU_PTX_TOKEN_F64 && t->kind != SLU_PTX_TOKEN_INT)
		return slu_ptx_refuse_token(p, "a version");
	for (size_t i = 0; i < t->size; i++) {
		if (t->text[i] == '.')
			part = &p->module->version_minor;
		else if (t->text[i] >= '0' && t->text[i] <= '9' && *part < 1000)
			*part = *part * 10 + (unsigned)(t->text[i] - '0');
		else
			return slu_ptx_refuse_token(p, "a version");
	}
	if (p->module->version_major > 9)
		return slu_ptx_refuse_token(p, "a version up to 9");
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* ".target sm_75, texmode_independent" */
static int parse_target(struct slu_ptx_parser *p)
{
	do {
		const struct slu_ptx_token *t;

		slu_ptx_lexer_next(&p->lexer);
		t = &p->lexer.token;
		if (t->kind != SLU_PTX_TOKEN_WORD)
			return slu_ptx_refuse_token(p, "a target");
		if (t->size > 3 && !memcmp(t->text, "sm_", 3)) {
			size_t i = 3;

			p->module->target = 0;
			for (; i < t->size && t->text[i] >= '0' && t->text[i] <= '9' &&
			       p->module->target < 1000;
			     i++)
				p->module->target =
					p->module->target * 10 + (unsigned)(t->text[i] - '0');
			p->module->target_suffix = i < t->size ? t->text[i] : 0;
		}
		slu_ptx_lexer_next(&p->lexer);
	} while (slu_ptx_lexer_is(&p->lexer, ','));
	return 0;
}

static int parse_statement(struct slu_ptx_parser *p)
{
	static const struct {
		const char *name;
		enum slu_ptx_linkage linkage;
	} linkages[] = {
		{ "visible", SLU_PTX_LINKAGE_VISIBLE },
		{ "weak", SLU_PTX_LINKAGE_WEAK },
		{ "common", SLU_PTX_LINKAGE_COMMON },
		{ "extern", SLU_PTX_LINKAGE_EXTERN },
	};
	const struct slu_ptx_token *t = &p->lexer.token;
	enum slu_ptx_linkage linkage = SLU_PTX_LINKAGE_NONE;

	if (t->kind != SLU_PTX_TOKEN_DIRECTIVE)
		return slu_ptx_refuse_token(p, "a directive");
	for (size_t i = 0; i < SLU_ARRAY_SIZE(linkages); i++)
		if (slu_ptx_token_is(t, linkages[i].name)) {
			linkage = linkages[i].linkage;
			slu_ptx_lexer_next(&p->lexer);
			break;
		}
	if (at_directive(p, "entry"))
		return parse_function(p, linkage, true);
	if (at_directive(p, "func"))
		return parse_function(p, linkage, false);
	if (at_directive(p, "global") || at_directive(p, "const") || at_directive(p, "shared")) {
		enum slu_ptx_space space = at_directive(p, "global")  ? SLU_PTX_SPACE_GLOBAL
					   : at_directive(p, "const") ? SLU_PTX_SPACE_CONST
								      : SLU_PTX_SPACE_SHARED;

		slu_ptx_lexer_next(&p->lexer);
		return slu_ptx_parse_variables(p, space, linkage);
	}
	if (linkage != SLU_PTX_LINKAGE_NONE)
		return slu_ptx_refuse_token(p, "a function or variable");
	if (slu_ptx_token_is(t, "version"))
		return parse_version(p);
	if (slu_ptx_token_is(t, "target"))
		return parse_target(p);
	if (slu_ptx_token_is(t, "address_size")) {
		slu_ptx_lexer_next(&p->lexer);
		if (t->kind != SLU_PTX_TOKEN_INT || t->value != 64)
			return slu_ptx_refuse_token(p, "64");
		slu_ptx_lexer_next(&p->lexer);
		return 0;
	}
	if (slu_ptx_token_is(t, "file") || slu_ptx_token_is(t, "loc")) {
		slu_ptx_lexer_skip_line(&p->lexer);
		return 0;
	}
	if (slu_ptx_token_is(t, "section"))
		return skip_section(p);
	if (slu_ptx_token_is(t, "alias"))
		return parse_alias(p);
	if (slu_ptx_token_is(t, "pragma")) {
		slu_ptx_lexer_next(&p->lexer);
		slu_ptx_lexer_next(&p->lexer);
		return slu_ptx_expect(p, ';');
	}
	return slu_ptx_refuse(p, t, "directive '.%.*s' is not supported here", slu_ptx_shown(t),
			      t->text);
}

static int parse_module(struct slu_ptx_parser *p)
{
	struct slu_ptx_module *m = p->module;
	int r;

	if (!at_directive(p, "version"))
		return slu_ptx_refuse_token(p, ".version");
	while (p->lexer.token.kind != SLU_PTX_TOKEN_END) {
		r = parse_statement(p);
		if (r)
			return r;
	}
	m->n_variables = (unsigned)p->variables.n;
	m->n_functions = (unsigned)p->functions.n;
	m->variables = slu_ptx_arena_copy(m->arena, p->variables.items,
					  p->variables.n * p->variables.item_size);
	m->functions = slu_ptx_arena_copy(m->arena, p->functions.items,
					  p->functions.n * p->functions.item_size);
	if (!m->variables || !m->functions)
		return slu_error(-ENOMEM);
	return slu_ptx_place_shared(m);
}

int slu_ptx_parse(const char *text, size_t size, struct slu_ptx_module **ret_module,
		  struct slu_ptx_error *ret_error)
{
	struct slu_ptx_error error = { 0 };
	struct slu_ptx_parser p = {
		.error = &error,
		.variables.item_size = sizeof(struct slu_ptx_variable *),
		.functions.item_size = sizeof(struct slu_ptx_function *),
		.reg_types.item_size = sizeof(uint8_t),
		.instrs.item_size = sizeof(struct slu_ptx_instr),
		.labels.item_size = sizeof(struct slu_ptx_label),
		.pending.item_size = sizeof(struct slu_ptx_pending),
	};
	struct slu_ptx_arena *arena;
	int r;

	arena = slu_ptx_arena_new();
	if (!arena)
		return slu_error(-ENOMEM);
	p.module = slu_ptx_arena_take(arena, sizeof(*p.module));
	if (!p.module) {
		slu_ptx_arena_free(arena);
		return slu_error(-ENOMEM);
	}
	p.module->arena = arena;
	slu_ptx_lexer_init(&p.lexer, text, size);
	r = slu_ptx_scope_init(&p.scope);
	if (!r)
		r = parse_module(&p);

	slu_ptx_scope_deinit(&p.scope);
	slu_ptx_list_deinit(&p.variables);
	slu_ptx_list_deinit(&p.functions);
	slu_ptx_list_deinit(&p.reg_types);
	slu_ptx_list_deinit(&p.instrs);
	slu_ptx_list_deinit(&p.labels);
	slu_ptx_list_deinit(&p.pending);
	free(p.forms);
	if (r) {
		slu_ptx_arena_free(arena);
		if (r == SLU_PTX_E_REFUSED)
			*ret_error = error;
		return r;
	}
	*ret_module = p.module;
	return 0;
}

void slu_ptx_module_free(struct slu_ptx_module *module)
{
	if (module)
		slu_ptx_arena_free(module->arena);
}

struct slu_ptx_function *slu_ptx_module_kernel(const struct slu_ptx_module *module,
					       const char *name)
{
	for (unsigned i = 0; i < module->n_functions; i++) {
		struct slu_ptx_function *f = module->functions[i];

		if (f->is_kernel && f->is_defined && !strcmp(f->name, name))
			return f;
	}
	return NULL;
}

struct slu_ptx_variable *slu_ptx_module_variable(const struct slu_ptx_module *module,
						 const char *name)
{
	for (unsigned i = 0; i < module->n_variables; i++) {
		struct slu_ptx_variable *v = module->variables[i];

		if (v->space != SLU_PTX_SPACE_SHARED && !strcmp(v->name, name))
			return v;
	}
	return NULL;
}
