/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of an address says about whom it calls: a prototype, a list of functions, or a table
 * of them in memory. All three come down to a signature, against which the call is held as if the
 * function were named. Functions of one list or table have the same signature.
 */
#include <errno.h>

#include "base/error.h"
#include "ptx/parser.h"

static bool is_alike(struct slu_ptx_variable *const *a, struct slu_ptx_variable *const *b,
		     unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (a[i]->size != b[i]->size)
			return false;
	return true;
}

static bool has_signature_of(const struct slu_ptx_function *a, const struct slu_ptx_function *b)
{
	return a->n_params == b->n_params && a->n_results == b->n_results &&
	       is_alike(a->params, b->params, a->n_params) &&
	       is_alike(a->results, b->results, a->n_results);
}

/* "(.param .b32 _) _ (.param .b64 _) .noreturn" */
static int parse_signature(struct slu_ptx_parser *p, struct slu_ptx_function *f)
{
	uint64_t bytes;
	unsigned align;
	int r;

	if (slu_ptx_accept(p, '(')) {
		r = slu_ptx_parse_signature(p, SLU_PTX_ROLE_RESULT, &f->results, &f->n_results,
					    &bytes, &align);
		if (r)
			return r;
	}
	if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD || !slu_ptx_token_is(&p->lexer.token, "_"))
		return slu_ptx_refuse_token(p, "'_' in the place of a function's name");
	slu_ptx_lexer_next(&p->lexer);
	if (slu_ptx_accept(p, '(')) {
		r = slu_ptx_parse_signature(p, SLU_PTX_ROLE_PARAM, &f->params, &f->n_params, &bytes,
					    &align);
		if (r)
			return r;
	}
	r = slu_ptx_parse_performance(p, f);
	return r ? r : slu_ptx_expect(p, ';');
}

int slu_ptx_parse_prototype(struct slu_ptx_parser *p, struct slu_ptx_symbol *symbol)
{
	struct slu_ptx_function *outer = p->function, *f;
	size_t n_bound = p->bound.n;
	int r;

	f = slu_ptx_arena_take(p->module->arena, sizeof(*f));
	if (!f)
		return slu_error(-ENOMEM);
	symbol->function = f;
	slu_ptx_lexer_next(&p->lexer);
	/* names in it mean nothing outside, and no register comes or goes by it */
	p->function = f;
	slu_ptx_scope_enter(&p->scope);
	r = parse_signature(p, f);
	if (!r)
		slu_ptx_scope_leave(&p->scope);
	p->bound.n = n_bound;
	p->function = outer;
	return r;
}

int slu_ptx_parse_call_targets(struct slu_ptx_parser *p, struct slu_ptx_symbol *symbol)
{
	do {
		const struct slu_ptx_token *t = &p->lexer.token;
		struct slu_ptx_symbol *named;

		slu_ptx_lexer_next(&p->lexer);
		if (t->kind != SLU_PTX_TOKEN_WORD)
			return slu_ptx_refuse_token(p, "a function");
		named = slu_ptx_scope_find(&p->scope, t->text, t->size);
		if (!named || named->kind != SLU_PTX_SYMBOL_FUNCTION || named->function->is_kernel)
			return slu_ptx_refuse(p, t, "'%.*s' is no function that can be called",
					      slu_ptx_shown(t), t->text);
		if (symbol->function && !has_signature_of(symbol->function, named->function))
			return slu_ptx_refuse(p, t, "'%.*s' has another signature than '%s'",
					      slu_ptx_shown(t), t->text, symbol->function->name);
		if (!symbol->function)
			symbol->function = named->function;
		slu_ptx_lexer_next(&p->lexer);
	} while (slu_ptx_lexer_is(&p->lexer, ','));
	return slu_ptx_expect(p, ';');
}

/* Return: whom a table of addresses names first; NULL where it names nobody, or several kinds. */
static const struct slu_ptx_function *function_of_table(const struct slu_ptx_variable *v)
{
	const struct slu_ptx_function *f = NULL;

	for (const struct slu_ptx_reloc *r = v->relocs; r; r = r->next) {
		if (!r->function || (f && !has_signature_of(f, r->function)))
			return NULL;
		f = r->function;
	}
	return f;
}

int slu_ptx_parse_callees(struct slu_ptx_parser *p, const struct slu_ptx_function **ret_signature)
{
	struct slu_ptx_token t = p->lexer.token;
	const struct slu_ptx_symbol *symbol;

	if (t.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "a prototype");
	symbol = slu_ptx_scope_find(&p->scope, t.text, t.size);
	*ret_signature = !symbol				    ? NULL
			 : symbol->kind == SLU_PTX_SYMBOL_PROTOTYPE ? symbol->function
			 : symbol->kind == SLU_PTX_SYMBOL_VARIABLE
				 ? function_of_table(symbol->variable)
				 : NULL;
	if (!*ret_signature)
		return slu_ptx_refuse(p, &t, "'%.*s' is no prototype and no list of functions",
				      slu_ptx_shown(&t), t.text);
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}
