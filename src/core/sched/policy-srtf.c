/* SPDX-License-Identifier: Apache-2.0 */

/*
 * SRTF, shortest remaining time first: the group that will end soonest goes first, which gives the
 * least mean time from arrival to end.
 *
 * How much device time a group will use is what a person said (setting `expect`), or else what
 * programs of its name used before, on average; the last programs weigh most. What remains is that
 * less what it used. A group that exceeds its expectation is expected to need as much again as it
 * exceeded it by. Of a group without expectation nothing is known but that long jobs stay long: it
 * is expected to need as much again as it used. So unknown groups go by least use, and a new one
 * gets its chance at once.
 *
 * Priorities go first: high before normal, normal before low. Among equals the order is by what
 * remains, then by arrival. A turn is over for a group of higher priority, or for an equal with
 * less remaining by more than a slice L, as soon as the holder has run for the least time
 * (expiry.h). Without that margin two groups about which nothing is known would interrupt each
 * other all the time; it delays nobody by more than a slice.
 *
 * One group runs at a time, also where two fit: a second one would take time from the one that is
 * to end soonest. Next to a group that rests another one runs.
 *
 * No group starves: a group that has waited for the setting `age` goes first for a slice (age.h has
 * the bound).
 */

#include <string.h>

#include "base/util.h"
#include "core/group.h"
#include "core/sched/age.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/state.h"

#define NAMES_MAX 256 /* that are remembered; another name with the same place replaces one */
#define WEIGHT	  4   /* the last run counts as one part of this many */

struct srtf_state {
	struct slu_core_age age;
	uint64_t expect_ns; /* 0: unknown */
};

struct srtf_common {
	struct {
		char name[SLU_WIRE_NAME_MAX];
		uint64_t used_ns;
	} known[NAMES_MAX];
};

static struct srtf_state *state_of(const struct slu_core_group *group)
{
	return group->policy_state;
}

static size_t place_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash % NAMES_MAX;
}

static void srtf_arrive(struct slu_core *core, struct slu_core_group *group)
{
	const struct srtf_common *common = core->policy_state;
	const char *name = slu_core_group_name(group);
	size_t place = place_of(name);

	state_of(group)->expect_ns = group->expect_ns;
	if (!group->expect_ns && !strcmp(common->known[place].name, name))
		state_of(group)->expect_ns = common->known[place].used_ns;
}

static void srtf_end(struct slu_core *core, struct slu_core_group *group)
{
	struct srtf_common *common = core->policy_state;
	const char *name = slu_core_group_name(group);
	size_t place = place_of(name);
	uint64_t *used_ns = &common->known[place].used_ns;

	if (!group->used_ns)
		return;
	if (!strcmp(common->known[place].name, name)) {
		*used_ns = *used_ns / WEIGHT * (WEIGHT - 1) + group->used_ns / WEIGHT;
		return;
	}
	strcpy(common->known[place].name, name);
	*used_ns = group->used_ns;
}

static bool is_exceeded(const struct slu_core_group *group)
{
	return group->used_ns >= state_of(group)->expect_ns;
}

static uint64_t remaining_ns(const struct slu_core_group *group)
{
	uint64_t expect_ns = state_of(group)->expect_ns;

	return is_exceeded(group) ? group->used_ns - expect_ns : expect_ns - group->used_ns;
}

static bool srtf_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	uint64_t x = remaining_ns(a), y = remaining_ns(b);
	bool precedes;

	if (slu_core_age_decides(a, b, &precedes))
		return precedes;
	if (slu_core_group_rank(a) != slu_core_group_rank(b))
		return slu_core_group_rank(a) < slu_core_group_rank(b);
	return x != y ? x < y : a->order < b->order;
}

static bool srtf_beside(const struct slu_core_group *group, const struct slu_core_group *other)
{
	(void)group;
	return other->is_idle;
}

/* When the holder, if it goes on, will need more than the asker and a slice. */
static uint64_t longer_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			  const struct slu_core_config *config)
{
	uint64_t most_ns =
		slu_core_after(remaining_ns(asker), slu_core_expiry_slice_ns(group, config));

	if (remaining_ns(group) > most_ns)
		return 0;
	if (is_exceeded(group))
		return slu_core_after(group->counted_ns, most_ns - remaining_ns(group));
	return slu_core_after(slu_core_after(group->counted_ns, remaining_ns(group)), most_ns);
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	uint64_t least_ns =
		slu_core_after(group->running_ns, slu_core_expiry_least_ns(group, config));
	uint64_t young_ns = SLU_CORE_NEVER;

	if (slu_core_group_rank(asker) < slu_core_group_rank(group))
		young_ns = least_ns;
	else if (slu_core_group_rank(asker) == slu_core_group_rank(group))
		young_ns = SLU_MAX(least_ns, longer_ns(group, asker, config));
	return slu_core_age_over_ns(group, asker, config, young_ns);
}

/* The timeline: until it ends, as far as is known. */
static uint64_t length_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	return SLU_MAX(remaining_ns(group), slu_core_expiry_slice_ns(group, config));
}

const struct slu_core_policy slu_core_policy_srtf = {
	.name = "srtf",
	.about = "the program that will end soonest goes first",
	.endless = "the waiting program needs longer, or has a lower priority",
	.state_size = sizeof(struct srtf_state),
	.common_size = sizeof(struct srtf_common),
	.arrive = srtf_arrive,
	.end = srtf_end,
	.precedes = srtf_precedes,
	.over_ns = over_ns,
	.beside = srtf_beside,
	.length_ns = length_ns,
	.count = slu_core_age_count,
	.change_ns = slu_core_age_change_ns,
};
