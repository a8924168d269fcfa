/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes that get their turns together, over all their devices.
 *
 *   IDLE     -> WAITING    a member's WANT(runnable)                   [slu_core_turns_update]
 *   WAITING  -> IDLE       no member wants to run any more             [slu_core_turns_update]
 *   WAITING  -> FILLING    picked, fits, nobody drains there: TURN     [slu_core_turns_grant]
 *   FILLING  -> RUNNING    every seat that wants to run is READY       [slu_core_turns_update]
 *   FILLING, RUNNING -> DRAINING   CLOSE                               [slu_core_turns_close]
 *   open or DRAINING -> WAITING or IDLE   no seat has a turn any more  [slu_core_turns_update]
 *   IDLE, WAITING -> FILLING or DRAINING  HELLO reported an epoch      [slu_core_hello]
 *   (new) -> that of the group which a member with a turn was split from, then closed
 *                                                                      [slu_core_split]
 *   IDLE, WAITING -> (gone)   its member is united with its run        [slu_core_split_unfit]
 *
 *  IDLE, WAITING:      no seat of a joined or lost member has a turn
 *  FILLING, RUNNING:   some seat has one, of this epoch ("open")
 *  DRAINING:           some seat is CLOSING; past the deadline it is `stuck`: its charges are
 *                      floors, others go on; REST clears it
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/client.h"
#include "core/core.h"
#include "core/sched/patience.h"
#include "core/sched/policy.h"

/* Why a group waits: kept as facts, put into words when somebody looks. */
enum slu_core_why_kind {
	SLU_CORE_WHY_NOTHING,
	SLU_CORE_WHY_GRACE, /* programs of the last daemon are not back yet */
	SLU_CORE_WHY_PARKED,
	SLU_CORE_WHY_TURN,     /* of other */
	SLU_CORE_WHY_DRAIN,    /* other was told to close */
	SLU_CORE_WHY_BEHIND,   /* other is next */
	SLU_CORE_WHY_BYTES,    /* others keep what it needs; other is one of them */
	SLU_CORE_WHY_CAPACITY, /* the device has not so much */
	SLU_CORE_WHY_PINNED,   /* the pinned budget has not so much */
	SLU_CORE_WHY_GROWER,   /* other takes memory that cannot move, and so does this one */
};

struct slu_core_why {
	enum slu_core_why_kind kind;
	uint64_t other; /* a group's id */
	uint64_t need_bytes, free_bytes;
};

struct slu_core_group {
	TAILQ_ENTRY(slu_core_group) link;
	struct slu_core_clients members;
	uint64_t id;
	enum slu_core_state state;
	struct slu_epoch epoch;
	uint64_t since_ns;    /* in this state */
	uint64_t order;	      /* of arrival at WAITING: counts up */
	uint64_t place;	      /* WAITING: so many come before it in the policy's order */
	uint64_t granted_ns;  /* TURN of this turn */
	uint64_t running_ns;  /* the slice of this turn began */
	uint64_t switch_ns;   /* TURN to READY of this turn, without stalls */
	uint64_t progress_ns; /* bytes were placed (rule 34) */
	uint64_t stalled_ns;  /* so much of this turn's filling nothing moved at all */
	uint64_t drain_ns;    /* DRAINING: after this it is stuck */
	uint64_t counted_ns;  /* the policy knows what it did until then */

	uint64_t rest_ns;  /* nobody there wants to run since; or NEVER */
	uint64_t pause_ns; /* so long it rested last, after a turn */
	unsigned n_cut;	   /* turns in a row that ended soon after they began (expiry.h) */

