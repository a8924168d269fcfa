/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rule 42: the rest of the pinned budget, after staging and what open groups have MAPPED, is for
 * pinned host copies: a switch copies from and to them without staging. Only programs that take
 * turns profit, so only they get any: those with units on a device that does not hold all programs.
 * What comes and goes soonest comes first; a program that has rested for long gives its copies up
 * for it. Programs that take turns do not take from each other, because pinning costs as much as
 * several switches.
 *
 * Copies yield to staging and to MAPPED at any time: no command touches them.
 */

#include "core/state.h"

void slu_core_pinned(struct slu_core *core);
