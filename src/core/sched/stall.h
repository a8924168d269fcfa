/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies that do not end. A driver may hang in a copy of one program; the others must not wait for
 * it without end. The core sees it in two ways: a fill that has all its limits places nothing for
 * the fill deadline, or a program that must give up bytes gives up none for as long.
 *
 *   MOVING  -> STALLED   the deadline                                    [slu_core_stall_look]
 *   STALLED -> MOVING    a copy has ended, or the group runs             [slu_core_stall_end]
 *
 *  MOVING:   stall_ns is NEVER.
 *  STALLED:  nothing of it moved since stall_ns. It gets no turn before stall_end_ns; a turn in
 *            which it stalls again doubles the wait. An account that gave up nothing is_stalled:
 *            its charge is a floor, and the other groups go on in the rest.
 */

#include <stdbool.h>

struct slu_core;
struct slu_core_account;
struct slu_core_group;

/* Marks accounts that should give up bytes and do not, and closes fills that place nothing. */
void slu_core_stall_look(struct slu_core *core);

/* Whether the group stalled and must wait before its next turn. */
bool slu_core_stall_waits(struct slu_core *core, const struct slu_core_group *group);

/* A copy of the group has ended: it may have its turn again. */
void slu_core_stall_end(struct slu_core_group *group);

/* The group has all its bytes: what was is forgotten. */
void slu_core_stall_forget(struct slu_core_group *group);
