/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The core's own state, for the files of core/ only.
 *
 * The core asks slu_core_is_due() about every later time: it says whether the time has come and, if
 * not, notes it as a deadline of this step. So no deadline can be forgotten, and none that has
 * passed is set again.
 *
 * Only files that include group.h know what a group is: credit/ does not.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/client.h"
#include "core/core.h"
#include "core/credit/capacity.h"
#include "core/queue.h"

struct slu_core_group;
struct slu_core_policy;
struct slu_core_timeline_turn;
struct slu_core_user;
struct slu_core_victim;

TAILQ_HEAD(slu_core_groups, slu_core_group);
LIST_HEAD(slu_core_group_bucket, slu_core_group);
TAILQ_HEAD(slu_core_users, slu_core_user);

#define SLU_CORE_BUCKETS 1024 /* of the indexes by id; a step adds groups, so they never grow */

#define SLU_CORE_DEVICES_MAX 64

struct slu_core_device {
	char name[SLU_WIRE_NAME_MAX];
	struct slu_core_capacity capacity;
	uint64_t grower;    /* the group that may allocate unmovable memory (sched/grow.h); or 0 */
	uint64_t grower_ns; /* since then */
	bool has_grown;	    /* unmovable memory has, of some seat; never false again */
	uint64_t users_clock_ns; /* sched/users.h */
	bool is_contested;	 /* in this step: programs take turns there (fit/pinned.h) */

	/* fetching ahead (fit/guess.h) */
	uint64_t guess_group;	     /* is next there; or 0 */
	uint64_t guess_bytes;	     /* came ahead for it */
	uint64_t guess_credit_bytes; /* so many may still come ahead */
	unsigned guess_sure_percent; /* of the last guesses were right */

	/* while planning */
	int64_t set_bytes;	 /* for the set */
	int64_t remaining_bytes; /* of that, not handed out yet */
	uint64_t excess_bytes;	 /* of set_bytes: held in the reserve, which should be free */
	unsigned n_groups;	 /* of the set, that use it */
	unsigned n_slack;	 /* users who still get some of remaining_bytes */
};

struct slu_core_quota_account; /* sched/quota.h */
LIST_HEAD(slu_core_quota_accounts, slu_core_quota_account);

struct slu_core {
	struct slu_core_config config;
	const struct slu_core_policy *policy;
	void *policy_state; /* what the policy remembers of all groups; for any policy */
	uint64_t now_ns;
	uint64_t started_ns;
	uint64_t deadline_ns;
	uint64_t n_epochs; /* handed out so far */
	uint64_t n_orders;
	uint64_t n_entered; /* changes of states, and groups that went: lists of groups are old */

	struct slu_core_clients clients;
	struct slu_core_groups groups;
	/* a step looks at few programs, however many there are */
	struct slu_core_clients unstaged; /* joined, and pinned memory for copies is due */
	size_t n_unstaged;
	struct slu_core_groups active;	/* not IDLE */
	struct slu_core_groups idle;	/* the others, the longest idle last */
	struct slu_core_groups changed; /* their state has, since somebody asked */
	size_t n_orphans;		/* clients of that standing */
	bool has_mappers;		/* a seat maps_if_larger; never false again */
	bool has_split;			/* a client was split from its run; never false again */
	bool has_quotas;		/* of time, perhaps; never false again */
	bool has_parked;		/* some groups may be parked */
	bool is_asked_for_backing;	/* some clients may want backing */
	size_t n_clients, n_groups;
	struct slu_core_client_bucket clients_by_id[SLU_CORE_BUCKETS];
	struct slu_core_group_bucket groups_by_id[SLU_CORE_BUCKETS];
	struct slu_core_groups spare_groups; /* with those in use at least as many as clients */
	size_t n_spare_groups;
	struct slu_core_users users; /* those with clients first */
	size_t n_unused_users;
	struct slu_core_device *devices[SLU_CORE_DEVICES_MAX];
	unsigned n_devices;
	struct slu_core_capacity pinned, pageable, disk;
	struct slu_core_quota_accounts quotas;
	struct slu_core_queue queue;

	/* arrays of a step, allocated when a client joins, so that a step allocates nothing */
	struct slu_core_group **opened, **waiting;
	size_t n_opened, n_waiting, n_group_capacity;
	struct slu_core_timeline_turn *timeline; /* of the last step */
	size_t n_timeline;
	size_t n_shown; /* … and the groups behind them, once somebody looks */
	struct slu_core_victim *victims;
	size_t n_victim_capacity;
	bool is_in_grace;     /* at the last step: no new turn yet */
	bool is_deadlocked;   /* at the last step (rule 26); reported once */
	uint64_t deadlock_ns; /* only waiting programs keep the bytes since; or SLU_CORE_NEVER */
};

/* The core's clock never goes back. */
static inline void slu_core_set_now(struct slu_core *core, uint64_t now_ns)
{
	if (now_ns > core->now_ns)
		core->now_ns = now_ns;
}

static inline uint64_t slu_core_after(uint64_t t_ns, uint64_t span_ns)
{
	return span_ns > SLU_CORE_NEVER - t_ns ? SLU_CORE_NEVER : t_ns + span_ns;
}

static inline bool slu_core_is_due(struct slu_core *core, uint64_t t_ns)
{
	if (core->now_ns >= t_ns)
		return true;
	if (t_ns < core->deadline_ns)
		core->deadline_ns = t_ns;
	return false;
}

/* Whether a LIMIT is unanswered for so long that the core no longer counts on an answer. */
static inline bool slu_core_is_silent(struct slu_core *core, const struct slu_core_account *account)
{
	return account->is_pending &&
	       slu_core_is_due(core,
			       slu_core_after(account->sent_ns, core->config.limit_deadline_ns));
}
