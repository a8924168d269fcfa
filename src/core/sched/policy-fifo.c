/* SPDX-License-Identifier: Apache-2.0 */

/*
 * FIFO: in the order in which groups began to wait, and a turn ends only when its holder is idle or
 * blocked by the host. The fewest switches; a program that never pauses keeps the device.
 *
 * The length of such a turn is unknown; the timeline takes the mean of the turns before, and one
 * slice if there was none.
 */

#include "core/core.h"
#include "core/group.h"
#include "core/sched/policy.h"

static bool fifo_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	return a->order < b->order;
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	(void)group;
	(void)asker;
	(void)config;
	return SLU_CORE_NEVER;
}

static uint64_t length_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	return group->n_turns && group->ran_ns ? group->ran_ns / group->n_turns : config->slice_ns;
}

const struct slu_core_policy slu_core_policy_fifo = {
	.name = "fifo",
	.about = "in order of arrival, a turn ends when its holder is idle",
	.endless = "under fifo a turn ends when its holder rests",
	.precedes = fifo_precedes,
	.over_ns = over_ns,
	.length_ns = length_ns,
};
