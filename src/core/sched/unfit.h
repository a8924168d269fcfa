/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups that do not fit even when they run alone (rules 7 and 16): why they wait, what is believed
 * of the device meanwhile, and who of them is told out of memory in the end. How long that takes is
 * patience's (patience.h).
 */

#include "core/fit/plan.h"
#include "core/state.h"

/*
 * The group fits not even when it runs alone. If it is the floors of others it waits for them,
 * however long, unless they wait for it as well (deadlock.h); if it is the device it is denied in
 * the end (rule 7).
 */
void slu_core_unfit_note(struct slu_core *core, struct slu_core_group *group,
			 const struct slu_core_shortage *shortage);

/* One of the group's calls that wait is told out of memory; @why follows the figures. */
void slu_core_unfit_deny(struct slu_core *core, struct slu_core_group *group,
			 const struct slu_core_shortage *shortage, const char *why);
