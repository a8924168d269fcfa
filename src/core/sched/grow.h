/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs that allocate more and more unmovable memory (pools, arrays, mappings). If several of
 * them do so on one device, each holds what it has and waits for more, until none can go on and all
 * but one must fail. So they grow one at a time: once a quarter of the device cannot move and two
 * groups grow, one of them is the device's grower, and the others wait at rest. They keep what they
 * have, and the grower has the rest.
 *
 *   NONE   -> GROWER   it grows, and has the most unmovable memory   [slu_core_grow_look]
 *   GROWER -> NONE     it has not grown for the patience; or it rests for a quarter of it; or
 *                      it cannot get what it wants; or it ended; or, while others wait for it,
 *                      it was the grower for GROWER_PATIENCES        [slu_core_grow_look]
 *
 * A group that waits to grow does so until it is admitted: it cannot show meanwhile that it grows.
 */

#include "core/state.h"

/* FACTS came: notes whether the seat has more unmovable bytes than ever. */
void slu_core_grow_note(struct slu_core *core, struct slu_core_seat *seat);

/* Chooses the grower of each device in this step. */
void slu_core_grow_look(struct slu_core *core);

/* Return: the grower that @group waits for, or NULL: it may run. */
const struct slu_core_group *slu_core_grow_waits_for(const struct slu_core *core,
						     const struct slu_core_group *group);
