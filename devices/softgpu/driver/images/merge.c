/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/merge.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a table that cannot grow is slower, never wrong; an entry itself is made by us */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "softgpu/driver/images/statement.h"

/* A name at module scope, of all texts. */
struct symbol {
	UT_hash_handle hh;
	const struct dev_statement *winner; /* which defines it; NULL: nobody does */
	size_t input;			    /* where it was seen first */
	bool is_local;			    /* there, it was that text's own */
	bool is_out;			    /* the winner is written */
	bool is_strong;
	char name[];
};

/* A name that is a text's own and must be told from another's. */
struct rename {
	UT_hash_handle hh;
	char name[];
};

struct text {
	const char *at, *end;
	struct dev_statement *statements;
	size_t n, capacity;
	struct rename *renames;
};

struct merge {
	struct text *texts;
	size_t n_texts;
	struct symbol *symbols;
	char version[24], target[64];
	double highest_version;
	unsigned highest_target;
};

/* -- cutting -------------------------------------------------------------------------------- */

/* What stands in the head of a text; the highest of all texts is the whole's. */
static void read_head(struct merge *m, const struct dev_statement *s)
{
	char line[96];
	size_t n = (size_t)(s->end - s->begin);
	const char *sm;

	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	memcpy(line, s->begin, n);
	line[n] = '\0';
	if (dev_statement_is_word(s->begin, s->end, ".version")) {
		double version = strtod(line + 8, NULL);

		if (version > m->highest_version) {
			m->highest_version = version;
			snprintf(m->version, sizeof(m->version), "%.1f", version);
		}
	} else if (dev_statement_is_word(s->begin, s->end, ".target") &&
		   (sm = strstr(line, "sm_"))) {
		unsigned target = (unsigned)strtoul(sm + 3, NULL, 10);

		if (target > m->highest_target) {
			m->highest_target = target;
			snprintf(m->target, sizeof(m->target), "%.*s",
				 (int)(dev_statement_skip_name(sm, line + n) - sm), sm);
		}
	}
}

static int merge_cut(struct merge *m, struct text *t)
{
	struct dev_statement s;

	while (dev_statement_next(&t->at, t->end, &s)) {
		struct dev_statement *array;

		read_head(m, &s);
		if (dev_statement_is_word(s.begin, s.end, ".pragma") ||
		    dev_statement_is_word(s.begin, s.end, ".alias"))
			s.name = NULL;
		if (t->n == t->capacity) {
			array = reallocarray(t->statements, t->capacity * 2 + 64, sizeof(*array));
			if (!array)
				return slu_error(-ENOMEM);
			t->statements = array;
			t->capacity = t->capacity * 2 + 64;
		}
		t->statements[t->n++] = s;
	}
	return 0;
}

/* -- deciding ------------------------------------------------------------------------------- */

static struct symbol *find_symbol(const struct merge *m, const struct dev_statement *s)
{
	struct symbol *symbol;

	HASH_FIND(hh, m->symbols, s->name, s->name_bytes, symbol);
	return symbol;
}

static int add_symbol(struct merge *m, const struct dev_statement *s, size_t input)
{
	struct symbol *symbol = calloc(1, sizeof(*symbol) + s->name_bytes + 1);

	if (!symbol)
		return slu_error(-ENOMEM);
	memcpy(symbol->name, s->name, s->name_bytes);
	symbol->input = input;
	symbol->is_local = s->linkage == DEV_STATEMENT_LOCAL && !s->is_kernel;
	HASH_ADD_KEYPTR(hh, m->symbols, symbol->name, s->name_bytes, symbol);
	return symbol->hh.tbl ? 0 : slu_error(-ENOMEM);
}

static int add_rename(struct text *t, const struct dev_statement *s)
{
	struct rename *rename;

	HASH_FIND(hh, t->renames, s->name, s->name_bytes, rename);
	if (rename)
		return 0;
	rename = calloc(1, sizeof(*rename) + s->name_bytes + 1);
	if (!rename)
		return slu_error(-ENOMEM);
	memcpy(rename->name, s->name, s->name_bytes);
	HASH_ADD_KEYPTR(hh, t->renames, rename->name, s->name_bytes, rename);
	return rename->hh.tbl ? 0 : slu_error(-ENOMEM);
}

/* Return: 0, DEV_MERGE_E_REFUSED, -ENOMEM. */
static int merge_decide(struct merge *m, size_t input, struct dev_statement *s)
{
	struct symbol *symbol = find_symbol(m, s);
	bool is_strong = s->linkage == DEV_STATEMENT_STRONG || s->is_kernel;
	int r;

	if (!symbol) {
		r = add_symbol(m, s, input);
		if (r)
			return r;
		symbol = find_symbol(m, s);
	} else if (s->linkage == DEV_STATEMENT_LOCAL && !s->is_kernel) {
		/* of one text, a declaration and its definition are the same name */
		return symbol->input == input && symbol->is_local ? 0
								  : add_rename(&m->texts[input], s);
	} else if (symbol->is_local) {
		/* the name that everybody sees stays as it is */
		r = add_rename(&m->texts[symbol->input], s);
		if (r)
			return r;
		symbol->is_local = false;
		symbol->winner = NULL;
		symbol->input = input;
	}
	if (!dev_statement_is_definition(s) || symbol->is_local)
		return 0;
	if (symbol->is_strong && is_strong)
		return DEV_MERGE_E_REFUSED;
	if (!symbol->winner || is_strong)
		symbol->winner = s;
	symbol->is_strong = symbol->is_strong || is_strong;
	return 0;
}

