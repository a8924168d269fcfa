/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The place where a group does not fit: who keeps the bytes there, whether they may come back, and
 * what is believed of the capacity meanwhile.
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

/* Forgets what was refused on the devices of @group: it is to see for itself. */
void slu_core_shortage_forget(struct slu_core *core, const struct slu_core_group *group);

/*
 * Whether the driver's refusal is final, as it would be without us: no other group has memory there
 * to give up, none has left a moment ago, and all that @group has is on the device already.
 *
 * @is_tried: it has had a turn in vain.
 */
bool slu_core_shortage_is_final(struct slu_core *core, const struct slu_core_group *group,
				const struct slu_core_shortage *shortage, bool is_tried);
