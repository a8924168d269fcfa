/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes that get their turns together, on all their devices.
 *
 *   IDLE     -> WAITING    a member's WANT(runnable)                   [slu_core_turns_update]
 *   WAITING  -> IDLE       no member wants to run any more             [slu_core_turns_update]
 *   WAITING  -> FILLING    first in the order, fits, no drain: TURN    [slu_core_turns_grant]
 *   FILLING  -> RUNNING    every seat that wants to run is READY       [slu_core_turns_update]
 *   FILLING, RUNNING -> DRAINING   CLOSE                               [slu_core_turns_close]
 *   open or DRAINING -> WAITING or IDLE   no seat has a turn any more  [slu_core_turns_update]
 *   IDLE, WAITING -> FILLING or DRAINING  HELLO reported an epoch      [slu_core_hello]
 *   (new) -> the state of the group that a member with a turn was split from, then closed
 *                                                                      [slu_core_split]
 *   IDLE, WAITING -> (gone)   its member is united with its run        [slu_core_split_unfit]
 *
 *  IDLE, WAITING:      no seat of a joined or lost member has a turn
 *  FILLING, RUNNING:   some seat has one, of this epoch ("open")
 *  DRAINING:           some seat is CLOSING; past the deadline the group is_stuck: its charges are
 *                      floors, other groups go on; REST clears it
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/client.h"
#include "core/core.h"
#include "core/sched/patience.h"
#include "core/sched/policy.h"

/* Why a group waits: facts, which slu_core_view_group() puts into words. */
enum slu_core_why_kind {
	SLU_CORE_WHY_NOTHING,
	SLU_CORE_WHY_GRACE, /* orphans may still come back */
	SLU_CORE_WHY_PARKED,
	SLU_CORE_WHY_TURN,     /* of other */
	SLU_CORE_WHY_DRAIN,    /* other is closing */
	SLU_CORE_WHY_BEHIND,   /* other is next */
	SLU_CORE_WHY_BYTES,    /* other groups keep bytes that it needs; other is one of them */
	SLU_CORE_WHY_CAPACITY, /* the device has less */
	SLU_CORE_WHY_PINNED,   /* the pinned budget has less */
	SLU_CORE_WHY_GROWER,   /* other allocates memory that cannot move, and so does this one */
	SLU_CORE_WHY_STALL,    /* its copies do not end */
};

struct slu_core_why {
	enum slu_core_why_kind kind;
	uint64_t other; /* a group's id */
	uint64_t need_bytes, free_bytes;
};

struct slu_core_group {
	TAILQ_ENTRY(slu_core_group) link;
	TAILQ_ENTRY(slu_core_group) state_link; /* of core->active or core->idle */
	TAILQ_ENTRY(slu_core_group) change_link;
	LIST_ENTRY(slu_core_group) index_link;
	struct slu_core_clients members;
	uint64_t id;
	enum slu_core_state state;
	struct slu_epoch epoch;
	uint64_t since_ns;    /* in this state */
	uint64_t order;	      /* of arrival at WAITING: counts up */
	uint64_t place;	      /* in the timeline of the last step: so many come before it */
	uint64_t granted_ns;  /* TURN of this turn */
	uint64_t running_ns;  /* the slice of this turn began */
	uint64_t switch_ns;   /* TURN to READY of this turn, without stalls */
	uint64_t progress_ns; /* bytes were placed (rule 34) */
	uint64_t stalled_ns;  /* time of this turn's fill in which nothing moved */
	uint64_t drain_ns;    /* DRAINING: it is stuck after this time */
	uint64_t counted_ns;  /* the policy has counted its time until then */

	uint64_t rest_ns;  /* no member wants to run since; or NEVER */
	uint64_t pause_ns; /* how long it rested last, after a turn */
	unsigned n_cut;	   /* turns in a row that ended soon after they began (expiry.h) */

