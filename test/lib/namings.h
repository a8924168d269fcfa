/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs as sequences of commands, each of which names some units, and how many units come in
 * when a given rule chooses what leaves. All units have one size.
 */

#include <stddef.h>
#include <stdint.h>

enum { SLU_NAMINGS_UNITS_MAX = 512 };

struct slu_namings {
	unsigned *units; /* of all commands, one after another */
	size_t *ends;	 /* of each command: where the next one begins in @units */
	size_t n, n_max; /* of @units */
	size_t n_commands, n_commands_max;
	uint64_t random;
};

/* Who leaves. */
enum slu_namings_rule {
	SLU_NAMINGS_BELADY,    /* what is needed last: knows the future */
	SLU_NAMINGS_LRU,       /* the least recently named */
	SLU_NAMINGS_FORESIGHT, /* as the client does it, with its shadow windows */
	SLU_NAMINGS_GUESS,     /* the same, following every guess */
	_SLU_NAMINGS_RULE_MAX,
};

void slu_namings_deinit(struct slu_namings *namings);

/* A command that names one unit, or two. */
void slu_namings_add(struct slu_namings *namings, unsigned unit);
void slu_namings_add2(struct slu_namings *namings, unsigned a, unsigned b);
/* One unit more for the last command. */
void slu_namings_also(struct slu_namings *namings, unsigned unit);

/* A number below @n; the same ones for the same namings->random. */
unsigned slu_namings_chance(struct slu_namings *namings, unsigned n);

/* Return: how many units came in that had been named before. No command may name over @window. */
unsigned slu_namings_run(const struct slu_namings *namings, unsigned window,
			 enum slu_namings_rule rule);
