/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Round robin: in the order in which groups began to wait, and a turn lasts a slice. The slice
 * begins when the last wanting member is ready, and is never shorter than slice_min_switches times
 * the switch that led to it (rule 19): with 10, not more than one part in eleven of the device's
 * time is spent on switching, however large the programs are.
 */

#include "core/core.h"
#include "core/group.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/state.h"

static bool rr_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	return a->order < b->order;
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	(void)asker;
	return slu_core_after(group->running_ns, slu_core_expiry_slice_ns(group, config));
}

const struct slu_core_policy slu_core_policy_rr = {
	.name = "rr",
	.about = "in order of arrival, a slice each",
	.endless = "the slice has no end",
	.precedes = rr_precedes,
	.over_ns = over_ns,
	.length_ns = slu_core_expiry_slice_ns,
};
