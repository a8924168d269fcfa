/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A policy says in which order waiting groups come, and when a turn is over if somebody waits who
 * does not fit beside. It decides nothing else: who fits, what moves and what is safe is the same
 * under each. A new policy is one file with its table and one row in policy.c; settings, manual and
 * error messages take the names from there.
 *
 * The core asserts the contract: @precedes is a strict total order on waiting groups.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

#define SLU_CORE_POLICY_DEFAULT "mlfq"

struct slu_core_group;

/* What a group did with its time, as a policy sees it. */
enum slu_core_spent {
	SLU_CORE_SPENT_USING,	/* the device works for it, or might */
	SLU_CORE_SPENT_RESTING, /* no device progress, and nothing that it waits for */
	SLU_CORE_SPENT_WAITING, /* for its turn, or for its bytes */
};

/* What a policy remembers of a group: all zero when the group is new and of normal priority. */
struct slu_core_record {
	unsigned level; /* 0 is the top; groups of one level are equals */
	enum slu_core_priority priority;
	uint64_t used_ns;
	uint64_t credit_ns;
	uint64_t recent_ns;  /* used lately: what is long past counts less and less */
	uint64_t patient_ns; /* waited since it used the device last */
	bool is_overdue;     /* … for longer than a turn among its equals lasts */
};

struct slu_core_policy {
	const char *name;
	const char *about;   /* one line for people */
	const char *endless; /* why a turn may not be over for one who waits, in words */

	/** @precedes: whether @a, waiting, is to run before @b, waiting. */
	bool (*precedes)(const struct slu_core_group *a, const struct slu_core_group *b);

	/**
	 * @over_ns: when the turn of @group, RUNNING, is over for @asker, WAITING, although it is
	 * not idle; SLU_CORE_NEVER if it may run as long as it likes.
	 */
	uint64_t (*over_ns)(const struct slu_core_group *group, const struct slu_core_group *asker,
			    const struct slu_core_config *config);

	/** @length_ns: the timeline: how long a turn of @group is expected to last. */
	uint64_t (*length_ns)(const struct slu_core_group *group,
			      const struct slu_core_config *config);

	/**
	 * @count: @group spent @span_ns so; @n_equals groups of its level, itself included, want
	 * the device. NULL for a policy that remembers nothing.
	 */
	void (*count)(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
		      size_t n_equals, const struct slu_core_config *config);

	/** @change_ns: how much longer of the same until @count changes the level. */
	uint64_t (*change_ns)(const struct slu_core_group *group, enum slu_core_spent spent,
			      size_t n_equals, const struct slu_core_config *config);
};

extern const struct slu_core_policy slu_core_policy_fifo;
extern const struct slu_core_policy slu_core_policy_mlfq;
extern const struct slu_core_policy slu_core_policy_rr;

/* Return: NULL for a name that is no policy's. */
const struct slu_core_policy *slu_core_policy_find(const char *name);

/* For lists: NULL beyond the last. */
const struct slu_core_policy *slu_core_policy_at(unsigned i);
