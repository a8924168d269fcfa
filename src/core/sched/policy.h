/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A policy says in which order waiting groups come, and when a turn is over if somebody waits who
 * does not fit beside. It decides nothing else: who fits, what moves and what is safe is the same
 * under each. A new policy is one file with its table and one row in policy.c.
 *
 * The core asserts the contract: @precedes is a strict total order on waiting groups.
 */

#include <stdbool.h>
#include <stdint.h>

struct slu_core_config;
struct slu_core_group;

struct slu_core_policy {
	const char *name;
	const char *about; /* one line for people */

	/** @precedes: whether @a, waiting, is to run before @b, waiting. */
	bool (*precedes)(const struct slu_core_group *a, const struct slu_core_group *b);

	/**
	 * @over_ns: when the turn of @group, RUNNING, is over although it is not idle;
	 * SLU_CORE_NEVER if it may run as long as it likes.
	 */
	uint64_t (*over_ns)(const struct slu_core_group *group,
			    const struct slu_core_config *config);

	/** @length_ns: the timeline: how long a turn of @group is expected to last. */
	uint64_t (*length_ns)(const struct slu_core_group *group,
			      const struct slu_core_config *config);
};

extern const struct slu_core_policy slu_core_policy_fifo;
extern const struct slu_core_policy slu_core_policy_rr;

/* Return: NULL for a name that is no policy's. */
const struct slu_core_policy *slu_core_policy_find(const char *name);

/* For lists: NULL beyond the last. */
const struct slu_core_policy *slu_core_policy_at(unsigned i);
