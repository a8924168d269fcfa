/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the reserve of a device yields to (rule 16): what a group cannot do without if it has its
 * turn alone, and what it has of its working set in windows that are open, beside what others
 * cannot give up. Who needs more than there is even so gains nothing by it, and the reserve is
 * kept; but what such a group can neither move nor map it has in any case.
 *
 * A group in its turn has what it needs. One at rest does not: its bytes leave until the reserve is
 * free again (balance.h), and a plan for its turn counts with what it will need then.
 */

#include "core/state.h"

/*
 * What @group needs of @device where @others_bytes of others cannot leave, and these too.
 * @present_bytes: what there is, the reserve included. 0: what is handed out to wishes will do, or
 * nothing will. The floors are known.
 */
uint64_t slu_core_reserve_needed(const struct slu_core_group *group, unsigned device,
				 uint64_t others_bytes, uint64_t present_bytes);

/* What others than @group cannot give up there. */
uint64_t slu_core_reserve_others(const struct slu_core *core, const struct slu_core_group *group,
				 unsigned device);

/* Sets needed_bytes of the device's capacity, for the groups that are not at rest. */
void slu_core_reserve_find_needed(struct slu_core *core, unsigned device);