/* -- writing -------------------------------------------------------------------------------- */

static void write_renamed(FILE *out, const struct text *t, size_t input, const char *at,
			  const char *end)
{
	const char *from = at, *after;
	struct rename *rename;

	if (!t->renames) {
		fwrite(at, 1, (size_t)(end - at), out);
		return;
	}
	for (; at < end; at = after) {
		after = dev_statement_skip_filling(at, end);
		if (after != at)
			continue;
		after = at + 1;
		if (*at == '.' || isdigit((unsigned char)*at)) {
			after = at + 1 < end && dev_statement_is_name_char(at[1])
					? dev_statement_skip_name(at, end)
					: at + 1;
			continue;
		}
		if (!dev_statement_is_name_start(*at))
			continue;
		after = dev_statement_skip_name(at, end);
		HASH_FIND(hh, t->renames, at, (size_t)(after - at), rename);
		if (!rename)
			continue;
		fwrite(from, 1, (size_t)(after - from), out);
		fprintf(out, "$of%zu", input);
		from = after;
	}
	fwrite(from, 1, (size_t)(end - from), out);
}

/* A definition that another one beats serves as a declaration, where the other comes later. */
static void write_declaration(FILE *out, const struct text *t, size_t input,
			      const struct dev_statement *s)
{
	const char *end = s->body ? s->body : s->end - 1, *begin = s->begin;

	if (!s->is_function) {
		fputs(".extern ", out);
		begin = dev_statement_skip_name(begin, end);
	}
	write_renamed(out, t, input, begin, end);
	fputs(";\n", out);
}

static void write_statement(struct merge *m, FILE *out, size_t input, const struct dev_statement *s)
{
	const struct text *t = &m->texts[input];
	struct symbol *symbol = s->name ? find_symbol(m, s) : NULL;
	struct rename *rename = NULL;

	if (s->is_dropped)
		return;
	if (symbol)
		HASH_FIND(hh, t->renames, s->name, s->name_bytes, rename);
	if (symbol && !rename && !symbol->is_local) {
		if (symbol->is_out)
			return;
		if (dev_statement_is_definition(s) && symbol->winner != s) {
			write_declaration(out, t, input, s);
			return;
		}
		symbol->is_out = symbol->winner == s;
	}
	write_renamed(out, t, input, s->begin, s->end);
	fputc('\n', out);
}

static void merge_deinit(struct merge *m)
{
	struct symbol *symbol, *next_symbol;
	struct rename *rename, *next_rename;

	HASH_ITER (hh, m->symbols, symbol, next_symbol) {
		HASH_DEL(m->symbols, symbol);
		free(symbol);
	}
	for (size_t i = 0; m->texts && i < m->n_texts; i++) {
		HASH_ITER (hh, m->texts[i].renames, rename, next_rename) {
			HASH_DEL(m->texts[i].renames, rename);
			free(rename);
		}
		free(m->texts[i].statements);
	}
	free(m->texts);
}

static int read_all(struct merge *m, const struct dev_merge_input *inputs, char **ret_clash)
{
	int r = 0;

	for (size_t i = 0; i < m->n_texts && !r; i++) {
		m->texts[i].at = inputs[i].text;
		m->texts[i].end = inputs[i].text + strnlen(inputs[i].text, inputs[i].bytes);
		r = merge_cut(m, &m->texts[i]);
	}
	for (size_t i = 0; i < m->n_texts && !r; i++)
		for (size_t j = 0; j < m->texts[i].n && !r; j++) {
			struct dev_statement *s = &m->texts[i].statements[j];

			if (!s->name || s->is_dropped)
				continue;
			r = merge_decide(m, i, s);
			if (r == DEV_MERGE_E_REFUSED)
				*ret_clash = strndup(s->name, s->name_bytes);
		}
	return r;
}

static int write_all(struct merge *m, char **ret_text, size_t *ret_bytes)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return slu_error(-ENOMEM);
	fprintf(out, ".version %s\n.target %s\n.address_size 64\n", m->version, m->target);
	for (size_t i = 0; i < m->n_texts; i++)
		for (size_t j = 0; j < m->texts[i].n; j++)
			write_statement(m, out, i, &m->texts[i].statements[j]);
	if (fclose(out)) {
		free(text);
		return slu_error(-ENOMEM);
	}
	*ret_text = text;
	*ret_bytes = bytes;
	return 0;
}

int dev_merge(const struct dev_merge_input *inputs, size_t n, char **ret_text, size_t *ret_bytes,
	      char **ret_clash)
{
	struct merge m = { .n_texts = n, .version = "6.0", .target = "sm_30" };
	char *clash = NULL;
	int r;

	m.texts = calloc(n + 1, sizeof(*m.texts));
	if (!m.texts)
		return slu_error(-ENOMEM);
	r = read_all(&m, inputs, &clash);
	if (!r)
		r = write_all(&m, ret_text, ret_bytes);
	merge_deinit(&m);
	if (r == DEV_MERGE_E_REFUSED)
		*ret_clash = clash;
	else
		free(clash);
	return r;
}
