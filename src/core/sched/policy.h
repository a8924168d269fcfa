/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A policy orders waiting groups, decides when a turn is over for a waiting group that does not fit
 * next to its holder, and which groups may pass a larger one that waits. It decides nothing else:
 * which groups fit, what moves and what is safe is the same under each policy. A new policy is one
 * file with its table and one row in policy.c; settings, manual and error messages take the names
 * from there. docs/writing-a-policy.md walks through one.
 *
 * A policy keeps its own state of a group: group->policy_state points to @state_size bytes that
 * only the policy reads. A new group, a group whose priority changed, and every group after a
 * change of the policy begin with a state of zeros, level 0, and what @begin makes of them.
 * core->policy_state points to @common_size bytes in the same way, for what concerns all groups;
 * they are zero when the core or the policy begins.
 *
 * @precedes is a strict total order on waiting groups.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

#define SLU_CORE_POLICY_DEFAULT "mlfq"

struct slu_core;
struct slu_core_group;

/* What a group did with its time, as a policy sees it. */
enum slu_core_spent {
	SLU_CORE_SPENT_USING,	/* the device works for it, or could */
	SLU_CORE_SPENT_RESTING, /* no device progress, and it waits for nothing */
	SLU_CORE_SPENT_WAITING, /* for its turn, or for its bytes */
};

struct slu_core_policy {
	const char *name;
	const char *about;   /* one line for people */
	const char *endless; /* why a turn may not end for a waiting group, in words */
	size_t state_size;   /* of what it remembers of a group; 0: nothing */
	bool has_levels;     /* groups change their level, and equals count */
	size_t common_size;  /* of what it remembers of all groups together; 0: nothing */

	/**
	 * @begin: @group begins; its state is all zero, its level 0. NULL: it stays so.
	 */
	void (*begin)(struct slu_core_group *group, const struct slu_core_config *config);

	/**
	 * @unite: the members of @from join @to. NULL: the state of @from is dropped.
	 */
	void (*unite)(struct slu_core_group *to, const struct slu_core_group *from);

	/**
	 * @arrive: @group wants to run from now on: for the first time, after a rest, or when its
	 * state begins again meanwhile. NULL: nothing follows from it.
	 */
	void (*arrive)(struct slu_core *core, struct slu_core_group *group);

	/** @leave: @group no longer wants to run, or ends. NULL: nothing follows from it. */
	void (*leave)(struct slu_core *core, struct slu_core_group *group);

	/** @end: the last program of @group ends. NULL: nothing follows from it. */
	void (*end)(struct slu_core *core, struct slu_core_group *group);

	/**
	 * @look: a step is about to ask for the order; the time of all groups was counted. NULL:
	 * the policy needs no such moment.
	 */
	void (*look)(struct slu_core *core);

	/** @precedes: whether @a, waiting, is to run before @b, waiting. */
	bool (*precedes)(const struct slu_core_group *a, const struct slu_core_group *b);

	/**
	 * @over_ns: when the turn of @group, RUNNING, is over for @asker, WAITING, although it is
	 * not idle; SLU_CORE_NEVER if its turn has no end.
	 */
	uint64_t (*over_ns)(const struct slu_core_group *group, const struct slu_core_group *asker,
			    const struct slu_core_config *config);

	/**
	 * @beside: whether @group, WAITING, may run next to @other, which has a turn, where both
	 * fit. If not, it waits for the end of that turn. NULL: always.
	 */
	bool (*beside)(const struct slu_core_group *group, const struct slu_core_group *other);

	/**
	 * @passes: whether @group, WAITING and behind @next, may run next to the groups that have a
	 * turn, although @next does not fit there yet and may so wait longer. NULL: never.
	 */
	bool (*passes)(const struct slu_core_group *group, const struct slu_core_group *next,
		       const struct slu_core_config *config);

	/** @length_ns: the timeline: how long a turn of @group is expected to last. */
	uint64_t (*length_ns)(const struct slu_core_group *group,
			      const struct slu_core_config *config);

	/**
	 * @count: @group spent @span_ns in this way; while it waited, @n_equals groups of its
	 * level, itself included, wanted the device: 1 unless @has_levels. NULL for a policy that
	 * remembers nothing.
	 */
	void (*count)(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
		      size_t n_equals, const struct slu_core_config *config);

	/** @change_ns: how much longer @group can spend in this way before @count changes its
	 * level. */
	uint64_t (*change_ns)(const struct slu_core_group *group, enum slu_core_spent spent,
			      size_t n_equals, const struct slu_core_config *config);
};

/* Return: NULL for an unknown name. */
const struct slu_core_policy *slu_core_policy_find(const char *name);

/* For lists: NULL beyond the last. */
const struct slu_core_policy *slu_core_policy_at(unsigned i);

/* Bytes for the state of any policy, so that the policy can change while programs run. */
size_t slu_core_policy_state_max(void);
size_t slu_core_policy_common_max(void);
