/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"

struct slu_table {
	unsigned n_columns;
	bool is_right[SLU_TABLE_COLUMNS_MAX];
	char **cells;
	size_t n_cells;
	bool is_broken; /* out of memory: nothing is printed */
};

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

struct slu_table *slu_table_new(unsigned n_columns)
{
	struct slu_table *table = calloc(1, sizeof(*table));

	assert(n_columns && n_columns <= SLU_TABLE_COLUMNS_MAX);
	if (table)
		table->n_columns = n_columns;
	return table;
}

void slu_table_free(struct slu_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void slu_table_align_right(struct slu_table *table, unsigned column)
{
	if (table)
		table->is_right[column] = true;
}

void slu_table_add(struct slu_table *table, const char *format, ...)
{
	char **cells, *text;
	va_list ap;
	int r;

	if (!table)
		return;
	cells = realloc(table->cells, (table->n_cells + 1) * sizeof(*cells));
	if (!cells) {
		table->is_broken = true;
		return;
	}
	table->cells = cells;
	va_start(ap, format);
	r = vasprintf(&text, format, ap);
	va_end(ap);
	if (r < 0)
		table->is_broken = true;
	else
		table->cells[table->n_cells++] = text;
}

void slu_table_print(const struct slu_table *table, FILE *out, const char *indent)
{
	size_t widths[SLU_TABLE_COLUMNS_MAX] = { 0 };

	if (!table || table->is_broken)
		return;
	for (size_t i = 0; i < table->n_cells; i++) {
		size_t w = width(table->cells[i]);

		if (w > widths[i % table->n_columns])
			widths[i % table->n_columns] = w;
	}
	for (size_t i = 0; i < table->n_cells; i++) {
		unsigned column = (unsigned)(i % table->n_columns);
		const char *cell = table->cells[i];
		int pad = (int)(widths[column] - width(cell));

		if (!column)
			fputs(indent, out);
		if (column + 1 == table->n_columns)
			fprintf(out, "%s\n", cell);
		else if (table->is_right[column])
			fprintf(out, "%*s%s   ", pad, "", cell);
		else
			fprintf(out, "%s%*s   ", cell, pad, "");
	}
}
