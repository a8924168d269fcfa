/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which line of which file an instruction was made from: .file gives a file a number, .loc says
 * where everything that follows it comes from. The file may be named below all that comes from it.
 * Where a function was inlined is not kept: the innermost place is what somebody wants to look at.
 */
#include <errno.h>

#include "base/error.h"
#include "ptx/parser.h"

static int parse_number(struct slu_ptx_parser *p, const char *expected, uint32_t *ret_number)
{
	const struct slu_ptx_token *t = &p->lexer.token;

	if (t->kind != SLU_PTX_TOKEN_INT || t->value > UINT32_MAX)
		return slu_ptx_refuse_token(p, expected);
	*ret_number = (uint32_t)t->value;
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* What else may stand there goes to the end of the line. */
static void skip_rest(struct slu_ptx_parser *p, unsigned line)
{
	while (p->lexer.token.kind != SLU_PTX_TOKEN_END && p->lexer.token.line == line)
		slu_ptx_lexer_next(&p->lexer);
}

/* ".file 1 "path", 1700000000, 1234" */
int slu_ptx_parse_file(struct slu_ptx_parser *p)
{
	struct slu_ptx_file file = { 0 };
	struct slu_ptx_token name;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	r = parse_number(p, "the number of a file", &file.number);
	if (r)
		return r;
	name = p->lexer.token;
	if (name.kind != SLU_PTX_TOKEN_STRING)
		return slu_ptx_refuse_token(p, "the name of a file");
	skip_rest(p, name.line);
	/* without its quotes */
	name.text++;
	name.size -= 2;
	file.name = slu_ptx_intern(p, &name);
	if (!file.name)
		return slu_error(-ENOMEM);
	return slu_fold(slu_ptx_list_add(&p->files, &file));
}

/* ".loc 1 12 3", and ", function_name label, inlined_at 1 40 9" behind it */
int slu_ptx_parse_loc(struct slu_ptx_parser *p)
{
	unsigned at = p->lexer.token.line;
	uint32_t file = 0, line = 0, column = 0;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	r = parse_number(p, "the number of a file", &file);
	if (!r)
		r = parse_number(p, "a line", &line);
	if (!r)
		r = parse_number(p, "a column", &column);
	if (r)
		return r;
	if (slu_ptx_lexer_is(&p->lexer, ','))
		skip_rest(p, at);
	p->source_file = file;
	p->source_line = line;
	return 0;
}

const char *slu_ptx_module_file(const struct slu_ptx_module *module, uint32_t number)
{
	for (unsigned i = 0; i < module->n_files; i++)
		if (module->files[i].number == number)
			return module->files[i].name;
	return NULL;
}
