/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rule 30: the pinned chunks that a client's mover copies through. Each client gets them when it
 * joins, if the budget has them, and keeps them while it lasts. Who has none copies through
 * pageable memory: slower, never stuck.
 */

#include "core/state.h"

/* To whoever has none. Before anybody is let in by what is left of the budget. */
void slu_core_staging_grant(struct slu_core *core);

/*
 * A budget that became smaller, and slack and bytes at rest are not enough: who came last gives up
 * its chunks first. That needs no rest, for no command touches what is staged.
 */
void slu_core_staging_shrink(struct slu_core *core);
