/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Guesses when a unit is named next, in launches of its device. Mode LAUNCH; pure.
 *
 * There are three sources. A command that is known but not submitted yet (it waits for its queue)
 * is certain. Else the unit's own past counts, for programs repeat themselves: a unit that kernels
 * use in nested loops has gaps of different lengths between its namings. The last gap of each power
 * of two is kept:
 *
 *   named:  AAA...........AAA...........AAA...        gaps 1 and 12; two of 1 come before one of 12
 *
 * The next gap is the shortest one that is longer than the time since the last naming and whose row
 * is not complete. A row is complete after as many short gaps as the row before it had, also if one
 * more follows, which may be chance; then the next longer gap is due. So A above is expected in 12
 * launches as soon as its third naming has happened.
 *
 * A unit that is a little late may come at any moment. A unit that is later than that has fallen
 * out of use, and nothing is known. A unit without a gap that fits, because it was named once,
 * follows the others: when one of them comes round again, the length of that round is its gap too.
 * So a program is known with the first command of its second round, and not with the last.
 *
 * Not every program repeats itself. Shadow caches (shadow.h) find out whether this one does; if it
 * does not, only certain commands count.
 *
 * A guess orders what leaves and what comes in ahead; it never permits a move.
 */

#include "place/unit.h"

#define SLU_FORESIGHT_UNKNOWN UINT64_MAX

/* The knowledge about a whole device. */
struct slu_foresight {
	uint64_t now;	    /* its launch counter */
	uint64_t round;	    /* the longest recent gap; 0: there was none */
	uint64_t round_now; /* when that was */
	bool is_blind;	    /* the shadow caches speak against guesses */
};

/* A command names @unit now. */
void slu_foresight_named(struct slu_foresight *foresight, struct slu_unit *unit);

/* @unit goes over to another device, which counts its own launches. */
void slu_foresight_forget(struct slu_unit *unit);

/* A known command will name @unit, after the commands before it. */
void slu_foresight_expect(const struct slu_foresight *foresight, struct slu_unit *unit);
bool slu_foresight_is_expected(const struct slu_foresight *foresight, const struct slu_unit *unit);

/* How many launches from now on; at least 1, or UNKNOWN. */
uint64_t slu_foresight_distance(const struct slu_foresight *foresight, const struct slu_unit *unit);

/* The same by the past alone, whatever the shadow caches say. */
uint64_t slu_foresight_guess(const struct slu_foresight *foresight, const struct slu_unit *unit);
