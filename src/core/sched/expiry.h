/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a turn is over for a waiting group that does not fit next to its holder.
 *
 * A holder that computes has the time that the policy gives it. A holder that rests gives up its
 * turn, but not at once: a program that loads its data pauses between two copies, and each time the
 * bytes of both programs would move to and fro. So its turn lasts for as long as a switch takes,
 * which costs the waiting group at most as much as the switch itself. A holder whose last pause was
 * longer gives up its turn at once: an interactive program yields at the end of its answer.
 *
 * A bound protects holders from urgent programs too: a holder that had run for less than four
 * switches when its turn ended runs for at least two switches in its next turn, others for one.
 */

#include "core/state.h"

/* When the turn of @group is over for @asker, WAITING; SLU_CORE_NEVER if it is not RUNNING. */
uint64_t slu_core_expiry_ns(const struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_group *asker);

/* A slice of @group: as the setting says, and at least slice_min_switches switches (rule 19). */
uint64_t slu_core_expiry_slice_ns(const struct slu_core_group *group,
				  const struct slu_core_config *config);

/* How long @group computes at least before an urgent program may end its turn. */
uint64_t slu_core_expiry_least_ns(const struct slu_core_group *group,
				  const struct slu_core_config *config);

/* Call it before the turn of @group, RUNNING, is closed because it is over for a waiting group. */
void slu_core_expiry_note(const struct slu_core *core, struct slu_core_group *group);
