/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Age against starvation, for policies that would let a group wait without end. A group that has
 * waited for age_ns, in all, is old: it goes before all groups that are not, and among the old the
 * order is that of arrival. It stays old until it has used the device for a slice L; before that
 * only a rest ends its turn. A turn of a group that is not old is over for an old one as soon as it
 * has run for the least time (expiry.h).
 *
 *   YOUNG -> OLD     it waited for age_ns since it last used a slice or rested
 *   OLD   -> YOUNG   it used a slice, or rests            both: [slu_core_age_count]
 *
 * So under such a policy a group waits at most
 *
 *     age_ns + (n + 1) (L + drain + switch)
 *
 * next to n other groups: once it is old, only groups that became old before it go first, for a
 * slice each, and one turn may have begun just before.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "core/sched/policy.h"

/* The first member of the policy's state of a group. */
struct slu_core_age {
	uint64_t waited_ns;
	uint64_t used_ns; /* since it waited last */
	bool is_old;
};

/* The hooks @count and @change_ns (policy.h) of a policy that counts nothing but age. */
void slu_core_age_count(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
			size_t n_equals, const struct slu_core_config *config);
uint64_t slu_core_age_change_ns(const struct slu_core_group *group, enum slu_core_spent spent,
				size_t n_equals, const struct slu_core_config *config);

bool slu_core_age_is_old(const struct slu_core_group *group);

/*
 * Whether age decides which of two waiting groups goes first; @ret_precedes then says whether @a
 * does.
 */
bool slu_core_age_decides(const struct slu_core_group *a, const struct slu_core_group *b,
			  bool *ret_precedes);

/* When the turn of @group is over for @asker: @young_ns if neither is old. */
uint64_t slu_core_age_over_ns(const struct slu_core_group *group,
			      const struct slu_core_group *asker,
			      const struct slu_core_config *config, uint64_t young_ns);
