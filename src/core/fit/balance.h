/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who gives how many bytes to whom, and in what order: the limits of one step.
 *
 * Open groups come first, the oldest turn first, with pace NOW; then the group that is next, AHEAD.
 * Each is raised as far as bytes are free, up to its goal. What open groups still lack, less what
 * is on its way already, is taken from others by lowering their limits, no more than is lacking:
 *
 *   1. slack of idle programs          4. slack of runners that they used a moment ago
 *   2. slack of the others             5. bytes of waiting ones, who runs last first
 *   3. bytes of idle programs, the     6. bytes of the one that is next
 *      longest idle first
 *
 * For what is fetched AHEAD only 1 to 3 are asked (rule 28). Bytes are asked only of seats at rest
 * (rule 9), never below a floor (rule 8); slack of runners down to their need, and not before a
 * round trip has passed since it was given (rule 10).
 *
 * The order of limits is the order of movement (rule 27): on a device one group moves out at a
 * time, of several that are filling the first goes first, and nothing is fetched ahead meanwhile.
 * Who makes no progress for a deadline loses that right.
 *
 * What clients stage is taken last, and only where the pinned budget became smaller (staging.h).
 */

#include <stdint.h>

#include "core/state.h"

struct slu_core_victim {
	struct slu_core_account *account;
	unsigned rank;	   /* 0 goes first */
	uint64_t order;	   /* within a rank, small first */
	uint64_t to_bytes; /* not lowered below this */
};

/* Sends the limits of this step; marks the capacities that are too small for the groups. */
void slu_core_balance(struct slu_core *core);
