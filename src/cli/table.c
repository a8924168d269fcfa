/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/table.h"
#include "cli/terminal.h"

#define GAP		2
#define OWN_LINE_INDENT 4
#define WORDS_MIN	24 /* characters: with less width the last column gets a line of its own */

struct cell {
	char *text;
	const char *colour; /* or NULL */
};

struct slu_table {
	unsigned n_columns;
	bool is_right[SLU_TABLE_COLUMNS_MAX], hides_empty[SLU_TABLE_COLUMNS_MAX];
	bool is_hidden[SLU_TABLE_COLUMNS_MAX];
	unsigned spare[SLU_TABLE_COLUMNS_MAX], n_spare;
	unsigned shrunk;   /* this column may be cut … */
	size_t shrunk_min; /* … to this many characters; 0: none may */
	size_t lines_max;
	struct cell *cells;
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
		free(table->cells[i].text);
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

void slu_table_shrink(struct slu_table *table, unsigned column, size_t min)
{
	if (!table)
		return;
	table->shrunk = column;
	table->shrunk_min = min;
}

void slu_table_limit(struct slu_table *table, size_t n_lines)
{
	if (table)
		table->lines_max = n_lines;
}

void slu_table_hide(struct slu_table *table, unsigned column)
{
	if (table)
		table->is_hidden[column] = true;
}

void slu_table_spare(struct slu_table *table, unsigned column)
{
	if (table && table->n_spare < SLU_TABLE_COLUMNS_MAX)
		table->spare[table->n_spare++] = column;
}

void slu_table_add(struct slu_table *table, const char *format, ...)
{
	struct cell *cells;
	char *text;
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
		table->cells[table->n_cells++] = (struct cell){ .text = text };
}

void slu_table_colour(struct slu_table *table, const char *colour)
{
	if (table && table->n_cells && slu_terminal_has_colour())
		table->cells[table->n_cells - 1].colour = colour;
}

static bool says_nothing(const char *cell)
{
	return !*cell || !strcmp(cell, "–") || !strcmp(cell, "0");
}

/* Width of each column; 0 if it is left out. */
static void measure(const struct slu_table *table, size_t ret_widths[SLU_TABLE_COLUMNS_MAX])
{
	for (unsigned column = 0; column < table->n_columns; column++) {
		bool is_empty = table->hides_empty[column];
		size_t width = 0;

		for (size_t i = column; i < table->n_cells; i += table->n_columns) {
			width = SLU_MAX(width, slu_terminal_length(table->cells[i].text));
			is_empty &= i < table->n_columns || says_nothing(table->cells[i].text);
		}
		ret_widths[column] = is_empty || table->is_hidden[column] ? 0 : width;
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

static void print_cell(FILE *out, const struct cell *cell, size_t width, bool is_right)
{
	size_t length = slu_terminal_length(cell->text);
	bool is_cut = length > width;
	size_t columns, n = slu_terminal_cut(cell->text, is_cut ? width - 1 : width, &columns);
	int pad = (int)slu_sub_floor(width, columns + is_cut);

	fprintf(out, "%*s", is_right ? pad : 0, "");
	if (cell->colour)
		fprintf(out, "\033[%sm", cell->colour);
	fprintf(out, "%.*s%s", (int)n, cell->text, is_cut ? slu_terminal_ellipsis() : "");
	if (cell->colour)
		fputs("\033[0m", out);
	fprintf(out, "%*s", is_right ? 0 : pad, "");
}

static void print_row(const struct slu_table *table, FILE *out, const char *indent, size_t first,
		      const size_t *widths, size_t width)
{
	const char *words = table->cells[first + table->n_columns - 1].text;
	size_t left = slu_terminal_length(indent) + total_width(table, widths);
	size_t words_max = slu_sub_floor(width, left);
	size_t words_width = widths[table->n_columns - 1];
	bool is_beside = !width || words_max >= SLU_MIN((size_t)WORDS_MIN, words_width);
	int gap = 0;

	fputs(indent, out);
	for (unsigned column = 0; column + 1 < table->n_columns; column++) {
		if (!widths[column])
			continue;
		fprintf(out, "%*s", gap, "");
		print_cell(out, &table->cells[first + column], widths[column],
			   table->is_right[column]);
		gap = GAP;
	}
	if (is_beside && *words) {
		fprintf(out, "%*s", gap, "");
		slu_terminal_wrap(out, words, width ? words_max : 0, left);
	}
	fputc('\n', out);
	if (!is_beside && *words && first) {
		left = slu_terminal_length(indent) + OWN_LINE_INDENT;
		fprintf(out, "%*s", (int)left, "");
		slu_terminal_wrap(out, words, slu_sub_floor(width, left), left);
		fputc('\n', out);
	}
}

/*
 * Narrows a table that is too wide: first cuts the column that may be cut, then drops spare ones.
 */
static void fit(const struct slu_table *table, size_t indent, size_t width, size_t *widths)
{
	size_t *shrunk = &widths[table->shrunk];

	if (table->shrunk_min && *shrunk > table->shrunk_min)
		*shrunk = SLU_MAX(
			table->shrunk_min,
			slu_sub_floor(*shrunk, slu_sub_floor(total_width(table, widths) + indent,
							     width + GAP)));
	for (unsigned i = 0; i < table->n_spare; i++)
		if (total_width(table, widths) + indent > width + GAP)
			widths[table->spare[i]] = 0;
}

/* Return: the number of lines; 0 if these are more than @lines_max, and nothing was printed. */
static size_t try_row(const struct slu_table *table, FILE *out, const char *indent, size_t first,
		      const size_t *widths, size_t width, size_t lines_max)
{
	char *text = NULL;
	size_t size = 0, n;
	FILE *row = open_memstream(&text, &size);

	if (!row)
		return 0;
	print_row(table, row, indent, first, widths, width);
	fclose(row);
	n = text ? slu_terminal_lines(text) : 0;
	if (n > lines_max)
		n = 0;
	if (n)
		fputs(text, out);
	free(text);
	return n;
}

void slu_table_print(const struct slu_table *table, FILE *out, const char *indent, size_t width)
{
	size_t widths[SLU_TABLE_COLUMNS_MAX] = { 0 };
	size_t left, n;

	if (!table || table->is_broken)
		return;
	measure(table, widths);
	if (width)
		fit(table, slu_terminal_length(indent), width, widths);
	left = table->lines_max ? table->lines_max : SIZE_MAX;
	for (size_t i = 0; i + table->n_columns <= table->n_cells; i += table->n_columns) {
		size_t n_after = (table->n_cells - i) / table->n_columns - 1;

		/* except after the last row, keep a line for the number of the others */
		n = try_row(table, out, indent, i, widths, width, left - (n_after > 0));
		if (!n) {
			fprintf(out, "%s%s %zu more\n", indent, slu_terminal_ellipsis(),
				n_after + (i > 0));
			return;
		}
		left -= n;
	}
}
