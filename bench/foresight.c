/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How many units programs of many families bring in, beside Belady's optimum and beside the least
 * recently named (LRU). Pure: no device, no time. Arguments: "tuning" or "held-out" for some of
 * the families only.
 */

#include "lib/families.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 20 };

struct sum {
	unsigned n_in[_SLU_NAMINGS_RULE_MAX];
	double log_ratio, worst;
	unsigned n;
};

static double ratio(unsigned a, unsigned b)
{
	return b ? (double)a / b : 1;
}

static void measure(const struct slu_family *f, unsigned parameter, struct sum *sum)
{
	struct slu_namings n = { .random = SEED };
	unsigned in[_SLU_NAMINGS_RULE_MAX];
	double r;

	f->make(&n, parameter);
	for (enum slu_namings_rule k = 0; k < _SLU_NAMINGS_RULE_MAX; k++)
		in[k] = slu_namings_run(&n, f->window, k);
	slu_namings_deinit(&n);
	r = ratio(in[SLU_NAMINGS_FORESIGHT], in[SLU_NAMINGS_BELADY]);
	printf("%-16s %4u %8u %8u %9u %8u %8.2f %6.2f\n", f->name, parameter,
	       in[SLU_NAMINGS_BELADY], in[SLU_NAMINGS_LRU], in[SLU_NAMINGS_FORESIGHT],
	       in[SLU_NAMINGS_GUESS], r, ratio(in[SLU_NAMINGS_FORESIGHT], in[SLU_NAMINGS_LRU]));
	if (!in[SLU_NAMINGS_BELADY])
		return;
	sum->log_ratio += log(r);
	sum->worst = fmax(sum->worst, r);
	sum->n++;
}

static void report(bool is_held_out)
{
	struct sum sum[2] = { 0 };

	printf("%s\n%-16s %4s %8s %8s %9s %8s %8s %6s\n", is_held_out ? "held out" : "tuning", "",
	       "", "Belady", "LRU", "foresight", "guesses", "/Belady", "/LRU");
	for (size_t i = 0; i < slu_n_families; i++) {
		const struct slu_family *f = &slu_families[i];

		if (f->is_held_out != is_held_out)
			continue;
		for (unsigned p = f->least; p; p = slu_family_next(f, p))
			measure(f, p, &sum[f->is_cyclic]);
	}
	for (unsigned cyclic = 0; cyclic < 2; cyclic++)
		printf("{\"name\": \"foresight.%s%s\", \"value\": %.3f, \"unit\": \"ratio\", "
		       "\"bound\": "
		       "1, \"goal\": null, \"valid\": true, \"worst\": %.3f}\n",
		       is_held_out ? "held_out_" : "", cyclic ? "cyclic" : "random",
		       exp(sum[cyclic].log_ratio / sum[cyclic].n), sum[cyclic].worst);
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "tuning") == 0)
		report(false);
	if (argc < 2 || strcmp(argv[1], "held-out") == 0)
		report(true);
	return 0;
}
