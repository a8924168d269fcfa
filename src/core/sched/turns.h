/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The turns of groups: the steps of the machine drawn in group.h.
 *
 * One epoch a turn (rule 18): the daemon's generation and a counter. Clients and core compare
 * epochs for equality only: a READY or REST of another epoch changes nothing (rule 24).
 */

#include "core/state.h"

/* WAITING -> FILLING: TURN to every seat of every joined member, one epoch. */
void slu_core_turns_grant(struct slu_core *core, struct slu_core_group *group);

/* Open -> DRAINING: CLOSE to every seat that has the turn. */
void slu_core_turns_close(struct slu_core *core, struct slu_core_group *group, const char *reason,
			  ...) __attribute__((__format__(__printf__, 3, 4)));

/* Gives the group the state that follows from its seats. Call it after each event. */
void slu_core_turns_update(struct slu_core *core, struct slu_core_group *group);

/* Rule 23: a seat that wants to run while its group's turn is open gets the same epoch. */
void slu_core_turns_complete(struct slu_core *core, struct slu_core_group *group);

/* HELLO: the seat reported @epoch. It goes on with it, or gets CLOSE. */
void slu_core_turns_resume(struct slu_core *core, struct slu_core_client *client,
			   struct slu_core_seat *seat, struct slu_epoch epoch, bool gate_is_open);

/*
 * A fill made progress. After a long time without progress the program was probably stopped, and
 * that time does not count as part of the switch: the slice depends on the switch (rule 19), and
 * other programs should not wait longer for it.
 */
void slu_core_turns_progress(struct slu_core *core, struct slu_core_group *group);
