/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bytes that come ahead are a guess: that the group which is next will have the next turn on the
 * device. The guess is wrong if another group gets a turn there first, or takes its place in the
 * order, because a program came that is more urgent, or because the next one no longer wants to
 * run. Then its bytes came for nothing, and those of others left for nothing.
 *
 * So each device has a credit for guesses, of as many bytes as the device has at most. What comes
 * ahead spends it. A right guess gets back what it spent, a wrong one does not, and each turn that
 * begins there gives an eighth of the device. It follows that in a time in which T turns begin, no
 * more than
 *
 *     device + T × device / 8
 *
 * bytes come for wrong guesses, and others give up no more for them than that and a unit each
 * (rule 28). A device whose guesses are right never comes near.
 */

#include "core/state.h"

struct slu_core_group;

void slu_core_guess_init(struct slu_core_device *device);

/* From now on the group of this id is next on the device; 0: none is. */
void slu_core_guess_next(struct slu_core_device *device, uint64_t group);

/* A turn of @group begins: the guesses on its devices were right or wrong. */
void slu_core_guess_turn(struct slu_core *core, const struct slu_core_group *group);

/* @bytes come ahead; not more than guess_credit_bytes. */
void slu_core_guess_spend(struct slu_core_device *device, uint64_t bytes);
