/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Round robin: in the order in which groups began to wait, and a turn lasts a slice. The slice
 * begins when the last wanting member is ready, and is never shorter than slice_min_switches times
 * the switch that led to it (rule 19): with 10, not more than one part in eleven of the device's
 * time is spent on switching, however large the programs are.
 */

#include "base/util.h"
#include "core/core.h"
#include "core/group.h"
#include "core/sched/policy.h"

static bool rr_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	return a->order < b->order;
}

static uint64_t length_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	uint64_t least;

	if (__builtin_mul_overflow(group->switch_ns, config->slice_min_switches, &least))
		return SLU_CORE_NEVER;
	return SLU_MAX(config->slice_ns, least);
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	uint64_t end;

	(void)asker;
	if (__builtin_add_overflow(group->running_ns, length_ns(group, config), &end))
		return SLU_CORE_NEVER;
	return end;
}

const struct slu_core_policy slu_core_policy_rr = {
	.name = "rr",
	.about = "in order of arrival, a slice each",
	.endless = "the slice has no end",
	.precedes = rr_precedes,
	.over_ns = over_ns,
	.length_ns = length_ns,
};
