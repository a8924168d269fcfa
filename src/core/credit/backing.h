/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Backing credit: host memory, or bytes on disk, reserved for every byte when it is allocated,
 * whether or not it is there now (rule 4). So eviction never lacks memory, and two full programs
 * can always be exchanged.
 *
 * Who asks gets host memory at once if the budget has it; else what others do not use of it is
 * taken from them first; then bytes on disk, in the same two steps; and only when there is none to
 * be had the allocation is denied.
 *
 * Beside the budgets of the machine there are bounds that several clients share: of their user, and
 * of the groups of processes (cgroups) that they are in.
 */

#include "core/state.h"

void slu_core_backing_serve(struct slu_core *core);

/* The most that a raise may ask for now, within budget and bounds. */
uint64_t slu_core_backing_most_bytes(const struct slu_core *core,
				     const struct slu_core_client *client);
/* … of disk. What a client cannot have on disk counts as none left. */
uint64_t slu_core_backing_most_disk_bytes(struct slu_core *core,
					  const struct slu_core_client *client);
