/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How long a group has not fitted, and what proves that it does (rule 7). A group that the device
 * as it is believed to be cannot hold waits, for the belief may be wrong, or true only for now; in
 * the end it is told. Both mistakes must be avoided: to tell one that would fit, and to let one
 * wait for ever whose bytes are promised, refused and promised again while others have their turns.
 *
 *   CALM         -> UNFIT        it does not fit even alone          [slu_core_patience_unfit]
 *   CALM, UNFIT  -> TRIED        … in a turn of its own              [slu_core_patience_unfit]
 *   UNFIT        -> UNFIT        patience is over: it is to try      [slu_core_patience_renew]
 *   TRIED        -> UNFIT        patience is over: it was told       [slu_core_patience_renew]
 *   UNFIT, TRIED -> CALM         it fitted for half of the patience  [slu_core_patience_fit]
 *   any          -> CALM         it was served, or wants nothing     [slu_core_patience_update]
 *
 *  CALM:   nothing is held against it.                * since_ns and tried_ns are NEVER
 *  UNFIT:  time runs, whatever it does meanwhile; also while it seems to fit for a short time,
 * which an estimate that rises and is refused in turn makes one after another.
 *                                                     * since_ns is not NEVER
 *  TRIED:  the time that counts runs from here.       * neither is NEVER
 *
 * Served means that every seat that wants to run had what it wanted. READY says so in the modes ALL
 * and MAPPED, where the gate opens when everything is in place. In mode LAUNCH the gate opens at
 * once, and what is held may be on its way, and be refused; there FACTS says how many commands had
 * their bytes.
 *
 * Bytes that come ahead of its turn are refused more easily, for those of others are still there;
 * so who is to try gets none: it would lose its turn again before that has begun.
 *
 * A turn in which the group did not fit and was not served was in vain. After some of them memory
 * that is only believed in is no way back to CALM any more, however long it lasts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

struct slu_core;
struct slu_core_group;

struct slu_core_patience {
	uint64_t since_ns; /* cannot fit since; or SLU_CORE_NEVER */
	uint64_t tried_ns; /* its first turn in vain was then; or SLU_CORE_NEVER */
	uint64_t fit_ns;   /* is_fit since */
	bool is_fit;	   /* at the last look */
	bool must_try;	   /* it gets no bytes ahead, and its next turn shows whether it fits */
	unsigned n_vain;   /* turns in vain since it was served last */
	struct slu_epoch vain_epoch; /* of the last of them */
};

void slu_core_patience_init(struct slu_core_patience *patience);

/* At this look the group does not fit even alone. */
void slu_core_patience_unfit(struct slu_core *core, struct slu_core_group *group);
void slu_core_patience_fit(struct slu_core *core, struct slu_core_group *group);

/* Whether it has had a turn in vain. */
bool slu_core_patience_is_tried(const struct slu_core_group *group);
/* Whether its time is over; if not yet, that is a deadline. */
bool slu_core_patience_is_over(struct slu_core *core, const struct slu_core_group *group);
/* The time begins again. @must_try: the result of its next turn counts. */
void slu_core_patience_renew(struct slu_core *core, struct slu_core_group *group, bool must_try);

/* The group's seats have changed: perhaps all of them are served now. */
void slu_core_patience_update(struct slu_core_group *group);
