/* SPDX-License-Identifier: Apache-2.0 */

/*
 * DESKTOP: programs that a person waits for go first, long computations are packed behind them.
 *
 * A group is interactive (level 0) or batch (level 1). Its load rises with the device time that it
 * uses, and falls as fast while it rests, between 0 and four slices. At two slices it becomes
 * batch, at 0 interactive again. A group of high priority is always interactive, one of low
 * priority always batch.
 *
 * Order: interactive before batch; among interactive ones the lesser load, then arrival; among
 * batch ones arrival. The turn of a batch group is over for an interactive one as soon as it has
 * run for the least time (expiry.h), and for another batch one after two slices. The turn of an
 * interactive one is over for its equal after a slice, and for a batch one when it rests or has
 * become batch. A batch group that fits next to those that have a turn runs there, past another one
 * that waits and does not fit.
 *
 * No group starves: a group that has waited for the setting `age` goes first for a slice and is
 * passed by nobody (age.h has the bound).
 */

#include "base/util.h"
#include "core/group.h"
#include "core/sched/age.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/state.h"

#define BATCH_SLICES 2
#define MOST_SLICES  4
#define TURN_SLICES  2 /* of a batch group */

enum { INTERACTIVE, BATCH };

struct desktop_state {
	struct slu_core_age age;
	uint64_t load_ns;
};

static struct desktop_state *state_of(const struct slu_core_group *group)
{
	return group->policy_state;
}

static uint64_t slices_ns(const struct slu_core_group *group, uint64_t n,
			  const struct slu_core_config *config)
{
	uint64_t span_ns;

	if (__builtin_mul_overflow(slu_core_expiry_slice_ns(group, config), n, &span_ns))
		return SLU_CORE_NEVER;
	return span_ns;
}

static void desktop_begin(struct slu_core_group *group, const struct slu_core_config *config)
{
	(void)config;
	group->level = group->priority == SLU_CORE_PRIORITY_LOW ? BATCH : INTERACTIVE;
}

static void desktop_unite(struct slu_core_group *to, const struct slu_core_group *from)
{
	to->level = SLU_MAX(to->level, from->level);
	state_of(to)->load_ns = SLU_MAX(state_of(to)->load_ns, state_of(from)->load_ns);
}

static bool desktop_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	uint64_t x = state_of(a)->load_ns, y = state_of(b)->load_ns;
	bool precedes;

	if (slu_core_age_decides(a, b, &precedes))
		return precedes;
	if (a->level != b->level)
		return a->level < b->level;
	return a->level == INTERACTIVE && x != y ? x < y : a->order < b->order;
}

static bool desktop_passes(const struct slu_core_group *group, const struct slu_core_group *next,
			   const struct slu_core_config *config)
{
	(void)config;
	return group->level == BATCH && next->level == BATCH && !slu_core_age_is_old(next);
}

static uint64_t length_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	return slices_ns(group, group->level == BATCH ? TURN_SLICES : 1, config);
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	uint64_t young_ns = SLU_CORE_NEVER;

	if (asker->level == group->level)
		young_ns = slu_core_after(group->running_ns, length_ns(group, config));
	else if (asker->level < group->level)
		young_ns =
			slu_core_after(group->running_ns, slu_core_expiry_least_ns(group, config));
	return slu_core_age_over_ns(group, asker, config, young_ns);
}

static void count(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
		  size_t n_equals, const struct slu_core_config *config)
{
	struct desktop_state *state = state_of(group);

	slu_core_age_count(group, spent, span_ns, n_equals, config);
	if (spent == SLU_CORE_SPENT_USING)
		state->load_ns = SLU_MIN(slu_core_after(state->load_ns, span_ns),
					 slices_ns(group, MOST_SLICES, config));
	else if (spent == SLU_CORE_SPENT_RESTING)
		state->load_ns = slu_sub_floor(state->load_ns, span_ns);
	if (group->priority != SLU_CORE_PRIORITY_NORMAL)
		return;
	if (state->load_ns >= slices_ns(group, BATCH_SLICES, config))
		group->level = BATCH;
	else if (!state->load_ns)
		group->level = INTERACTIVE;
}

static uint64_t change_ns(const struct slu_core_group *group, enum slu_core_spent spent,
			  size_t n_equals, const struct slu_core_config *config)
{
	uint64_t age_ns = slu_core_age_change_ns(group, spent, n_equals, config);
	uint64_t load_ns = SLU_CORE_NEVER;

	if (spent == SLU_CORE_SPENT_USING && group->level == INTERACTIVE &&
	    group->priority == SLU_CORE_PRIORITY_NORMAL)
		load_ns = slu_sub_floor(slices_ns(group, BATCH_SLICES, config),
					state_of(group)->load_ns);
	return SLU_MIN(age_ns, load_ns);
}

const struct slu_core_policy slu_core_policy_desktop = {
	.name = "desktop",
	.about = "programs that people wait for go first, long computations are packed behind",
	.endless = "the waiting program computes for long, and this one does not",
	.state_size = sizeof(struct desktop_state),
	.begin = desktop_begin,
	.unite = desktop_unite,
	.precedes = desktop_precedes,
	.over_ns = over_ns,
	.passes = desktop_passes,
	.length_ns = length_ns,
	.count = count,
	.change_ns = change_ns,
};
