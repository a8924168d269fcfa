/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Knots (rule 26): nobody runs or drains, and everybody who waits waits for bytes that cannot leave
 * (frozen, or behind a host event).
 *
 *   LOOSE -> KNOTTED   [slu_core_knot_look]   people are told, once
 *   KNOTTED -> TIGHT   [slu_core_knot_look]   only those who wait keep them: nobody else can help
 *   TIGHT -> TIGHT     [slu_core_knot_look]   patience is over: one of them was denied
 *   any -> LOOSE       [slu_core_knot_look]   somebody can run, or nobody wants to
 *
 * Who waits for one that does not wait itself, or does not answer, waits on: that one may free its
 * bytes, end or be continued at any time. Those who wait for each other would do so for ever. One
 * of them is denied then, which is what the driver alone would have said to it; of those who were
 * denied least in this knot the one that came last, for the others were there before it.
 */

#include "core/state.h"

/* After core->waiting and core->opened were filled, and who waits knows why. */
void slu_core_knot_look(struct slu_core *core);
