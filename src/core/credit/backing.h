/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Backing credit: host memory or bytes on disk, reserved for every byte from its allocation on,
 * wherever the byte is (rule 4). So eviction never lacks memory, and two full programs can always
 * be exchanged.
 *
 * A client that asks for backing gets host memory at once if the budget has it. Otherwise clients
 * with unused host memory give it up first. Then the client gets bytes on disk, in the same two
 * steps. Only if both are used up is the allocation denied.
 *
 * In addition to the budgets of the machine there are bounds that several clients share: those of
 * their user, and those of their control groups (cgroups). Quotas bound both kinds of backing
 * together, which is all device memory that a program owns, when a client asks for more.
 */

#include "core/state.h"

/* Answers every client that waits for backing. */
void slu_core_backing_serve(struct slu_core *core);

/* The most that a raise may ask for now, within budget and bounds. */
uint64_t slu_core_backing_most_bytes(const struct slu_core *core,
				     const struct slu_core_client *client);
/* … of disk; 0 for a client that cannot use the disk. */
uint64_t slu_core_backing_most_disk_bytes(struct slu_core *core,
					  const struct slu_core_client *client);
