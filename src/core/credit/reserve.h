/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the reserve of a device yields to when outsiders have taken it (rule 16): what a group that
 * runs or waits cannot do without if it has its turn alone, and what it has of its working set in
 * windows that are open, beside what others cannot give up. Who needs more than there would be even
 * so gains nothing by it, and the reserve is kept.
 */

#include "core/state.h"

/* Sets needed_bytes of the device's capacity; the floors are known. */
void slu_core_reserve_find_needed(struct slu_core *core, unsigned device);
