/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Every test begins with this: cmocka.h must come after four standard headers, and a test keeps its
 * assertions where the code that it tests is built without them.
 */

#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * The seed of a random test: SLUICE_SEED, or @fallback. Prints it, so that a failure can be
 * repeated. A comment line, because the output is TAP.
 */
static inline uint64_t slu_test_seed(uint64_t fallback)
{
	const char *s = getenv("SLUICE_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : fallback;

	printf("# seed %llu (set SLUICE_SEED to repeat)\n", (unsigned long long)seed);
	return seed;
}

/* xorshift64*: the same numbers on every machine. */
static inline uint64_t slu_test_random(uint64_t *state)
{
	uint64_t x = *state ? *state : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

static inline void slu_test_nothing(void **state)
{
	(void)state;
}

/*
 * Stands in a list of tests for one that cannot run here. Not cmocka's skip(): what that prints
 * begins with "not ok", which readers of TAP count as a failure.
 */
#define slu_test_skipped(f, why)                                      \
	{                                                             \
#f " # SKIP " why, slu_test_nothing, NULL, NULL, NULL \
	}
