/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One process: its accounts, and its seat at each of its devices (seat.h).
 *
 *   ORPHAN -> JOINED   [slu_core_hello]   a program of the last daemon came back
 *   JOINED -> LOST     [slu_core_lost]    the connection ended, the process lives
 *   LOST   -> JOINED   [slu_core_hello]
 *   any    -> (gone)   [slu_core_dead]
 *
 *  ORPHAN:  charged in full, never a victim, gets no message; the phases of its seats are unknown.
 *  JOINED:  has turns and gets messages.
 *  LOST:    like an orphan, but the phases of its seats are known: it keeps a turn that it has.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/core.h"
#include "core/credit/account.h"
#include "core/seat.h"
#include "wire/message.h"

struct slu_core;
struct slu_core_group;
struct slu_core_user;

enum slu_core_standing { SLU_CORE_ORPHAN, SLU_CORE_JOINED, SLU_CORE_LOST };

struct slu_core_client {
	TAILQ_ENTRY(slu_core_client) link;
	TAILQ_ENTRY(slu_core_client) member_link;
	LIST_ENTRY(slu_core_client) index_link;
	TAILQ_ENTRY(slu_core_client) unstaged_link;
	bool is_unstaged; /* in core->unstaged */
	uint64_t id;
	struct slu_core_group *group;
	struct slu_core_user *user;
	uint64_t run; /* the group that it was split from because they did not fit together; or 0 */
	char name[SLU_WIRE_NAME_MAX];
	enum slu_core_standing standing;
	enum slu_core_priority priority; /* as a person says; the group has one for all */
	uint64_t expect_ns;		 /* likewise */
	unsigned n_seats;
	struct slu_core_seat seats[SLU_WIRE_DEVICES_MAX];
	struct slu_core_account pinned, pageable, disk;
	struct slu_core_bounds bounds; /* on backing in memory and on disk, shared with others */
	uint64_t staging_bytes;	       /* of pinned: granted for staging; 0: the budget had none */
	bool never_pins;	       /* none of its devices has a use for pinned memory */
	bool pins_copies;	       /* a device of it copies faster from pinned host copies */
	uint64_t pin_refused_ns;       /* the driver refused to pin more then; 0: never */
	uint64_t pin_vain_ns;	      /* it has refused to since, and nothing became MAPPED; or 0 */
	uint64_t pinned_goal_bytes;   /* of the last plan: staging and the MAPPED rest */
	uint64_t backing_want_bytes;  /* 0: the client asks for none */
	uint64_t backing_least_bytes; /* … and this much suffices for the first allocation */
	uint64_t disk_want_bytes; /* … or this much on disk instead; 0: it cannot use the disk */
	uint64_t disk_refused_ns; /* its disk was full when a grant was used; 0: never */
	bool has_disk;		  /* it can use the disk */
	bool is_passed_over;	  /* while a step goes through the clients: asked already */
	bool roster_is_queued;	  /* a ROSTER_PUT waits to be taken */
};

TAILQ_HEAD(slu_core_clients, slu_core_client);
LIST_HEAD(slu_core_client_bucket, slu_core_client);

struct slu_core_client *slu_core_client_find(const struct slu_core *core, uint64_t id);

/* A new orphan without seats; -ENOMEM leaves the core as it was. */
int slu_core_client_new(struct slu_core *core, uint64_t id, uint64_t group, uint64_t user,
			struct slu_core_client **ret_client);

/* Gives back every charge, and frees the group with its last member. */
void slu_core_client_free(struct slu_core *core, struct slu_core_client *client);

/* Replaces the seats of the client by new ones. */
void slu_core_client_seat(struct slu_core *core, struct slu_core_client *client, unsigned n,
			  const unsigned *devices);

void slu_core_client_rename(struct slu_core_client *client, const char *name);

static inline bool slu_core_client_is_joined(const struct slu_core_client *client)
{
	return client->standing == SLU_CORE_JOINED;
}
