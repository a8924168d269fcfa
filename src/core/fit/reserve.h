/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of a device's reserve that programs may use (rule 16). A group may use it for the bytes
 * without which it cannot have its turn alone, and for the working set in its open windows, as far
 * as the bytes that others cannot give up leave some of it. A group that does not fit even with the
 * whole reserve gains nothing by it, so the reserve is kept; but bytes of such a group that it can
 * neither move nor map stay where they are.
 *
 * A group in its turn has what it needs. The bytes of a group at rest leave until the reserve is
 * free again (balance.h), and a plan for its turn counts what it will need then.
 */

#include "core/state.h"

/*
 * The bytes that must be handed out on @device so that @group fits, @others_bytes of others that
 * cannot leave included. @present_bytes: the device, the reserve included. 0: the group fits
 * without the reserve, or not even with it. Call it after slu_core_plan_refresh().
 */
uint64_t slu_core_reserve_needed(const struct slu_core_group *group, unsigned device,
				 uint64_t others_bytes, uint64_t present_bytes);

/* The bytes that other groups than @group cannot give up there. */
uint64_t slu_core_reserve_others(const struct slu_core *core, const struct slu_core_group *group,
				 unsigned device);

/* Sets needed_bytes of the device's capacity, for the groups that are not at rest. */
void slu_core_reserve_find_needed(struct slu_core *core, unsigned device);
