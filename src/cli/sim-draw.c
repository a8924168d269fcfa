/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim-draw.h"

#include <stdlib.h>

#include "base/size.h"
#include "base/util.h"

#define WIDTH	     900
#define LEFT	     110
#define RIGHT	     30
#define CURVE_HEIGHT 240
#define TITLE_HEIGHT 26
#define ROWS_HEIGHT  300 /* of all lines of one policy, at most */
#define ROW_HEIGHT   14
#define BUS_HEIGHT   14 /* of the line of one direction of the bus */
#define BUS_TOP	     8	/* from the last program to the bus */
#define TICKS	     8	/* at most */
#define NAME_MAX_LEN 15 /* characters of a name that fit on the left */
#define WAIT_COLOUR  "#ddd"
#define IN_COLOUR    "#444"
#define OUT_COLOUR   "#aaa"

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

/* A name, shortened; only names can hold characters that mean something in XML. */
static void put_name(FILE *out, const char *text)
{
	for (unsigned n = 0; *text; text++) {
		bool is_first = ((unsigned char)*text & 0xc0) != 0x80; /* of a character in UTF-8 */

		n += is_first;
		if (is_first && n == NAME_MAX_LEN && text[1]) {
			fputs("…", out);
			return;
		}
		if (*text == '<' || *text == '>' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
}

/* The span between two ticks: a round one of a clock, so that there are not too many. */
static uint64_t tick_ns(uint64_t end_ns)
{
	static const uint64_t steps_s[] = {
		1,   2,	  5,	10,   20,   30,	   60,	  120,	 300,
		600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400
	};
	uint64_t ns = 1;

	for (; ns < SLU_NS_PER_S; ns *= 10)
		for (uint64_t k = 1; k <= 5; k += k == 1 ? 1 : 3)
			if (end_ns / (ns * k) <= TICKS)
				return ns * k;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(steps_s); i++)
		if (end_ns / (steps_s[i] * SLU_NS_PER_S) <= TICKS)
			return steps_s[i] * SLU_NS_PER_S;
	for (ns = 86400 * SLU_NS_PER_S; end_ns / ns > TICKS;)
		ns *= 2;
	return ns;
}

/* "0", "90 s", "20 min", "3 h": ticks are round. */
static void put_tick(FILE *out, uint64_t ns, uint64_t step_ns)
{
	uint64_t s = ns / SLU_NS_PER_S, step_s = step_ns / SLU_NS_PER_S;
	char time[SLU_SIZE_STRING_MAX];

	if (!ns)
		fputs("0", out);
	else if (step_ns % SLU_NS_PER_S)
		fputs(slu_size_format_time(time, ns), out);
	else if (step_s % 86400 == 0)
		fprintf(out, "%llu days", (unsigned long long)(s / 86400));
	else if (step_s % 3600 == 0)
		fprintf(out, "%llu h", (unsigned long long)(s / 3600));
	else if (step_s % 60 == 0)
		fprintf(out, "%llu min", (unsigned long long)(s / 60));
	else
		fprintf(out, "%llu s", (unsigned long long)s);
}

static void draw_axis(FILE *out, double top, double height, uint64_t end_ns)
{
	uint64_t step_ns = tick_ns(end_ns);

	fprintf(out, "<path d=\"M%d %.1fV%.1fH%d\" fill=\"none\" stroke=\"#888\"/>\n", LEFT, top,
		top + height, WIDTH - RIGHT);
	for (uint64_t ns = 0; ns <= end_ns; ns += step_ns) {
		double x = x_of(ns, end_ns);

		fprintf(out,
			"<path d=\"M%.1f %.1fv4\" stroke=\"#888\"/>\n"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
			x, top + height, x, top + height + 15);
		put_tick(out, ns, step_ns);
		fputs("</text>\n", out);
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

static void draw_bar(FILE *out, uint64_t begin_ns, uint64_t end_ns, uint64_t last_ns, double top,
		     double height, const char *colour)
{
	double x = x_of(begin_ns, last_ns);

	fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>\n",
		x, top, SLU_MAX(x_of(end_ns, last_ns) - x, 0.5), SLU_MAX(height, 0.8), colour);
}

/* A line for each program: grey while it is there, coloured in its turns. */
static void draw_programs(FILE *out, const struct slu_simulate_scenario *scenario,
			  const struct slu_simulate_result *result, double top, uint64_t end_ns)
{
	double height = row_height(scenario->n_programs), bar = height - (height > 2 ? 1 : 0.2);

	for (size_t i = 0; i < scenario->n_programs; i++) {
		uint64_t last_ns = SLU_MIN(result->outcomes[i].end_ns, result->end_ns);

		if (height >= ROW_HEIGHT) {
			fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6,
				top + height * (double)i + 11);
			put_name(out, scenario->programs[i].name);
			fputs("</text>\n", out);
		}
		if (scenario->programs[i].arrive_ns < last_ns)
			draw_bar(out, scenario->programs[i].arrive_ns, last_ns, end_ns,
				 top + height * (double)i + bar / 3, bar / 3, WAIT_COLOUR);
	}
	for (size_t i = 0; i < result->n_turns; i++)
		draw_bar(out, result->turns[i].begin_ns, result->turns[i].end_ns, end_ns,
			 top + height * (double)result->turns[i].program, bar,
			 colour_of(result->turns[i].program));
}

/* What the bus carries: a line for each direction. */
static void draw_bus(FILE *out, const struct slu_simulate_result *result, double top,
		     uint64_t end_ns)
{
	static const char *const names[] = { "to the device", "to the host" };

	for (unsigned way = 0; way < SLU_ARRAY_SIZE(names); way++)
		fprintf(out,
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#666\">%s</text>\n",
			LEFT - 6, top + BUS_HEIGHT * way + 11, names[way]);
	for (size_t i = 0; i < result->n_copies; i++)
		draw_bar(out, result->copies[i].begin_ns, result->copies[i].end_ns, end_ns,
			 top + (result->copies[i].is_in ? 0 : BUS_HEIGHT), BUS_HEIGHT - 3,
			 result->copies[i].is_in ? IN_COLOUR : OUT_COLOUR);
}

static double rows_height(const struct slu_simulate_scenario *scenario)
{
	return row_height(scenario->n_programs) * (double)scenario->n_programs + BUS_TOP +
	       2 * BUS_HEIGHT;
}

static void draw_turns(FILE *out, const struct slu_simulate_scenario *scenario,
		       const struct slu_sim_drawing *drawing, double top, uint64_t end_ns)
{
	double height = rows_height(scenario);

	fprintf(out, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s: turns</text>\n", LEFT,
		top + 16, drawing->policy);
	top += TITLE_HEIGHT;
	draw_programs(out, scenario, drawing->result, top, end_ns);
	draw_bus(out, drawing->result, top + height - 2 * BUS_HEIGHT, end_ns);
	draw_axis(out, top, height, end_ns);
}

void slu_sim_draw(FILE *out, const struct slu_simulate_scenario *scenario,
		  const struct slu_sim_drawing *drawings, size_t n_drawings)
{
	double turns_height = rows_height(scenario) + 2 * TITLE_HEIGHT;
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
