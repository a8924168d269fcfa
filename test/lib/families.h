/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Families of programs by which foresight (place/foresight.h) is judged. The constants of the
 * predictor were chosen with the ones that are not held out; the others were run only afterwards.
 */

#include <stdbool.h>

#include "lib/namings.h"

struct slu_family {
	const char *name;
	bool is_held_out;
	bool is_cyclic;		    /* what comes next follows from what came before */
	unsigned least, most, step; /* the parameter; step 0: it doubles */
	void (*make)(struct slu_namings *namings, unsigned parameter);
	unsigned window;
	unsigned belady_percent; /* that come in, of Belady's optimum, at most; 0: no bound */
};

extern const struct slu_family slu_families[];
extern const size_t slu_n_families;

/* The next value of the family's parameter, or 0. */
unsigned slu_family_next(const struct slu_family *family, unsigned parameter);
