/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The limits of one step: which account gets how many bytes, which one gives them up, in what
 * order.
 *
 * Open groups come first, the oldest turn first, with pace NOW; then the group that is next, AHEAD.
 * Each is raised as far as bytes are free, up to its goal. The core takes what open groups still
 * lack, less what is on its way already, from others by lowering their limits, no more than is
 * lacking:
 *
 *   1. slack of idle programs          4. slack of running programs that they used a moment ago
 *   2. slack of the others             5. bytes of waiting groups, the one that runs last first
 *   3. bytes of idle programs, the     6. bytes of the group that is next
 *      longest idle first
 *
 * 3, 5 and 6 are the timeline from its end to its beginning, in each of them first the programs of
 * users who hold more than an equal part for each user (sched/users.h). Bytes fetched AHEAD come
 * from 1 to 3, and from those of 5 that run later than the group for which they are fetched, as far
 * as the credit for guesses goes (rule 28, guess.h). Only seats at rest give up bytes (rule 9),
 * never below a floor (rule 8). Running programs give up slack down to their need, and not before a
 * round trip has passed since it was given (rule 10).
 *
 * The order of limits is the order of movement (rule 27): on a device one group moves out at a
 * time, the first of the filling groups fills first, and nothing is fetched ahead meanwhile. A
 * group that makes no progress for a deadline loses that right.
 *
 * Staging chunks are taken last, and only where the pinned budget became smaller (staging.h).
 */

#include <stdint.h>

#include "core/state.h"

struct slu_core_victim {
	struct slu_core_account *account;
	unsigned rank;	     /* 0 goes first */
	bool serves_ahead;   /* may be taken for what is fetched ahead */
	bool is_within_part; /* its user holds no more than an equal part for all users */
	uint64_t order;	     /* within a rank, after users with more than their part: small first */
	uint64_t to_bytes;   /* not lowered below this */
};

/* Sends the limits of this step; marks the capacities that are too small for the groups. */
void slu_core_balance(struct slu_core *core);
