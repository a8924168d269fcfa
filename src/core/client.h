/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One process: its accounts, and its seat at each of its devices.
 *
 *   ORPHAN -> JOINED   [slu_core_hello]   a program of the last daemon came back
 *   JOINED -> LOST     [slu_core_lost]    the connection ended, the process lives
 *   LOST   -> JOINED   [slu_core_hello]
 *   any    -> (gone)   [slu_core_dead]
 *
 *  ORPHAN:  charged in full, never a victim, gets no message; the phases of its seats are unknown.
 *  JOINED:  has turns and gets messages.
 *  LOST:    like an orphan, but the phases of its seats are known: it keeps a turn that it has.
 *
 * The seat of a client at a device:
 *
 *   NONE    -> TURN      TURN sent                    [sched/turns.c]
 *   TURN    -> READY     READY, epoch equal
 *   TURN, READY -> CLOSING   CLOSE sent
 *   any     -> NONE      REST, epoch equal
 *   NONE    -> TURN, READY or CLOSING   HELLO reported an epoch: adopted or closed
 *
 *  NONE:     at rest on this device.       * epoch is none
 *  others:   its turn is open there.       * epoch is the turn's
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/core.h"
#include "core/credit/account.h"
#include "wire/message.h"

struct slu_core;
struct slu_core_group;

enum slu_core_phase {
	SLU_CORE_PHASE_NONE,
	SLU_CORE_PHASE_TURN,
	SLU_CORE_PHASE_READY,
	SLU_CORE_PHASE_CLOSING,
};

struct slu_core_seat {
	struct slu_core_account account;
	unsigned device; /* the core's number */
	uint8_t place;	 /* in HELLO's list: how messages name it */
	enum slu_mode mode;
	enum slu_core_phase phase;
	struct slu_epoch epoch;
	struct slu_msg_want want; /* as last reported */
	struct slu_msg_facts facts;
	bool is_denied; /* DENY sent, and no WANT since */
	bool is_served; /* it got what it wanted since its group did not fit (sched/patience.h) */

	/* sched/grow.h: the most bytes that could not move, and when they became more */
	uint64_t unmovable_bytes;
	uint64_t grown_ns;
	bool is_growing; /* grown_ns is a time */

	/* rule 21: the need next to other groups; a fall counts only when it has lasted */
	uint64_t peak_bytes;
	uint64_t peak_ns; /* when the need fell below the peak */

	/* of the last plan that this seat was part of */
	uint64_t need_bytes;  /* the turn does not begin without it */
	uint64_t paged_bytes; /* beyond it, others give up bytes for what the driver pages */
	uint64_t goal_bytes;  /* both, and what may be spent beyond them */
};

enum slu_core_standing { SLU_CORE_ORPHAN, SLU_CORE_JOINED, SLU_CORE_LOST };

struct slu_core_client {
	TAILQ_ENTRY(slu_core_client) link;
	TAILQ_ENTRY(slu_core_client) member_link;
	uint64_t id;
	struct slu_core_group *group;
	uint64_t run; /* the group that it was split from because they did not fit together; or 0 */
	char name[SLU_WIRE_NAME_MAX];
	enum slu_core_standing standing;
	unsigned n_seats;
	struct slu_core_seat seats[SLU_WIRE_DEVICES_MAX];
	struct slu_core_account pinned, backing, disk;
	struct slu_core_bounds bounds; /* on backing in memory and on disk, shared with others */
	uint64_t staging_bytes;	       /* of pinned: granted for staging; 0: the budget had none */
	bool never_pins;	       /* none of its devices has a use for pinned memory */
	uint64_t pinned_goal_bytes;    /* of the last plan: staging and the MAPPED rest */
	uint64_t backing_want_bytes;   /* 0: the client asks for none */
	uint64_t backing_least_bytes;  /* … and this much suffices for the first allocation */
	uint64_t disk_want_bytes; /* … or this much on disk instead; 0: it cannot use the disk */
	uint64_t disk_refused_ns; /* its disk was full when a grant was used; 0: never */
	bool has_disk;		  /* it can use the disk */
	bool is_passed_over;   /* while a step decides which backing goes to disk: asked already */
	bool roster_is_queued; /* a ROSTER_PUT waits to be taken */
};

TAILQ_HEAD(slu_core_clients, slu_core_client);

struct slu_core_client *slu_core_client_find(const struct slu_core *core, uint64_t id);

/* A new orphan without seats; -ENOMEM leaves the core as it was. */
int slu_core_client_new(struct slu_core *core, uint64_t id, uint64_t group,
			struct slu_core_client **ret_client);

/* Gives back every charge, and frees the group with its last member. */
void slu_core_client_free(struct slu_core *core, struct slu_core_client *client);

/* Replaces the seats of the client by new ones. */
void slu_core_client_seat(struct slu_core *core, struct slu_core_client *client, unsigned n,
			  const unsigned *devices);

void slu_core_client_rename(struct slu_core_client *client, const char *name);

/* Bytes that the seat must have in its turn: all units, in LAUNCH those of a waiting command. */
uint64_t slu_core_seat_need_bytes(const struct slu_core_seat *seat);
/* Its need next to other groups: in LAUNCH also its working set, else what the driver pages (rule
 * 20).
 */
uint64_t slu_core_seat_beside_bytes(const struct slu_core_seat *seat);
/* Raises the want to what is held, which it cannot be less than. */
void slu_core_seat_holds(struct slu_core_seat *seat, uint64_t now_ns);
void slu_core_seat_want(struct slu_core_seat *seat, uint64_t now_ns,
			const struct slu_msg_want *want);

static inline bool slu_core_client_is_joined(const struct slu_core_client *client)
{
	return client->standing == SLU_CORE_JOINED;
}
