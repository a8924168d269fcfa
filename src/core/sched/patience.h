/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How long a group has not fitted, and what proves that it fits (rule 7). A group that is larger
 * than the estimate of a device waits, because the estimate may be too low, or low only for now; in
 * the end it is denied. Two mistakes are possible: to deny a group that would fit, and to let a
 * group wait for ever whose bytes are promised, refused and promised again while others have their
 * turns.
 *
 *   CALM         -> UNFIT        it does not fit even alone          [slu_core_patience_unfit]
 *   CALM, UNFIT  -> TRIED        … in a turn of its own              [slu_core_patience_unfit]
 *   UNFIT        -> UNFIT        patience is over: it must try       [slu_core_patience_renew]
 *   TRIED        -> UNFIT        patience is over: it was denied     [slu_core_patience_renew]
 *   UNFIT, TRIED -> CALM         it fitted for half of the patience  [slu_core_patience_fit]
 *   any          -> CALM         it was served, or wants nothing     [slu_core_patience_update]
 *
 *  CALM:   it fits as far as is known.              * since_ns and tried_ns are NEVER
 *  UNFIT:  the time runs, also while it seems to fit for a moment, as it does again and again with
 *          an estimate that rises and is refused.   * since_ns is not NEVER
 *  TRIED:  the time that counts runs from here.     * neither is NEVER
 *
 * A group is served when every seat that wants to run got what it wanted. READY shows it in the
 * modes ALL and MAPPED, where the gate opens when everything is in place. In mode LAUNCH the gate
 * opens at once, and held bytes may still be on their way, and be refused; there FACTS counts the
 * commands that had their bytes.
 *
 * The driver is more likely to refuse bytes that come before the turn, because those of other
 * groups are still on the device. A group that must try gets none, or it would lose its turn before
 * it began.
 *
 * A turn in which the group did not fit and was not served was in vain. After some of these an
 * estimate that seems large enough no longer leads back to CALM, however long it lasts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

struct slu_core;
struct slu_core_group;

struct slu_core_patience {
	uint64_t since_ns; /* cannot fit since; or SLU_CORE_NEVER */
	uint64_t tried_ns; /* its first turn in vain; or SLU_CORE_NEVER */
	uint64_t fit_ns;   /* is_fit since */
	bool is_fit;	   /* at the last step */
	bool must_try;	   /* it gets no bytes ahead, and its next turn shows whether it fits */
	unsigned n_vain;   /* turns in vain since it was served last */
	struct slu_epoch vain_epoch; /* of the last of them */
};

void slu_core_patience_init(struct slu_core_patience *patience);

/* In this step the group does not fit even alone; or it does. */
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
