/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups that do not fit even when they run alone (rules 7 and 16): why they wait, how the estimate
 * of the device changes meanwhile, and which of them gets an out-of-memory error in the end.
 * patience.h decides when.
 */

#include "core/fit/plan.h"
#include "core/state.h"

/*
 * The group does not fit even when it runs alone. If the floors of other groups are the reason, it
 * waits for them, however long, unless they wait for it too (deadlock.h). If the device is too
 * small, the group is denied in the end (rule 7).
 */
void slu_core_unfit_note(struct slu_core *core, struct slu_core_group *group,
			 const struct slu_core_shortage *shortage);

/*
 * Denies an open group if the driver has refused for the patience to pin what must be MAPPED. The
 * budget of pinned memory is what the settings say, so no plan takes notice of these refusals.
 */
void slu_core_unfit_pinned(struct slu_core *core, struct slu_core_group *group);

/* Denies one of the waiting calls of the group; the reason is the figures and then @why. */
void slu_core_unfit_deny(struct slu_core *core, struct slu_core_group *group,
			 const struct slu_core_shortage *shortage, const char *why);
