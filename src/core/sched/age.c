/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/age.h"

#include "base/util.h"
#include "core/group.h"
#include "core/sched/expiry.h"
#include "core/state.h"

static struct slu_core_age *age_of(const struct slu_core_group *group)
{
	return group->policy_state;
}

void slu_core_age_count(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
			size_t n_equals, const struct slu_core_config *config)
{
	struct slu_core_age *age = age_of(group);

	(void)n_equals;
	if (spent == SLU_CORE_SPENT_WAITING)
		age->waited_ns = slu_core_after(age->waited_ns, span_ns);
	else if (spent == SLU_CORE_SPENT_USING)
		age->used_ns = slu_core_after(age->used_ns, span_ns);
	if (spent == SLU_CORE_SPENT_RESTING ||
	    age->used_ns >= slu_core_expiry_slice_ns(group, config))
		*age = (struct slu_core_age){};
	age->is_old = age->waited_ns >= config->age_ns;
}

uint64_t slu_core_age_change_ns(const struct slu_core_group *group, enum slu_core_spent spent,
				size_t n_equals, const struct slu_core_config *config)
{
	const struct slu_core_age *age = age_of(group);

	(void)n_equals;
	if (spent == SLU_CORE_SPENT_WAITING && !age->is_old)
		return slu_sub_floor(config->age_ns, age->waited_ns);
	if (spent == SLU_CORE_SPENT_USING && age->is_old)
		return slu_sub_floor(slu_core_expiry_slice_ns(group, config), age->used_ns);
	return SLU_CORE_NEVER;
}

bool slu_core_age_is_old(const struct slu_core_group *group)
{
	return age_of(group)->is_old;
}

bool slu_core_age_decides(const struct slu_core_group *a, const struct slu_core_group *b,
			  bool *ret_precedes)
{
	const struct slu_core_age *x = age_of(a), *y = age_of(b);

	if (!x->is_old && !y->is_old)
		return false;
	*ret_precedes = x->is_old != y->is_old ? x->is_old : a->order < b->order;
	return true;
}

uint64_t slu_core_age_over_ns(const struct slu_core_group *group,
			      const struct slu_core_group *asker,
			      const struct slu_core_config *config, uint64_t young_ns)
{
	if (age_of(group)->is_old)
		return slu_core_after(group->running_ns, slu_core_expiry_slice_ns(group, config));
	if (age_of(asker)->is_old)
		return slu_core_after(group->running_ns, slu_core_expiry_least_ns(group, config));
	return young_ns;
}