	bool is_idle;	 /* no device progress, or blocked by the host */
	bool is_lacking; /* RUNNING, and all that wants to run there waits for its bytes */
	bool is_stuck;
	bool is_parked;
	bool is_adopted;    /* its turn was found at HELLO, not granted (I6) */
	bool is_overgrown;  /* runs, and wants more than there is: keeps what it holds */
	bool closes_others; /* somebody was closed for it: 100 % is enough (rule 21) */
	bool waits_to_grow; /* it was closed, or kept waiting, for another one that grows */
	bool is_returned;   /* what it wants it wants after a rest, or for the first time */
	bool is_next;	    /* WAITING, and nothing else is let in on its devices before it */
	uint64_t crowd_ns;  /* working sets of its members exceed a device since; or NEVER */
	uint64_t kept_ns;   /* others keep what its members need together since; or NEVER */
	uint64_t union_ns;  /* it would fit beside those it was split from since; or NEVER */
	struct slu_core_patience patience;
	unsigned n_deadlock_denials; /* denials in the present deadlock (deadlock.h) */

	uint64_t n_turns;
	uint64_t ran_ns;
	uint64_t used_ns; /* of ran_ns, less what it rested or lacked its bytes; until counted_ns */
	uint64_t used_before_ns; /* used_ns when this turn began */
	uint64_t waited_ns;
	enum slu_core_priority priority;
	unsigned level;	    /* set by the policy: 0 is the top; groups of one level are equals */
	void *policy_state; /* what the policy remembers of it; large enough for any policy */
	struct slu_core_why why;
};

/* Every device of every member that is connected. */
#define SLU_CORE_FOREACH_SEAT(group, client, seat)                                               \
	TAILQ_FOREACH (client, &(group)->members, member_link)                                   \
		if (slu_core_client_is_joined(client))                                           \
			for (seat = (client)->seats; seat < (client)->seats + (client)->n_seats; \
			     seat++)

struct slu_core_group *slu_core_group_find(const struct slu_core *core, uint64_t id);

/*
 * Reserves @n groups, so that making one cannot fail: each client reserves one for a group of its
 * own, whether it needs it or not. -ENOMEM leaves the core as it was.
 */
int slu_core_group_reserve(struct slu_core *core, size_t n);
struct slu_core_group *slu_core_group_new(struct slu_core *core, uint64_t id);
void slu_core_group_free(struct slu_core *core, struct slu_core_group *group);

/* What the policy remembers of the group it forgets: at the start, and for another policy. */
void slu_core_group_begin(struct slu_core *core, struct slu_core_group *group);
/* @to is to the policy what @from is. */
void slu_core_group_resemble(struct slu_core *core, struct slu_core_group *to,
			     const struct slu_core_group *from);

const char *slu_core_group_name(const struct slu_core_group *group);
void slu_core_group_enter(struct slu_core *core, struct slu_core_group *group,
			  enum slu_core_state state);
/*
 * Lets the policy know how the group spent its time until now; while it runs only until the time
 * after which it would have said that it rests.
 */
void slu_core_group_count(struct slu_core *core, struct slu_core_group *group);
/* How long the device has worked for it, or might have: in all its turns, and in this one. */
uint64_t slu_core_group_used_ns(const struct slu_core *core, const struct slu_core_group *group);
uint64_t slu_core_group_turn_used_ns(const struct slu_core *core,
				     const struct slu_core_group *group);
/* From now on a group that runs rests, lacks its bytes, or neither. */
void slu_core_group_spend(struct slu_core *core, struct slu_core_group *group, bool is_idle,
			  bool is_lacking);
/* When the policy will think otherwise of the group if it goes on as it does. */
uint64_t slu_core_group_change_ns(const struct slu_core *core, const struct slu_core_group *group);

bool slu_core_group_uses(const struct slu_core_group *group, unsigned device);
bool slu_core_group_shares(const struct slu_core_group *a, const struct slu_core_group *b);
/* It has one member, no other to split from. */
bool slu_core_group_is_single(const struct slu_core_group *group);
/* A joined member wants to run. */
bool slu_core_group_is_runnable(const struct slu_core_group *group);

static inline bool slu_core_group_is_open(const struct slu_core_group *group)
{
	return group->state == SLU_CORE_FILLING || group->state == SLU_CORE_RUNNING;
}

static inline bool slu_core_group_is_at_rest(const struct slu_core_group *group)
{
	return group->state == SLU_CORE_IDLE || group->state == SLU_CORE_WAITING;
}

void slu_core_group_check(const struct slu_core_group *group);
