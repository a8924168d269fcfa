/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* xorshift64*: the same numbers on every machine, so that a seed means one run. */

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t slu_sim_random(uint64_t *state)
{
	uint64_t x = *state ? *state : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* One of [low, high]. */
static inline unsigned slu_sim_between(uint64_t *state, unsigned low, unsigned high)
{
	return low + (unsigned)((slu_sim_random(state) >> 16) % (high - low + 1));
}

/* True @per_million times in a million. */
static inline bool slu_sim_chance(uint64_t *state, unsigned per_million)
{
	return (slu_sim_random(state) >> 16) % 1000000 < per_million;
}
