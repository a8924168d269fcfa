/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose backing is in host memory and whose on disk: the order of return decides. What returns last
 * goes to disk first, what returns next comes up ahead of its turn.
 *
 * The group that is next gets host memory for all that it has on disk, as far as there is any; what
 * it lacks is asked of those who run later, who get bytes on disk for it first:
 *
 *   1. idle programs, the longest idle first
 *   2. waiting ones, who runs last first
 *
 * Open groups are not asked: at the end of their turn they are to leave quickly. When the budget
 * was made smaller, what is above it goes down in the same order.
 */

#include "core/state.h"

void slu_core_shift(struct slu_core *core);
