/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a unit will be named next, in launches of its device. Mode LAUNCH; pure.
 *
 * Three things tell. A command that is known and not submitted yet (it waits for its queue)
 * says so itself: then it is certain. Else the unit's own past: programs repeat themselves. What is
 * used by several kernels in a row, in loops inside loops, has gaps between its namings of several
 * lengths, of which the last one of each power of two is kept:
 *
 *   named:  AAA...........AAA...........AAA...        gaps 1 and 12; two of 1 come before one of 12
 *
 * The next gap is the shortest one that is longer than what has passed since the last naming and
 * whose row goes on. A row of as many short gaps as the one before it is complete, also if there is
 * one more, which may be chance: then it is the next longer gap's turn. So A above is foreseen in
 * 12 launches as soon as its third naming is there.
 *
 * A unit that is a little late may come at any moment; later than that, it has fallen out of use,
 * and nothing is known. Where no gap of its own fits, as for a unit that was named once, the others
 * tell: as soon as one of them comes round again, the length of that round is its gap too. So a
 * program is known with the first command of its second round, and not with the last.
 *
 * Not every program repeats itself. Shadow caches (shadow.h) find out whether this one does; if it
 * does not, only what is certain counts.
 *
 * A guess orders what leaves and what comes in before it is asked for; it never licenses a move.
 */

#include "place/unit.h"

#define SLU_FORESIGHT_UNKNOWN UINT64_MAX

/* What is known of a device as a whole. */
struct slu_foresight {
	uint64_t now;	    /* its launch counter */
	uint64_t round;	    /* the longest gap lately; 0: there was none */
	uint64_t round_now; /* when that was */
	bool is_blind;	    /* the shadow caches speak against guesses */
};

/* A command names @unit now. */
void slu_foresight_named(struct slu_foresight *foresight, struct slu_unit *unit);

/* @unit goes over to another device, whose launches are others. */
void slu_foresight_forget(struct slu_unit *unit);

/* A command that is known will name @unit, when the ones before it are through. */
void slu_foresight_expect(const struct slu_foresight *foresight, struct slu_unit *unit);
bool slu_foresight_is_expected(const struct slu_foresight *foresight, const struct slu_unit *unit);

/* How many launches from now on; at least 1, or UNKNOWN. */
uint64_t slu_foresight_distance(const struct slu_foresight *foresight, const struct slu_unit *unit);

/* The same by the past alone, whatever the shadow caches say. */
uint64_t slu_foresight_guess(const struct slu_foresight *foresight, const struct slu_unit *unit);
