/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Admission in one step: which groups get a turn and which are closed (rules 19 to 22, 26, 34).
 *
 *   1. Deadlines: a fill without progress is closed; a drain that lasts too long is stuck.
 *   2. While orphans may still come back, the core decides nothing more.
 *   3. Groups that do not fit and have several members are split (split.h).
 *   4. Groups that allocate unmovable memory do so one at a time: the others are closed and
 *      wait (grow.h).
 *   5. Open groups that no longer fit are closed, the oldest first; a group that runs and has
 *      outgrown the device by itself keeps what it holds.
 *   6. Waiting groups in the policy's order: the first that fits alone is next on its devices, and
 *      no other group is admitted there before it. It runs next to the open ones if the sum is
 *      within share_percent and the policy agrees; else groups whose turn is over are closed until
 *      it fits. Groups that cannot fit now are passed over, keep their place, and get a reason. If
 *      the policy allows it, groups behind the next one run meanwhile, where they fit next to the
 *      open ones. A group that is larger than the estimate is denied after the patience, at once
 *      if it is larger than the device.
 *   7. Waiting groups that keep each other's bytes are a deadlock (deadlock.h).
 *
 * Fills core->opened and core->waiting, each in its order, for the rest of the step.
 */

#include "core/state.h"

void slu_core_admit(struct slu_core *core);

/* All open groups into core->opened, the oldest turn first. */
void slu_core_admit_collect_open(struct slu_core *core);
