/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/table.h"
#include "cli/terminal.h"

#define GAP		2
#define OWN_LINE_INDENT 4
#define WORDS_MIN	24 /* characters: with less room the last column gets a line of its own */

struct slu_table {
	unsigned n_columns;
	bool is_right[SLU_TABLE_COLUMNS_MAX], hides_empty[SLU_TABLE_COLUMNS_MAX];
	unsigned spare[SLU_TABLE_COLUMNS_MAX], n_spare;
	char **cells;
	size_t n_cells;
	bool is_broken; /* out of memory: nothing is printed */
};

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

void slu_table_hide_empty(struct slu_table *table, unsigned column)
{
	if (table)
		table->hides_empty[column] = true;
}

void slu_table_spare(struct slu_table *table, unsigned column)
{
	if (table && table->n_spare < SLU_TABLE_COLUMNS_MAX)
		table->spare[table->n_spare++] = column;
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

static bool says_nothing(const char *cell)
{
	return !*cell || !strcmp(cell, "–") || !strcmp(cell, "0");
}

/* Width of each column; 0 for one that is left out. */
static void measure(const struct slu_table *table, size_t ret_widths[SLU_TABLE_COLUMNS_MAX])
{
	for (unsigned column = 0; column < table->n_columns; column++) {
		bool is_empty = table->hides_empty[column];
		size_t width = 0;

		for (size_t i = column; i < table->n_cells; i += table->n_columns) {
			width = SLU_MAX(width, slu_terminal_length(table->cells[i]));
			is_empty &= i < table->n_columns || says_nothing(table->cells[i]);
		}
		ret_widths[column] = is_empty ? 0 : width;
	}
}

/* Of all columns but the words. */
static size_t total_width(const struct slu_table *table, const size_t *widths)
{
	size_t total = 0;

	for (unsigned column = 0; column + 1 < table->n_columns; column++)
		total += widths[column] ? widths[column] + GAP : 0;
	return total;
}

static void print_cell(FILE *out, const char *cell, size_t width, bool is_right)
{
	int pad = (int)(width - slu_terminal_length(cell));

	if (is_right)
		fprintf(out, "%*s%s", pad, "", cell);
	else
		fprintf(out, "%s%*s", cell, pad, "");
}

static void print_row(const struct slu_table *table, FILE *out, const char *indent, size_t first,
		      const size_t *widths, size_t width)
{
	const char *words = table->cells[first + table->n_columns - 1];
	size_t left = slu_terminal_length(indent) + total_width(table, widths);
	size_t room = slu_sub_floor(width, left);
	size_t words_width = widths[table->n_columns - 1];
	bool is_beside = !width || room >= SLU_MIN((size_t)WORDS_MIN, words_width);
	int gap = 0;

	fputs(indent, out);
	for (unsigned column = 0; column + 1 < table->n_columns; column++) {
		if (!widths[column])
			continue;
		fprintf(out, "%*s", gap, "");
		print_cell(out, table->cells[first + column], widths[column],
			   table->is_right[column]);
		gap = GAP;
	}
	if (is_beside && *words) {
		fprintf(out, "%*s", gap, "");
		slu_terminal_wrap(out, words, width ? room : 0, left);
	}
	fputc('\n', out);
	if (!is_beside && *words && first) {
		left = slu_terminal_length(indent) + OWN_LINE_INDENT;
		fprintf(out, "%*s", (int)left, "");
		slu_terminal_wrap(out, words, slu_sub_floor(width, left), left);
		fputc('\n', out);
	}
}

void slu_table_print(const struct slu_table *table, FILE *out, const char *indent, size_t width)
{
	size_t widths[SLU_TABLE_COLUMNS_MAX] = { 0 };

	if (!table || table->is_broken)
		return;
	measure(table, widths);
	for (unsigned i = 0; i < table->n_spare && width; i++)
		if (total_width(table, widths) + slu_terminal_length(indent) > width + GAP)
			widths[table->spare[i]] = 0;
	for (size_t i = 0; i + table->n_columns <= table->n_cells; i += table->n_columns)
		print_row(table, out, indent, i, widths, width);
}
