/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A user of the machine: the owner of programs. sched/users.h orders users by the device time that
 * their programs used, fit/ divides bytes between them.
 *
 *   (new)  -> USED     a program of the user joins, or is in the roster   [slu_core_user_take]
 *   USED   -> UNUSED   its last program ended                             [slu_core_user_give]
 *   UNUSED -> USED     a program of the user joins                        [slu_core_user_take]
 *   UNUSED -> (gone)   many others are unused, and a new user comes       [slu_core_user_take]
 *
 *  USED:    n_clients > 0
 *  UNUSED:  n_clients == 0; the record stays, so that a user whose programs end and start again
 *           does not begin anew
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/state.h"

/* What a user has of one device. */
struct slu_core_user_share {
	uint64_t virtual_ns; /* the time in which programs of the user used it; see sched/users.h */
	uint64_t counted_ns; /* until then */
	uint64_t granted_ns; /* the last turn of one of them began; for a new user: now */
	bool is_wanting;     /* at the last look: one of them wants it */
	bool is_claimed;     /* while a step looks: likewise */

	/* while a step plans */
	uint64_t held_bytes;
	unsigned n_slack; /* seats that still get some of the remaining bytes */
};

struct slu_core_user {
	TAILQ_ENTRY(slu_core_user) link;
	uint64_t id;
	size_t n_clients;
	uint64_t ahead_ns;  /* at the last look: the most that it is ahead on a device it wants */
	uint64_t served_ns; /* likewise: the last turn on one of them began */
	struct slu_core_user_share on[SLU_CORE_DEVICES_MAX + 1]; /* the last: pinned memory */
};

/* The record of user @id, for one more client. Return: 0 or -ENOMEM. */
int slu_core_user_take(struct slu_core *core, uint64_t id, struct slu_core_user **ret_user);
void slu_core_user_give(struct slu_core *core, struct slu_core_user *user);

/* With the core: no client remains. */
void slu_core_users_free(struct slu_core *core);
