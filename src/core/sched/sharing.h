/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How the programs of a device share it now, in words for people: whether they take turns, and why
 * a turn is longer than a slice. The words name no program, so every user may read them.
 */

#include "core/state.h"

/* Whether programs take turns on @device: a program waits, or not all of them fit. */
bool slu_core_sharing_has_turns(const struct slu_core *core, unsigned device);

/* The group that has had its turn there for longest, also one that drains; or NULL. */
const struct slu_core_group *slu_core_sharing_holder(const struct slu_core *core, unsigned device);

/* The same on any device that @group uses: whose turn it waits for. */
const struct slu_core_group *slu_core_sharing_awaited(const struct slu_core *core,
						      const struct slu_core_group *group);

/* How they share it; empty if turns are as long as the setting slice. */
void slu_core_sharing_describe(const struct slu_core *core, unsigned device, char *ret_text,
			       size_t size);
