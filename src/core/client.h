/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One process: its accounts, and its seat at each of its devices.
 *
 *   ORPHAN -> JOINED   [slu_core_hello]   a line of the roster came back
 *   JOINED -> LOST     [slu_core_lost]    the connection went, the process did not
 *   LOST   -> JOINED   [slu_core_hello]
 *   any    -> (gone)   [slu_core_dead]
 *
 *  ORPHAN:  charged in full, never a victim, gets no message; its seats are unknown.
 *  JOINED:  takes part.
 *  LOST:    as an orphan, but its seats are known: a turn that it has it keeps.
 *
 * The seat of a client at a device:
 *
 *   NONE    -> TURN      TURN sent                    [sched/turns.c]
 *   TURN    -> READY     READY, epoch equal
 *   TURN, READY -> CLOSING   CLOSE sent
 *   any     -> NONE      REST, epoch equal
 *   NONE    -> TURN, READY or CLOSING   HELLO reported an epoch: adopted, or told to close
 *
 *  NONE:     at rest as far as this device goes.       * epoch is none
 *  others:   a turn is open there.                     * epoch is the turn's
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
	struct slu_msg_want want; /* as told last */
	struct slu_msg_facts facts;
	bool is_denied; /* DENY sent, and no WANT since */
	bool is_served; /* it had what it wanted, since its group did not fit (sched/patience.h) */

	/* sched/grow.h: the most that could not move, and when it became more */
	uint64_t unmovable_bytes;
	uint64_t grown_ns;
	bool is_growing; /* grown_ns is a time */

	/* rule 21: the need beside others; a fall counts only when it has lasted */
	uint64_t peak_bytes;
	uint64_t peak_ns; /* when the need fell below the peak */

	/* of the last plan that this seat was part of */
	uint64_t need_bytes;  /* without it the turn does not begin */
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
	uint64_t backing_want_bytes;   /* 0: nothing is asked */
	uint64_t backing_least_bytes;  /* … and so much would do for the first allocation */
	uint64_t disk_want_bytes;      /* … or so much on disk instead; 0: it cannot go there */
	uint64_t disk_refused_ns;      /* its disk was full when a grant was used; 0: never */
	bool has_disk;		       /* it can have bytes on disk */
	bool is_passed_over;   /* while a step decides whose backing goes down: it was asked */
	bool roster_is_queued; /* a ROSTER_PUT waits to be taken */
};

TAILQ_HEAD(slu_core_clients, slu_core_client);

struct slu_core_client *slu_core_client_find(const struct slu_core *core, uint64_t id);

/* A new orphan without seats; -ENOMEM leaves the core as it was. */
int slu_core_client_new(struct slu_core *core, uint64_t id, uint64_t group,
			struct slu_core_client **ret_client);

/* Every charge is given back; the group goes with its last member. */
void slu_core_client_free(struct slu_core *core, struct slu_core_client *client);

/* Gives the client these seats, new ones, and no others. */
void slu_core_client_seat(struct slu_core *core, struct slu_core_client *client, unsigned n,
			  const unsigned *devices);

void slu_core_client_rename(struct slu_core_client *client, const char *name);

/* Bytes that the seat must have in its turn: all units, in LAUNCH those of a waiting command. */
uint64_t slu_core_seat_need_bytes(const struct slu_core_seat *seat);
/* What it needs beside others: in LAUNCH its working set too, else what the driver pages (rule 20).
 */
uint64_t slu_core_seat_beside_bytes(const struct slu_core_seat *seat);
/* It holds more than it said it wants: that much it wants. */
void slu_core_seat_holds(struct slu_core_seat *seat, uint64_t now_ns);
void slu_core_seat_want(struct slu_core_seat *seat, uint64_t now_ns,
			const struct slu_msg_want *want);

static inline bool slu_core_client_is_joined(const struct slu_core_client *client)
{
	return client->standing == SLU_CORE_JOINED;
}
