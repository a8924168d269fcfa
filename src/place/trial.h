/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether foresight is worth following. Beside what really happens, two windows are kept on paper:
 * one in which the least recently named leaves, and one in which what is foreseen to be needed last
 * does. The bytes that each of them would have had to bring in tell which one knows the program
 * better; what was long ago counts less. Foresight is given up when it would have brought in
 * clearly more, and comes back when it would not: the papers are kept in either case. Mode LAUNCH;
 * pure.
 *
 * The real window becomes smaller and larger as others come and go. Both papers follow it in the
 * same way: what left a small one is missed once, also if by then there would be room for it.
 */

#include "place/foresight.h"

struct slu_trial {
	uint64_t held_bytes[_SLU_PAPER_MAX];
	uint64_t came_bytes[_SLU_PAPER_MAX]; /* that would have come in */
};

/*
 * A command names @unit; all of its units are noted in @foresight already. @units: all of the
 * device. Sets foresight->is_blind.
 */
void slu_trial_named(struct slu_trial *trial, struct slu_foresight *foresight,
		     const struct slu_unit_list *units, struct slu_unit *unit,
		     uint64_t window_bytes);

/* Whether both papers hold @unit: in a window that holds everything its naming changes nothing. */
bool slu_trial_holds(const struct slu_unit *unit);

/* @unit is no longer one of the device's. */
void slu_trial_gone(struct slu_trial *trial, struct slu_unit *unit);
