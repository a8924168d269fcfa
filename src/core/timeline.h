/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The timeline: which groups are expected to have their turns, when, for how long, and how sure
 * that is. A step makes it from the policy after admission. Limits, fetching ahead and the shifts
 * of backing read it, and none of them asks the policy.
 *
 *   1. groups that have a turn, the oldest first
 *   2. waiting groups in the policy's order
 *   3. groups that do not want to run, the longest idle last, and behind them parked ones
 *
 * It is one list for all devices; the list of a device is the part of it that uses the device. A
 * turn on several devices begins when all of them are free for it. The place of a group in the list
 * is what Belady's rule needs: bytes of the group with the largest place leave first.
 *
 * How sure an entry is was measured: the share of guesses on its device that were right (fit/
 * guess.h), once for each turn until then. A waiting group that cannot fit now keeps its place, but
 * nobody counts on its turn.
 */

#include "core/state.h"

struct slu_core_group;

struct slu_core_timeline_turn {
	struct slu_core_group *group;
	uint64_t start_ns; /* of its turn; SLU_CORE_NEVER: not foreseeable */
	uint64_t length_ns;
	unsigned sure_percent;
};

/* The entries of 1 and 2 in this step, and the place of each group there. */
void slu_core_timeline_make(struct slu_core *core);

/* The place of a group: of those in 3 it follows from the time since which they are idle. */
uint64_t slu_core_timeline_place(const struct slu_core_group *group);

/* Takes the group out of the list, before it is freed. */
void slu_core_timeline_drop(struct slu_core *core, const struct slu_core_group *group);

/* The group for which bytes come ahead on @device; or NULL. */
struct slu_core_group *slu_core_timeline_next(const struct slu_core *core, unsigned device);
