/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs that take more and more memory which cannot move (pools, arrays, mappings). Several of
 * them on one device hold what they have and wait for more until none can go on, and all but one
 * must fail. So they grow one at a time: once a quarter of the device cannot move and two groups
 * grow, one of them is the device's grower, and the others wait at rest. What they have by then
 * stays, and the grower has the rest.
 *
 *   NONE   -> GROWER   it grows, and has most that cannot move      [slu_core_grow_look]
 *   GROWER -> NONE     it has not grown for the patience; or it rests for a quarter of it; or
 *                      it cannot get what it wants; or it is gone; or, while others wait for it,
 *                      it has been for GROWER_PATIENCES          [slu_core_grow_look]
 *
 * A group that waits to grow does so until it is let in: it cannot show meanwhile that it grows.
 */

#include "core/state.h"

/* FACTS has come: perhaps more than ever cannot move. */
void slu_core_grow_note(struct slu_core *core, struct slu_core_seat *seat);

/* Who is the grower of each device in this step. */
void slu_core_grow_look(struct slu_core *core);

/* Return: the grower that @group waits for, or NULL: it may run. */
const struct slu_core_group *slu_core_grow_waits_for(const struct slu_core *core,
						     const struct slu_core_group *group);
