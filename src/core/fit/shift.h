/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which backing is in host memory and which on disk: the order of the next turns decides. The
 * backing of the group that runs last goes to disk first, that of the next group comes up before
 * its turn.
 *
 * The group that is next gets host memory for all that it has on disk, as far as the budget allows.
 * For what it lacks, groups that run later give up host memory, and get bytes on disk for it first:
 *
 *   1. idle programs, the longest idle first
 *   2. waiting groups, the one that runs last first
 *
 * Open groups give up none: at the end of their turn they must leave quickly. When the budget
 * became smaller, backing above it goes down in the same order.
 */

#include "core/state.h"

void slu_core_shift(struct slu_core *core);
