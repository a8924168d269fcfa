/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PACK: as many programs side by side as fit, for the most work done in all.
 *
 * Order: the higher priority first, then arrival. A turn ends when its holder rests; for a group of
 * a higher priority after a slice. A group that fits next to those that have a turn runs there,
 * also past one that waits before it and does not fit: small programs fill what a large one
 * leaves.
 *
 * No group starves: a group that has waited for the setting `age` is passed by nobody any more, and
 * turns end for it. Then it has the device for a slice, and until it rests or another one is old
 * (age.h has the bound).
 */

#include "core/group.h"
#include "core/sched/age.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/state.h"

static bool pack_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	bool precedes;

	if (slu_core_age_decides(a, b, &precedes))
		return precedes;
	return slu_core_group_rank(a) != slu_core_group_rank(b)
		       ? slu_core_group_rank(a) < slu_core_group_rank(b)
		       : a->order < b->order;
}

static bool pack_passes(const struct slu_core_group *group, const struct slu_core_group *next,
			const struct slu_core_config *config)
{
	(void)group;
	(void)config;
	return !slu_core_age_is_old(next);
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	uint64_t young_ns = SLU_CORE_NEVER;

	if (slu_core_group_rank(asker) < slu_core_group_rank(group))
		young_ns =
			slu_core_after(group->running_ns, slu_core_expiry_slice_ns(group, config));
	return slu_core_age_over_ns(group, asker, config, young_ns);
}

const struct slu_core_policy slu_core_policy_pack = {
	.name = "pack",
	.about = "as many side by side as fit, small ones past a large one that waits",
	.endless = "under pack a turn ends when its holder rests, or another program is old",
	.state_size = sizeof(struct slu_core_age),
	.precedes = pack_precedes,
	.over_ns = over_ns,
	.passes = pack_passes,
	.length_ns = slu_core_expiry_slice_ns,
	.count = slu_core_age_count,
	.change_ns = slu_core_age_change_ns,
};
