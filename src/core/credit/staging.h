/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rule 30: the pinned chunks through which a client's mover copies. Each client gets them when it
 * joins, if the budget has them, and keeps them while it lives. A client without chunks copies
 * through pageable memory, which is slower but always works.
 */

#include "core/state.h"

/* Grants chunks to clients that have none. Call it before admission uses the rest of the budget. */
void slu_core_staging_grant(struct slu_core *core);

/*
 * Takes chunks back, the newest client first, when the budget became smaller and slack and bytes at
 * rest do not suffice. The clients need not be at rest, because no command uses staging memory.
 */
void slu_core_staging_shrink(struct slu_core *core);
