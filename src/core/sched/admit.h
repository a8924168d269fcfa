/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who is let in and who is closed, in one step (rules 19 to 22, 26, 34).
 *
 *   1. Deadlines: a fill without progress is closed; a drain that lasts too long is stuck.
 *   2. While orphans may still come back, nothing more is decided.
 *   3. Groups that do not fit and have several members are split (split.h).
 *   4. Groups that take memory which cannot move do so one at a time: the others are closed and
 *      kept waiting (grow.h).
 *   5. Open groups that no longer fit are closed, the oldest first; one that runs and has outgrown
 *      the device by itself keeps what it holds.
 *   6. Waiting groups in the policy's order: the first that fits alone is next on its devices, and
 *      nothing else is let in there before it. It comes beside the open ones if the sum is within
 *      share_percent; else those whose turn is over are closed until it fits. Those that cannot fit
 *      now are passed over, keep their place, and know why. One that the device as it is believed
 *      to be cannot hold is denied after a while, at once if it never could.
 *
 * Fills core->opened and core->waiting, each in its order, for what follows in the step.
 */

#include "core/state.h"

void slu_core_admit(struct slu_core *core);

/* All open groups into core->opened, the oldest turn first. */
void slu_core_admit_collect_open(struct slu_core *core);
