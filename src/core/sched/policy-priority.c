/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PRIORITY: the priority that a person set decides, and nothing else. High goes before normal,
 * normal before low; groups of one priority take turns of a slice, in the order in which they began
 * to wait.
 *
 * The turn of a group of lower priority is over for one of a higher priority as soon as it has run
 * for the least time (expiry.h); for one of a lower priority it is over only when its holder rests.
 *
 * No group starves: a group that has waited for the setting `age` goes first for a slice (age.h has
 * the bound). So of n groups one of low priority gets at least a slice in each age, however busy
 * the others are.
 */

#include "core/group.h"
#include "core/sched/age.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/state.h"

static void priority_begin(struct slu_core_group *group, const struct slu_core_config *config)
{
	(void)config;
	group->level = slu_core_group_rank(group);
}

static bool priority_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	bool precedes;

	if (slu_core_age_decides(a, b, &precedes))
		return precedes;
	return a->level != b->level ? a->level < b->level : a->order < b->order;
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	uint64_t young_ns = SLU_CORE_NEVER;

	if (asker->level == group->level)
		young_ns =
			slu_core_after(group->running_ns, slu_core_expiry_slice_ns(group, config));
	else if (asker->level < group->level)
		young_ns =
			slu_core_after(group->running_ns, slu_core_expiry_least_ns(group, config));
	return slu_core_age_over_ns(group, asker, config, young_ns);
}

const struct slu_core_policy slu_core_policy_priority = {
	.name = "priority",
	.about = "the higher priority goes first, equals take turns",
	.endless = "the waiting program has a lower priority",
	.state_size = sizeof(struct slu_core_age),
	.begin = priority_begin,
	.precedes = priority_precedes,
	.over_ns = over_ns,
	.length_ns = slu_core_expiry_slice_ns,
	.count = slu_core_age_count,
	.change_ns = slu_core_age_change_ns,
};
