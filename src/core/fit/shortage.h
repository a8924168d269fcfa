/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The device, or the pinned budget, on which a group does not fit: which group keeps the bytes
 * there, whether they may become free, and what happens to the estimate of the capacity meanwhile.
 */

#include <stdbool.h>

#include "core/fit/plan.h"
#include "core/state.h"

/*
 * Rule 16: the estimate of a device rises while a group lacks bytes there. A group that lacks
 * pinned memory would need less of it if the device held more.
 */
void slu_core_shortage_note(struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_shortage *shortage);

/* Return: the group other than @asker that keeps most of what cannot leave there now, or NULL. */
const struct slu_core_group *slu_core_shortage_keeper(const struct slu_core *core,
						      const struct slu_core_group *asker,
						      const struct slu_core_shortage *shortage);

/* Forgets the refusals on the devices of @group, so that it tries again. */
void slu_core_shortage_forget(struct slu_core *core, const struct slu_core_group *group);

/*
 * Whether the driver's refusal is final, as it would be without Sluice: no other group has memory
 * there to give up, none ended a moment ago, and all bytes of @group are on the device already. So
 * it is for what a MAPPED group must have on the device itself, if that exceeds the device.
 *
 * @is_tried: it has had a turn in vain.
 */
bool slu_core_shortage_is_final(struct slu_core *core, const struct slu_core_group *group,
				const struct slu_core_shortage *shortage, bool is_tried);

/* Whether @seat needs more than its device has by what refusals taught. */
bool slu_core_shortage_is_taught(const struct slu_core *core, const struct slu_core_seat *seat);
