/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Deadlocks (rule 26): no group runs or drains, and every waiting group waits for bytes that cannot
 * leave (frozen, or behind a host event).
 *
 *   NONE -> OPEN       [slu_core_deadlock_check]   reported once
 *   OPEN -> CLOSED     [slu_core_deadlock_check]   only waiting groups keep the bytes
 *   CLOSED -> CLOSED   [slu_core_deadlock_check]   patience is over: one group was denied
 *   any -> NONE        [slu_core_deadlock_check]   a group can run, or none wants to
 *
 *  OPEN:     core->is_deadlocked. A program that does not wait itself, or does not answer, keeps
 *            some of the bytes. It may free them, end or continue at any time, so the others wait
 *            on.
 *  CLOSED:   core->deadlock_ns is the time since when. The groups would wait for each other for
 *            ever, so one of them is denied, as the driver alone would have done: of the groups
 *            that were denied least in this deadlock the one that came last.
 */

#include "core/state.h"

/* Call it after core->waiting, core->opened and the reasons of the waiting groups are filled in. */
void slu_core_deadlock_check(struct slu_core *core);
