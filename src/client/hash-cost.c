/* SPDX-License-Identifier: Apache-2.0 */

#include "client/hash-cost.h"

#define RETRY_EVERY 16

bool slu_hash_cost_is_worth_it(struct slu_hash_cost *cost, uint64_t bytes)
{
	uint64_t hash_ns = slu_speed_guess_ns(&cost->hash_speed, bytes);
	uint64_t copy_ns = slu_speed_guess_ns(&cost->copy_speed, bytes);

	return !hash_ns || !copy_ns || hash_ns < copy_ns || ++cost->n_too_slow % RETRY_EVERY == 0;
}
