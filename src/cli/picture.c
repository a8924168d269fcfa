/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/picture.h"
#include "cli/terminal.h"

#define ROWS_MAX    24
#define LABEL_MAX   16 /* characters */
#define LABEL_MIN   6
#define CELLS_MAX   400
#define CELLS_MIN   12 /* the span of the time below them */
#define DEVICES_MAX 64

enum kind { FILLS, RUNS, RESTS, N_KINDS };

static const char *const marks[N_KINDS] = { [FILLS] = "▒", [RUNS] = "█", [RESTS] = "░" };
static const char *const colours[N_KINDS] = { [FILLS] = "33", [RUNS] = "32", [RESTS] = "31" };

struct row {
	const char *name;
	double ms[CELLS_MAX][N_KINDS];
	double ran_ms;
};

struct picture {
	double from_ms, to_ms;
	size_t n_cells, label_max;
	struct row *rows;
	size_t n_rows, n_hidden;
};

static double number(const json_t *object, const char *key)
{
	return (double)json_integer_value(json_object_get(object, key));
}

static struct row *row_of(struct picture *p, const char *name)
{
	for (size_t i = 0; i < p->n_rows; i++)
		if (!strcmp(p->rows[i].name, name))
			return &p->rows[i];
	if (p->n_rows == ROWS_MAX) {
		p->n_hidden++;
		return NULL;
	}
	p->rows[p->n_rows].name = name;
	return &p->rows[p->n_rows++];
}

static void paint(struct picture *p, struct row *row, enum kind kind, double from, double to)
{
	double cell_ms = (p->to_ms - p->from_ms) / (double)p->n_cells;
	size_t first, last;

	from = SLU_MAX(from, p->from_ms);
	to = SLU_MIN(to, p->to_ms);
	if (from >= to)
		return;
	if (kind == RUNS)
		row->ran_ms += to - from;
	first = (size_t)((from - p->from_ms) / cell_ms);
	last = SLU_MIN((size_t)((to - p->from_ms) / cell_ms), p->n_cells - 1);
	for (size_t i = first; i <= last; i++) {
		double begin = p->from_ms + (double)i * cell_ms, end = begin + cell_ms;

		row->ms[i][kind] += SLU_MIN(to, end) - SLU_MAX(from, begin);
	}
}

static void paint_turn(struct picture *p, const json_t *turn)
{
	const char *name = json_string_value(json_object_get(turn, "name"));
	double begin = number(turn, "begin_ms"), end = number(turn, "end_ms");
	double ready = number(turn, "ready_ms"), closing = number(turn, "closing_ms");
	struct row *row;

	end = end > 0 ? end : p->to_ms;
	closing = closing > 0 ? closing : end;
	ready = ready > 0 ? ready : closing;
	if (end <= p->from_ms)
		return;
	row = row_of(p, name ? name : "?");
	if (!row)
		return;
	paint(p, row, FILLS, begin, ready);
	paint(p, row, RUNS, ready, closing);
	paint(p, row, RESTS, closing, end);
}

static void print_cells(const struct picture *p, const struct row *row, FILE *out)
{
	double cell_ms = (p->to_ms - p->from_ms) / (double)p->n_cells;
	bool has_colour = out == stdout && slu_terminal_has_colour();

	for (size_t i = 0; i < p->n_cells; i++) {
		unsigned most = 0;

		for (unsigned kind = 1; kind < N_KINDS; kind++)
			if (row->ms[i][kind] > row->ms[i][most])
				most = kind;
		if (row->ms[i][most] < cell_ms / 8)
			fputc(' ', out);
		else if (has_colour)
			fprintf(out, "\033[%sm%s\033[0m", colours[most], marks[most]);
		else
			fputs(marks[most], out);
	}
}

/* On a narrow terminal names get a third of it, and the picture the rest. */
static size_t label_max(size_t width)
{
	size_t third = SLU_MAX(width / 3, (size_t)LABEL_MIN);

	return SLU_MIN((size_t)LABEL_MAX, third);
}

static void print_name(FILE *out, const char *name, size_t width)
{
	size_t columns, n = slu_terminal_cut(name, width, &columns);

	fprintf(out, "%.*s%*s  ", (int)n, name, (int)(width - columns), "");
}

static void print_picture(const struct picture *p, unsigned device, FILE *out)
{
	char span[SLU_SIZE_STRING_MAX];
	size_t names = 0, left;

	slu_size_format_time(span, (uint64_t)((p->to_ms - p->from_ms) * SLU_NS_PER_MS));
	if (!p->n_rows) {
		fprintf(out, "GPU %u: nobody had it in the last %s\n", device, span);
		return;
	}
	for (size_t i = 0; i < p->n_rows; i++)
		names = SLU_MAX(names, slu_terminal_length(p->rows[i].name));
	names = SLU_MIN(names, p->label_max);
	fprintf(out, "GPU %u, the last %s\n", device, span);
	for (size_t i = 0; i < p->n_rows; i++) {
		print_name(out, p->rows[i].name, names);
		print_cells(p, &p->rows[i], out);
		fprintf(out, "%4.0f %%\n",
			100 * p->rows[i].ran_ms / SLU_MAX(p->to_ms - p->from_ms, 1.0));
	}
	if (p->n_hidden)
		fprintf(out, "… and more programs than fit here\n");
	left = slu_sub_floor(p->n_cells, strlen(span) + 4);
	fprintf(out, "%*s-%s%*snow\n", (int)names + 2, "", span, (int)left, "");
}

static bool has_device(const json_t *turns, unsigned device)
{
	const json_t *turn;
	size_t i;

	json_array_foreach (turns, i, turn)
		if (json_integer_value(json_object_get(turn, "device")) == device)
			return true;
	return false;
}

void slu_picture_print(const json_t *history, uint64_t span_ms, size_t width, FILE *out)
{
	const json_t *turns = json_object_get(history, "turns"), *turn;
	struct picture p = { .to_ms = SLU_MAX(number(history, "now_ms"), 1.0) };
	bool is_first = true;
	size_t i;

	p.rows = calloc(ROWS_MAX, sizeof(*p.rows));
	if (!p.rows)
		return;
	p.label_max = label_max(width);
	p.n_cells = SLU_MAX(slu_sub_floor(width, p.label_max + 8), (size_t)CELLS_MIN);
	p.n_cells = SLU_MIN(p.n_cells, (size_t)CELLS_MAX);
	p.from_ms = number(json_array_get(turns, 0), "begin_ms");
	if (span_ms)
		p.from_ms = SLU_MAX(p.from_ms, p.to_ms - (double)span_ms);
	p.from_ms = SLU_MIN(p.from_ms, p.to_ms - 1);
	for (unsigned device = 0; device < DEVICES_MAX; device++) {
		if (!has_device(turns, device))
			continue;
		memset(p.rows, 0, ROWS_MAX * sizeof(*p.rows));
		p.n_rows = p.n_hidden = 0;
		json_array_foreach (turns, i, turn)
			if (json_integer_value(json_object_get(turn, "device")) == device)
				paint_turn(&p, turn);
		if (!is_first)
			fputc('\n', out);
		is_first = false;
		print_picture(&p, device, out);
	}
	free(p.rows);
}
