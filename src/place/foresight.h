/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a unit will be named next, in launches of its device. Mode LAUNCH; pure.
 *
 * Two things tell. A command that is known and not submitted yet (it waits for room in its queue)
 * says so itself: then it is certain. Else the unit's own past: programs repeat themselves, so the
 * longer one of the last two gaps between its namings is taken for the next one. The longer,
 * because what is named twice in a round has a short gap and a long one, and between the two it is
 * in use anyway. A unit that is overdue may come at any moment; overdue by more than its gap, it
 * has fallen out of use, and nothing is known.
 *
 * A guess orders what leaves and what comes in before it is asked for; it never licenses a move.
 */

#include "place/unit.h"

#define SLU_FORESIGHT_UNKNOWN UINT64_MAX

/* A command names @unit, the @now-th launch of its device. */
void slu_foresight_named(struct slu_unit *unit, uint64_t now);

/* A command that is known will name @unit, when the ones before it are through. */
void slu_foresight_expect(struct slu_unit *unit, uint64_t now);

/* How many launches from @now on; at least 1, or UNKNOWN. */
uint64_t slu_foresight_distance(const struct slu_unit *unit, uint64_t now);
