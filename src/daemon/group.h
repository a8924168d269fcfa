/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The programs of one `sluice run`. HELLO names a group by a number that the command made up. A
 * number counts only together with its user, so no program gets into another user's group. The
 * core's number is that of HELLO if it is free, else a new one.
 *
 * If the programs of a run together exceed the device, the core splits one of them off. It is then
 * in a group of its own that remembers its run and that no other program joins, until they fit
 * together. It stays so over a restart: the roster's line has it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "core/core.h"
#include "daemon/limits.h"

#define SLU_GROUP_WAITS_MAX 128

struct slu_server;

struct slu_group {
	LIST_ENTRY(slu_group) entry; /* server->groups */
	LIST_ENTRY(slu_group) id_entry;
	uint64_t id;   /* the core's */
	uint64_t wire; /* HELLO's; 0: a program of its own */
	bool is_split; /* from the group of its run: not joined by that number */
	bool is_parked;
	uid_t uid;
	unsigned n_members;
	struct slu_charge charge;

	/* how long it waited for its last turns, for status */
	uint64_t waiting_since_ns; /* 0: it does not wait */
	uint64_t waits_ns[SLU_GROUP_WAITS_MAX];
	unsigned n_waits; /* ever */
};

/*
 * The group of @wire, made if it is new. @id is the core's number that it had before a restart, or
 * 0. Return: 0, a condition of slu_charge_take(), or -errno.
 */
int slu_group_join(struct slu_server *server, uid_t uid, uint64_t wire, uint64_t id,
		   struct slu_group **ret_group);

/*
 * The same, for one that was split from the group of @wire: always a new one. It is not charged to
 * its user: there are never more of them than programs, and these are. Return: 0, or -ENOMEM.
 */
int slu_group_split(struct slu_server *server, uid_t uid, uint64_t wire, uint64_t id,
		    struct slu_group **ret_group);
void slu_group_leave(struct slu_group *group);

/* Parks it or unparks it, also after a restart. Return: 0, or -errno. */
int slu_group_park(struct slu_server *server, struct slu_group *group, bool parked);

struct slu_group *slu_group_find(struct slu_server *server, uint64_t id);

/* Notes waits that ended, from the core's view. */
void slu_group_observe(struct slu_group *group, uint64_t now_ns, enum slu_core_state state);

/* Of its last waits and of the present one, as long as that is by now. */
uint64_t slu_group_wait_p99_ns(const struct slu_group *group, uint64_t now_ns);
