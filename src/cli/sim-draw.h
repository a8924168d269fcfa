/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The picture of `sluice sim`, as SVG: above, how many programs have ended by when, a curve for
 * each policy; below, for each policy, the turns of the programs as bars over time, one line each.
 */

#include <stdio.h>

#include "simulate/simulate.h"

struct slu_sim_drawing {
	const char *policy;
	const struct slu_simulate_result *result;
};

/* Errors show in ferror(@out). */
void slu_sim_draw(FILE *out, const struct slu_simulate_scenario *scenario,
		  const struct slu_sim_drawing *drawings, size_t n_drawings);
