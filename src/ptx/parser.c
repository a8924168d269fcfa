/* SPDX-License-Identifier: Apache-2.0 */
/* What every file of the parser uses: lists, single tokens, refusals. */
#include "ptx/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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

bool slu_ptx_at_directive(const struct slu_ptx_parser *p, const char *name)
{
	return p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE &&
	       slu_ptx_token_is(&p->lexer.token, name);
}
