/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * "Did you mean …?": of the words that are offered, the one that a person most probably wanted to
 * write: few letters were left out, added, exchanged or swapped, or the end is missing.
 */

#include <stddef.h>

struct slu_suggest {
	const char *word; /* as it was written */
	const char *best; /* the nearest that was offered, or NULL: none is near */
	size_t distance;
};

/* @candidate must outlive the search. */
void slu_suggest_offer(struct slu_suggest *suggest, const char *candidate);
