/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How the programs of a device share it now, for people: whether they need turns at all, and why a
 * turn is longer than a slice. The words name no program, so that everybody may read them.
 */

#include "core/state.h"

/* Whether programs take turns on @device: somebody waits, or not all of them fit. */
bool slu_core_sharing_has_turns(const struct slu_core *core, unsigned device);

/* What there is to say of it; empty where a turn is as long as @slice says. */
void slu_core_sharing_describe(const struct slu_core *core, unsigned device, char *ret_text,
			       size_t size);
