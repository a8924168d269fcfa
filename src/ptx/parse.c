/* SPDX-License-Identifier: Apache-2.0 */
/* The module: its head, its statements, and the way in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/parser.h"

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

/* The last minor version of each major one; the newest of all is what opcodes.def was made from. */
static const uint8_t last_minor[] = {
	[1] = 5, [2] = 3, [3] = 2, [4] = 3, [5] = 0, [6] = 5, [7] = 8, [8] = 8, [9] = 0,
};

/* ".version 7.0" reads as one number with a dot in it */
static int parse_version(struct slu_ptx_parser *p)
{
	struct slu_ptx_module *m = p->module;
	unsigned *part = &m->version_major;
	const struct slu_ptx_token *t;

	slu_ptx_lexer_next(&p->lexer);
	t = &p->lexer.token;
	if (t->kind != SLU_PTX_TOKEN_F64 && t->kind != SLU_PTX_TOKEN_INT)
		return slu_ptx_refuse_token(p, "a version");
	m->version_major = m->version_minor = 0;
	for (size_t i = 0; i < t->size; i++) {
		if (t->text[i] == '.')
			part = &m->version_minor;
		else if (t->text[i] >= '0' && t->text[i] <= '9' && *part < 1000)
			*part = *part * 10 + (unsigned)(t->text[i] - '0');
		else
			return slu_ptx_refuse_token(p, "a version");
	}
	if (!m->version_major || m->version_major >= SLU_ARRAY_SIZE(last_minor) ||
	    m->version_minor > last_minor[m->version_major])
		return slu_ptx_refuse(p, t, "version %.*s is not known; the newest is %u.%u",
				      slu_ptx_shown(t), t->text,
				      (unsigned)SLU_ARRAY_SIZE(last_minor) - 1,
				      last_minor[SLU_ARRAY_SIZE(last_minor) - 1]);
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
	if (slu_ptx_at_directive(p, "entry"))
		return slu_ptx_parse_function(p, linkage, true);
	if (slu_ptx_at_directive(p, "func"))
		return slu_ptx_parse_function(p, linkage, false);
	if (slu_ptx_at_directive(p, "global") || slu_ptx_at_directive(p, "const") ||
	    slu_ptx_at_directive(p, "shared")) {
		enum slu_ptx_space space = slu_ptx_at_directive(p, "global") ? SLU_PTX_SPACE_GLOBAL
					   : slu_ptx_at_directive(p, "const")
						   ? SLU_PTX_SPACE_CONST
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
	if (slu_ptx_token_is(t, "file"))
		return slu_ptx_parse_file(p);
	if (slu_ptx_token_is(t, "loc"))
		return slu_ptx_parse_loc(p);
	if (slu_ptx_token_is(t, "section"))
		return skip_section(p);
	if (slu_ptx_token_is(t, "alias"))
		return slu_ptx_parse_alias(p);
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

	if (!slu_ptx_at_directive(p, "version"))
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
	m->n_files = (unsigned)p->files.n;
	m->files = slu_ptx_arena_copy(m->arena, p->files.items, p->files.n * p->files.item_size);
	if (!m->variables || !m->functions || !m->files)
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
		.files.item_size = sizeof(struct slu_ptx_file),
		.reg_types.item_size = sizeof(uint8_t),
		.instrs.item_size = sizeof(struct slu_ptx_instr),
		.labels.item_size = sizeof(struct slu_ptx_label),
		.pending.item_size = sizeof(struct slu_ptx_pending),
		.bound.item_size = sizeof(struct slu_ptx_bound),
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
	slu_ptx_list_deinit(&p.files);
	slu_ptx_list_deinit(&p.reg_types);
	slu_ptx_list_deinit(&p.instrs);
	slu_ptx_list_deinit(&p.labels);
	slu_ptx_list_deinit(&p.pending);
	slu_ptx_list_deinit(&p.bound);
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