	bool is_changed; /* its state: in core->changed */
	bool is_wanting; /* a joined member wants to run; the policy was told */
	bool is_idle;	 /* no device progress, or blocked by the host */
	bool is_lacking; /* RUNNING, and every seat that wants to run waits for bytes */
	bool is_stuck;
	bool is_parked;
	bool is_over_quota; /* of device time, at the last step (quota.h) */
	bool is_adopted;    /* its turn was found at HELLO, not granted (I6) */
	bool is_overgrown;  /* runs, and wants more than the device has: keeps what it holds */
	bool closes_others; /* a group was closed for it: 100 % suffices (rule 21) */
	bool waits_to_grow; /* it was closed, or kept waiting, for a group that grows */
	bool is_returned;   /* it wants to run after a rest, or for the first time */
	bool is_next;	    /* WAITING, and no other group is admitted on its devices before it */
	uint64_t crowd_ns;  /* working sets of its members exceed a device since; or NEVER */
	uint64_t kept_ns;   /* other groups keep what its members need together since; or NEVER */
	uint64_t union_ns;  /* it would fit next to the group it was split from since; or NEVER */
	struct slu_core_patience patience;
	uint64_t stall_ns; /* nothing of it moves since, although it should; or NEVER (stall.h) */
	uint64_t stall_end_ns;	     /* it gets no turn before */
	unsigned n_stalls;	     /* since it ran last */
	unsigned n_deadlock_denials; /* denials in the present deadlock (deadlock.h) */

	uint64_t n_turns;
	uint64_t ran_ns;
	uint64_t used_ns;	 /* of ran_ns, without rest or missing bytes; until counted_ns */
	uint64_t used_before_ns; /* used_ns when this turn began */
	uint64_t waited_ns;
	enum slu_core_priority priority;
	uint64_t expect_ns; /* device time that its programs will use, as a person says; or 0 */
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
 * Reserves @n groups, so that slu_core_group_new() cannot fail: each client reserves one, whether
 * it needs it or not. -ENOMEM leaves the core unchanged.
 */
int slu_core_group_reserve(struct slu_core *core, size_t n);
struct slu_core_group *slu_core_group_new(struct slu_core *core, uint64_t id);
void slu_core_group_free(struct slu_core *core, struct slu_core_group *group);

/* Resets what the policy remembers of the group: at the start, and for another policy. */
void slu_core_group_begin(struct slu_core *core, struct slu_core_group *group);
/* Copies what the policy remembers of @from to @to. */
void slu_core_group_resemble(struct slu_core *core, struct slu_core_group *to,
			     const struct slu_core_group *from);

const char *slu_core_group_name(const struct slu_core_group *group);
void slu_core_group_enter(struct slu_core *core, struct slu_core_group *group,
			  enum slu_core_state state);
/*
 * Passes on to the policy how the group spent its time until now. A running group reports rest
 * late, so its time counts only up to idle_ns ago.
 */
void slu_core_group_count(struct slu_core *core, struct slu_core_group *group);
/* How long the device was available to it: in all its turns, and in this one. */
uint64_t slu_core_group_used_ns(const struct slu_core *core, const struct slu_core_group *group);
uint64_t slu_core_group_turn_used_ns(const struct slu_core *core,
				     const struct slu_core_group *group);
/* From now on the running group rests, lacks its bytes, or neither. */
void slu_core_group_spend(struct slu_core *core, struct slu_core_group *group, bool is_idle,
			  bool is_lacking);
/* Tells the policy when the group begins or ceases to want the device. */
void slu_core_group_want(struct slu_core *core, struct slu_core_group *group, bool is_wanting);
/* Tells the policy that the last member ends. */
void slu_core_group_end(struct slu_core *core, struct slu_core_group *group);
/* When the policy will change the group's level if it goes on like this. */
uint64_t slu_core_group_change_ns(const struct slu_core *core, const struct slu_core_group *group);

bool slu_core_group_uses(const struct slu_core_group *group, unsigned device);
bool slu_core_group_shares(const struct slu_core_group *a, const struct slu_core_group *b);
/* Whether it has one member only. */
bool slu_core_group_is_single(const struct slu_core_group *group);
/* Whether a joined member wants to run. */
bool slu_core_group_is_runnable(const struct slu_core_group *group);

static inline bool slu_core_group_is_open(const struct slu_core_group *group)
{
	return group->state == SLU_CORE_FILLING || group->state == SLU_CORE_RUNNING;
}

/* Whether it gets no turn, whatever the policy says. */
static inline bool slu_core_group_is_held(const struct slu_core_group *group)
{
	return group->is_parked || group->is_over_quota;
}

static inline bool slu_core_group_is_at_rest(const struct slu_core_group *group)
{
	return group->state == SLU_CORE_IDLE || group->state == SLU_CORE_WAITING;
}

/* Its priority as a number: 0 is high. */
static inline unsigned slu_core_group_rank(const struct slu_core_group *group)
{
	static const unsigned ranks[] = {
		[SLU_CORE_PRIORITY_HIGH] = 0,
		[SLU_CORE_PRIORITY_NORMAL] = 1,
		[SLU_CORE_PRIORITY_LOW] = 2,
	};

	return ranks[group->priority];
}

void slu_core_group_check(const struct slu_core_group *group);
