/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Splitting (rule 35): a group whose members together exceed the device, or the pinned budget, can
 * never have its turn. Instead of denying one of them memory that it would get alone, the core
 * gives that client a group of its own, and from then on the two groups take turns.
 *
 *   group:  { a, b, c }  ──▶  { a, c }   keeps its turn, its place in the order, its name
 *                             { b }      new; a turn that b has goes along and is closed
 *
 * The core splits off the member that caused it: of those that want to run, the one that lacks most
 * where the group does not fit; among equals the newest. It does so at once if the group can never
 * fit. If only the estimate is too low it waits for half of the patience, because the group may fit
 * again soon. The new group keeps what the policy remembers of the old one, so splitting does not
 * lift it to the top. In mode LAUNCH members whose commands fit, but not their working sets, are
 * split when that has lasted a while: together they would move the same bytes for ever
 * (decisions/0003). A group that waits for bytes that others cannot move is split after half of the
 * patience, if one of its two halves would fit.
 *
 *   { a, c }, { b }  ──▶  { a, c, b }   b was at rest; an open turn of the others is its turn too
 *
 * A client that was split off because its group did not fit, and not by a request, is united with
 * its old group when both have fitted side by side for as long as the patience: below
 * share_percent, so that the next allocation does not split them again. The policy decides what it
 * remembers of the united group.
 *
 * The core moves the client at once and reports it with SLU_CORE_SPLIT; the caller follows.
 */

#include "core/state.h"

/* Unites groups that fit again, then splits every group that needs it, until each fits or has one
 * member. Return: whether anything changed. */
bool slu_core_split_unfit(struct slu_core *core);
