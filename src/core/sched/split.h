/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Splitting (rule 35): a group whose members together exceed the device, or the pinned budget, can
 * never have its turn. Rather than deny one of them what it would get alone, that one becomes a
 * group of its own, and from then on the two take turns like any others.
 *
 *   group:  { a, b, c }  ──▶  { a, c }   keeps its turn, its place in the order, its name
 *                             { b }      new; what turn b has goes along and is closed
 *
 * Who leaves is the one that asked: of those who want to run, who lacks most where it does not
 * fit; among equals who came last. It is split at once if the group never fits, after half of the
 * patience if it is only that less is believed to be there, for then it may fit again soon. It
 * keeps what the policy remembers of the group, so splitting is no way to the top. In mode LAUNCH
 * members whose commands fit, but not their working sets, are split when that has lasted a while:
 * together they would move the same bytes for ever (decisions/0003). A group that waits because of
 * what others cannot move is split after half of the patience, if one of the two parts would fit.
 *
 *   { a, c }, { b }  ──▶  { a, c, b }   b was at rest; an open turn of the others is its turn too
 *
 * A client that was split off because its group did not fit, and not by a request, is united with
 * the group that it comes from when both have fitted side by side for as long as the patience:
 * below share_percent, so that the next allocation does not split them again. The policy decides
 * what it remembers of the united group.
 *
 * The core moves the client at once and says so with SLU_CORE_SPLIT; the caller follows.
 */

#include "core/state.h"

/* Unites who fits again, then splits every group that needs it, until each fits or has nobody to
 * split from. Return: whether anything changed. */
bool slu_core_split_unfit(struct slu_core *core);
