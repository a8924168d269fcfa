/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rule 30: the pinned chunks through which a client's mover copies. Each client gets them when it
 * joins, if the budget has them, and keeps them while it lives. A client without chunks copies
 * through pageable memory, which is slower but always works.
 */

#include "core/state.h"

/* Call it when chunks may be due to the client, or no longer. @is_gone: it is about to be freed. */
void slu_core_staging_note(struct slu_core *core, struct slu_core_client *client, bool is_gone);

/* Grants chunks to clients that have none. Call it before admission uses the rest of the budget. */
void slu_core_staging_grant(struct slu_core *core);

/*
 * Takes chunks back, the newest client first, when the budget became smaller and slack and bytes at
 * rest do not suffice. The clients need not be at rest, because no command uses staging memory.
 */
void slu_core_staging_shrink(struct slu_core *core);
