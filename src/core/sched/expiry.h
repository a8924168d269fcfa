/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a turn is over for somebody who waits and does not fit beside its holder.
 *
 * A holder that computes has the time that the policy gives it. One that rests gives up its turn,
 * but not at once: a program that loads its data pauses between two copies, and each time both
 * programs' bytes would move to and fro. So it is waited for as long as a switch takes, which costs
 * the one who waits at most as much as the switch itself. One whose last pause was longer than that
 * is not waited for: a program that a person talks to gives way at the end of its answer.
 *
 * Turns that an urgent program ends are bounded too: a holder that had run for less than four
 * switches then is left alone for two switches in its next turn, others for one.
 */

#include "core/state.h"

/* When the turn of @group is over for @asker, WAITING; SLU_CORE_NEVER if it is not RUNNING. */
uint64_t slu_core_expiry_ns(const struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_group *asker);

/* How long @group computes at least before an urgent program may end its turn. */
uint64_t slu_core_expiry_least_ns(const struct slu_core_group *group,
				  const struct slu_core_config *config);

/* The turn of @group, RUNNING, is about to be closed because it is over for somebody. */
void slu_core_expiry_note(const struct slu_core *core, struct slu_core_group *group);
