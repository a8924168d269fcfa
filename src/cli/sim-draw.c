/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim-draw.h"

#include <stdlib.h>

#include "base/size.h"
#include "base/util.h"

#define WIDTH	     900
#define LEFT	     70
#define RIGHT	     20
#define CURVE_HEIGHT 240
#define TITLE_HEIGHT 26
#define ROWS_HEIGHT  200 /* of all lines of one policy, at most */
#define ROW_HEIGHT   14
#define TICKS	     6

static const char *const colours[] = { "#1f77b4", "#d62728", "#2ca02c", "#9467bd",
				       "#ff7f0e", "#17becf", "#8c564b", "#e377c2" };

static const char *colour_of(size_t i)
{
	return colours[i % SLU_ARRAY_SIZE(colours)];
}

static double x_of(uint64_t ns, uint64_t end_ns)
{
	return LEFT + (double)ns / (double)SLU_MAX(end_ns, 1u) * (WIDTH - LEFT - RIGHT);
}

static double row_height(size_t n_programs)
{
	double height = ROWS_HEIGHT / (n_programs ? (double)n_programs : 1);

	return SLU_MIN(height, (double)ROW_HEIGHT);
}

/* Only names can hold characters that mean something in XML. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
}

static void draw_axis(FILE *out, double top, double height, uint64_t end_ns)
{
	char time[SLU_SIZE_STRING_MAX];

	fprintf(out, "<path d=\"M%d %.1fV%.1fH%d\" fill=\"none\" stroke=\"#888\"/>\n", LEFT, top,
		top + height, WIDTH - RIGHT);
	for (unsigned i = 0; i <= TICKS; i++) {
		uint64_t ns = end_ns / TICKS * i;

		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			x_of(ns, end_ns), top + height + 14,
			ns ? slu_size_format_time(time, ns) : "0");
	}
}

/* How many programs the whole height, half of it and none of it stand for. */
static void draw_counts(FILE *out, size_t n_programs)
{
	for (unsigned i = 0; i <= 2; i++)
		fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%g</text>\n", LEFT - 4,
			TITLE_HEIGHT + CURVE_HEIGHT - CURVE_HEIGHT / 2 * (int)i + 4,
			(double)n_programs / 2 * i);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void draw_curve(FILE *out, const struct slu_sim_drawing *drawing, size_t number,
		       uint64_t end_ns)
{
	const struct slu_simulate_result *result = drawing->result;
	uint64_t *ends = calloc(result->n_outcomes + 1, sizeof(*ends));
	size_t n = 0;

	if (!ends)
		return;
	for (size_t i = 0; i < result->n_outcomes; i++)
		if (result->outcomes[i].end_ns != SLU_SIMULATE_NEVER)
			ends[n++] = result->outcomes[i].end_ns;
	qsort(ends, n, sizeof(*ends), compare);
	fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"M%d %d",
		colour_of(number), LEFT, TITLE_HEIGHT + CURVE_HEIGHT);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "H%.1fV%.1f", x_of(ends[i], end_ns),
			TITLE_HEIGHT +
				CURVE_HEIGHT * (1 - (double)(i + 1) / (double)result->n_outcomes));
	fprintf(out, "\"/>\n<text x=\"%d\" y=\"%zu\" fill=\"%s\">%s</text>\n", LEFT + 10,
		TITLE_HEIGHT + 16 + 16 * number, colour_of(number), drawing->policy);
	free(ends);
}

static void draw_turns(FILE *out, const struct slu_simulate_scenario *scenario,
		       const struct slu_sim_drawing *drawing, double top, uint64_t end_ns)
{
	double height = row_height(scenario->n_programs);

	fprintf(out, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s: turns</text>\n", LEFT,
		top + 16, drawing->policy);
	top += TITLE_HEIGHT;
	for (size_t i = 0; i < scenario->n_programs && height >= ROW_HEIGHT; i++) {
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 4,
			top + height * (double)i + 11);
		put_text(out, scenario->programs[i].name);
		fputs("</text>\n", out);
	}
	for (size_t i = 0; i < drawing->result->n_turns; i++) {
		const struct slu_simulate_turn *turn = &drawing->result->turns[i];
		double x = x_of(turn->begin_ns, end_ns);

		fprintf(out,
			"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
			"fill=\"%s\"/>\n",
			x, top + height * (double)turn->program,
			SLU_MAX(x_of(turn->end_ns, end_ns) - x, 0.2), SLU_MAX(height - 1, 0.8),
			colour_of(turn->program));
	}
	draw_axis(out, top, height * (double)scenario->n_programs, end_ns);
}

void slu_sim_draw(FILE *out, const struct slu_simulate_scenario *scenario,
		  const struct slu_sim_drawing *drawings, size_t n_drawings)
{
	double turns_height =
		row_height(scenario->n_programs) * (double)scenario->n_programs + 2 * TITLE_HEIGHT;
	double top = 2 * TITLE_HEIGHT + CURVE_HEIGHT;
	uint64_t end_ns = 0;

	for (size_t i = 0; i < n_drawings; i++)
		end_ns = SLU_MAX(end_ns, drawings[i].result->end_ns);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"16\" font-weight=\"bold\">programs that have ended</text>\n",
		WIDTH, top + turns_height * (double)n_drawings, LEFT);
	for (size_t i = 0; i < n_drawings; i++)
		draw_curve(out, &drawings[i], i, end_ns);
	draw_axis(out, TITLE_HEIGHT, CURVE_HEIGHT, end_ns);
	draw_counts(out, scenario->n_programs);
	for (size_t i = 0; i < n_drawings; i++)
		draw_turns(out, scenario, &drawings[i], top + turns_height * (double)i, end_ns);
	fputs("</svg>\n", out);
}
