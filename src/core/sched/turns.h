/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The turns of groups: the steps of the machine drawn in group.h.
 *
 * One epoch a turn (rule 18): the daemon's generation and a counter. Clients compare epochs for
 * equality only, and so do we: a READY or REST of another epoch changes nothing (rule 24).
 */

#include "core/state.h"

/* WAITING -> FILLING: TURN to every seat of every joined member, one epoch. */
void slu_core_turns_grant(struct slu_core *core, struct slu_core_group *group);

/* Open -> DRAINING: CLOSE to every seat that has the turn. */
void slu_core_turns_close(struct slu_core *core, struct slu_core_group *group, const char *reason,
			  ...) __attribute__((__format__(__printf__, 3, 4)));

/* Whatever the seats have become, the group's state follows. Call after each event. */
void slu_core_turns_update(struct slu_core *core, struct slu_core_group *group);

/* Rule 23: a seat that wants to run while its group's turn is open gets the same epoch. */
void slu_core_turns_complete(struct slu_core *core, struct slu_core_group *group);

/* HELLO: the seat reported @epoch. It goes on with it, or is told to close. */
void slu_core_turns_resume(struct slu_core *core, struct slu_core_client *client,
			   struct slu_core_seat *seat, struct slu_epoch epoch, bool gate_is_open);

/*
 * Bytes of a fill came nearer. Where none had for long, its program was stopped perhaps, and what
 * was lost so is no part of the switch: turns are as long as the switch was dear (rule 19), and
 * nobody else should wait the longer for it.
 */
void slu_core_turns_progress(struct slu_core *core, struct slu_core_group *group);
