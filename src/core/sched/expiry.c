/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/expiry.h"

#include "base/util.h"
#include "core/group.h"
#include "core/sched/users.h"

#define CUT_MAX 1 /* how often the least length of a turn is doubled */

static uint64_t span_times(uint64_t span_ns, uint64_t n)
{
	uint64_t product;

	return __builtin_mul_overflow(span_ns, n, &product) ? SLU_CORE_NEVER : product;
}

/* The measured time of a switch between the two. */
static uint64_t switch_ns(const struct slu_core *core, const struct slu_core_group *group,
			  const struct slu_core_group *asker)
{
	uint64_t longest_ns = SLU_MAX(group->switch_ns, asker->switch_ns);

	return SLU_MIN(longest_ns, core->config.slice_ns);
}

static uint64_t idle_end_ns(const struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_group *asker)
{
	uint64_t wait_ns = switch_ns(core, group, asker);

	if (!group->is_idle)
		return SLU_CORE_NEVER;
	return slu_core_after(group->rest_ns, group->pause_ns <= wait_ns ? wait_ns : 0);
}

/* The group waits for bytes that others keep, and one of these may wait for its turn (rule 26). */
static uint64_t vain_end_ns(const struct slu_core *core, const struct slu_core_group *group)
{
	if (!group->is_overgrown || !group->is_lacking || group->why.kind != SLU_CORE_WHY_BYTES)
		return SLU_CORE_NEVER;
	return slu_core_after(group->running_ns, core->config.patience_ns);
}

uint64_t slu_core_expiry_ns(const struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_group *asker)
{
	uint64_t end_ns;

	if (group->state != SLU_CORE_RUNNING)
		return SLU_CORE_NEVER;
	end_ns = core->policy->over_ns(group, asker, &core->config);
	end_ns = slu_core_users_over_ns(core, group, asker, end_ns);
	end_ns = SLU_MIN(end_ns, idle_end_ns(core, group, asker));
	return SLU_MIN(end_ns, vain_end_ns(core, group));
}

uint64_t slu_core_expiry_slice_ns(const struct slu_core_group *group,
				  const struct slu_core_config *config)
{
	return SLU_MAX(config->slice_ns, span_times(group->switch_ns, config->slice_min_switches));
}

uint64_t slu_core_expiry_least_ns(const struct slu_core_group *group,
				  const struct slu_core_config *config)
{
	return SLU_MAX(span_times(group->switch_ns, UINT64_C(1) << group->n_cut),
		       config->round_trip_ns);
}

void slu_core_expiry_note(const struct slu_core *core, struct slu_core_group *group)
{
	uint64_t ran_ns = core->now_ns - group->running_ns;

	if (ran_ns >= span_times(group->switch_ns, UINT64_C(2) << CUT_MAX))
		group->n_cut = 0;
	else if (!group->is_idle && group->n_cut < CUT_MAX)
		group->n_cut++;
}
