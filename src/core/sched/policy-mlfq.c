/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Multi-level feedback queue: programs that a person waits for go first, without anybody naming
 * them. A new group is at the top. A group that keeps the device busy sinks, one that mostly rests
 * rises; so an endless job ends up below the programs that people talk to.
 *
 *   level                  0        1        2      …      levels − 1
 *   allotment T(p)         A        2 A      4 A           doubled from level to level
 *   slice S(p)             S        2 S      4 S           likewise, and at least
 *                                                          slice_min_switches switches (rule 19)
 *
 * Order: the higher level first. Among equals, groups that have waited longer than a slice come
 * first, by age; then the group that used the device least lately (use loses half its weight in
 * 4 A).
 *
 * For an equal a turn is over after a slice. It is over as soon as the holder has run as long as
 * the switch to it took, or twice as long if that happens often, for a group of a higher level; and
 * for an equal that returns from a rest, or is new, if the holder used S or more lately and the
 * equal less than half of that. Without that minimum the holder would pay for switches and never
 * run a launch. For a group of a lower level the turn is over when the holder rests (expiry.h) or
 * has sunk.
 *
 * Levels: a group that has used T(p) sinks by one level; at the bottom it stays. It rises by one
 * when its credit reaches both T(p − 1) and what it has used at this level; at the top the same
 * rule, with T(0), forgives what it has used. Each of these steps resets both counts. The credit is
 * the time that the group rested, and a share R of the time that it waited. Use means device
 * progress: a program that computes on the host or waits for a person rests from the end of its
 * last burst on, whatever its threads do; one that has its turn and lacks its bytes waits.
 *
 * With a priority set by a person, a group begins at the bottom instead of the top, or stays at the
 * top whatever it uses. All else is the same: a group of low priority rises when it rests, and no
 * group starves below one that stays at the top.
 *
 * It follows that
 *  * a group that uses the device less than a third of the time, in bursts that are short compared
 *    with A, stays at the top: it has earned A and as much as it used before it has used A;
 *  * R = min(wait_percent, 1 / (n + 1)) for n equals: groups that only wait for each other use one
 *    part while they wait n − 1, earn less than they use, and stay where they are;
 *  * no group starves: one that waits at level p, whichever others there are, is at the top after
 *    at most A (2^(p + 1) − 1) / R, is ordered by age after one more slice, and then waits only for
 *    the groups before it, one slice, drain and switch each.
 *
 * With A = 8 s and R = 1/2 the first part of that bound is 8 minutes for a lonely job at the bottom
 * of five levels; it takes programs that keep the device busy in turns, each of them resting two
 * thirds of its time, to make it wait so long.
 *
 * The rules are those of Nixie's scheduler without its limits on how often a level may change: the
 * reset of the counts has that effect already.
 */

#include "base/util.h"
#include "core/core.h"
#include "core/sched/expiry.h"
#include "core/group.h"
#include "core/sched/policy-mlfq.h"
#include "core/sched/policy.h"
#include "core/state.h"

#define WINDOW_LEVEL 2 /* what is used weighs half after the allotment of this level */

static struct slu_mlfq_state *state_of(const struct slu_core_group *group)
{
	return group->policy_state;
}

/* Saturates at SLU_CORE_NEVER. */
static uint64_t span_doubled(uint64_t span_ns, unsigned times)
{
	return times < 64 && span_ns <= SLU_CORE_NEVER >> times ? span_ns << times : SLU_CORE_NEVER;
}

static unsigned level_bottom(const struct slu_core_config *config)
{
	return config->levels ? config->levels - 1 : 0;
}

/* How low the group can sink. */
static unsigned level_lowest(const struct slu_core_group *group,
			     const struct slu_core_config *config)
{
	return group->priority == SLU_CORE_PRIORITY_HIGH ? 0 : level_bottom(config);
}

static void mlfq_begin(struct slu_core_group *group, const struct slu_core_config *config)
{
	group->level = group->priority == SLU_CORE_PRIORITY_LOW ? level_bottom(config) : 0;
}

/* A split and a reunion must not lead to the top: both groups get the lower level. */
static void mlfq_unite(struct slu_core_group *to, const struct slu_core_group *from)
{
	if (from->level <= to->level)
		return;
	to->level = from->level;
	state_of(to)->used_ns = state_of(from)->used_ns;
	state_of(to)->credit_ns = state_of(from)->credit_ns;
}

/* A group may be below the lowest level: the setting can change. */
static unsigned level_of(const struct slu_core_group *group, const struct slu_core_config *config)
{
	return SLU_MIN(group->level, level_lowest(group, config));
}

static uint64_t allotment_ns(unsigned level, const struct slu_core_config *config)
{
	return span_doubled(SLU_MAX(config->allotment_ns, 1u), level);
}

static uint64_t wait_percent(size_t n_equals, const struct slu_core_config *config)
{
	return SLU_MIN(config->wait_percent, 100 / (n_equals + 1));
}

/* The credit at which the group rises, or its use is forgiven at the top. */
static uint64_t goal_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	unsigned level = level_of(group, config);

	return slu_core_after(allotment_ns(level ? level - 1 : 0, config),
			      state_of(group)->used_ns);
}

/* How long the group must spend its time like this until its counts are reset. */
static uint64_t remaining_ns(const struct slu_core_group *group, enum slu_core_spent spent,
			     size_t n_equals, const struct slu_core_config *config)
{
	unsigned level = level_of(group, config);
	uint64_t missing, percent;

	if (spent == SLU_CORE_SPENT_USING)
		return slu_sub_floor(allotment_ns(level, config), state_of(group)->used_ns);
	missing = slu_sub_floor(goal_ns(group, config), state_of(group)->credit_ns);
	if (spent == SLU_CORE_SPENT_RESTING)
		return missing;
	percent = wait_percent(n_equals, config);
	if (!percent || missing > SLU_CORE_NEVER / 100)
		return SLU_CORE_NEVER;
	return (missing * 100 + percent - 1) / percent;
}

static void mlfq_spend(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
		       size_t n_equals, const struct slu_core_config *config)
{
	struct slu_mlfq_state *state = state_of(group);

	if (spent == SLU_CORE_SPENT_USING)
		state->used_ns += span_ns;
	else if (spent == SLU_CORE_SPENT_RESTING)
		state->credit_ns = slu_core_after(state->credit_ns, span_ns);
	else
		state->credit_ns = slu_core_after(
			state->credit_ns,
			span_ns / 100 * wait_percent(n_equals, config) +
				span_ns % 100 * wait_percent(n_equals, config) / 100);
}

/* Use loses about half its weight in each window, so it cannot exceed two windows. */
static uint64_t window_ns(const struct slu_core_config *config)
{
	return span_doubled(SLU_MAX(config->allotment_ns, 1u), WINDOW_LEVEL);
}

static void count_recent(struct slu_mlfq_state *state, enum slu_core_spent spent, uint64_t span_ns,
			 const struct slu_core_config *config)
{
	uint64_t window = window_ns(config), n = span_ns / window;

	state->recent_ns = n < 64 ? state->recent_ns >> n : 0;
	state->recent_ns -=
		(uint64_t)((unsigned __int128)state->recent_ns * (span_ns % window) / window / 2);
	if (spent == SLU_CORE_SPENT_USING)
		state->recent_ns =
			SLU_MIN(slu_core_after(state->recent_ns, span_ns), span_doubled(window, 1));
}

static void count_patience(struct slu_core_group *group, enum slu_core_spent spent,
			   uint64_t span_ns, const struct slu_core_config *config)
{
	struct slu_mlfq_state *state = state_of(group);

	if (spent == SLU_CORE_SPENT_USING)
		state->patient_ns = 0;
	else if (spent == SLU_CORE_SPENT_WAITING)
		state->patient_ns = slu_core_after(state->patient_ns, span_ns);
	state->is_overdue =
		state->patient_ns > span_doubled(config->slice_ns, level_of(group, config));
}

static void mlfq_count(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
		       size_t n_equals, const struct slu_core_config *config)
{
	struct slu_mlfq_state *state = state_of(group);
	uint64_t remaining;

	count_recent(state, spent, span_ns, config);
	count_patience(group, spent, span_ns, config);
	group->level = level_of(group, config);
	while ((remaining = remaining_ns(group, spent, n_equals, config)) <= span_ns) {
		span_ns -= remaining;
		state->used_ns = state->credit_ns = 0;
		if (spent == SLU_CORE_SPENT_USING && group->level < level_lowest(group, config))
			group->level++;
		else if (spent == SLU_CORE_SPENT_USING)
			span_ns %= allotment_ns(group->level, config);
		else if (group->level)
			group->level--;
		else
			return; /* at the top with no use to forgive */
	}
	mlfq_spend(group, spent, span_ns, n_equals, config);
}

static uint64_t change_ns(const struct slu_core_group *group, enum slu_core_spent spent,
			  size_t n_equals, const struct slu_core_config *config)
{
	unsigned last = spent == SLU_CORE_SPENT_USING ? level_lowest(group, config) : 0;

	if (level_of(group, config) == last)
		return SLU_CORE_NEVER;
	return remaining_ns(group, spent, n_equals, config);
}

static bool mlfq_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	const struct slu_mlfq_state *x = state_of(a), *y = state_of(b);

	if (a->level != b->level)
		return a->level < b->level;
	if (x->is_overdue != y->is_overdue)
		return x->is_overdue;
	if (!x->is_overdue && x->recent_ns != y->recent_ns)
		return x->recent_ns < y->recent_ns;
	return a->order < b->order;
}

static uint64_t switches_ns(const struct slu_core_group *group, uint64_t n)
{
	uint64_t span;

	return __builtin_mul_overflow(group->switch_ns, n, &span) ? SLU_CORE_NEVER : span;
}

static uint64_t length_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	return SLU_MAX(span_doubled(config->slice_ns, level_of(group, config)),
		       switches_ns(group, config->slice_min_switches));
}

/*
 * Much less, so that two groups with similar use do not interrupt each other in turn, and so that
 * each newcomer does not interrupt the one before it.
 */
static bool mlfq_interrupts(const struct slu_core_group *asker, const struct slu_core_group *holder,
			    const struct slu_core_config *config)
{
	return asker->is_returned && state_of(holder)->recent_ns >= config->slice_ns &&
	       state_of(asker)->recent_ns < state_of(holder)->recent_ns / 2;
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	unsigned level = level_of(group, config), other = level_of(asker, config);

	if (other > level)
		return SLU_CORE_NEVER;
	if (other == level && !mlfq_interrupts(asker, group, config))
		return slu_core_after(group->running_ns, length_ns(group, config));
	return slu_core_after(group->running_ns, slu_core_expiry_least_ns(group, config));
}

const struct slu_core_policy slu_core_policy_mlfq = {
	.name = "mlfq",
	.about = "the program that uses the device least goes first, endless jobs fill the rest",
	.endless = "the waiting program is at a lower level",
	.has_levels = true,
	.state_size = sizeof(struct slu_mlfq_state),
	.begin = mlfq_begin,
	.unite = mlfq_unite,
	.precedes = mlfq_precedes,
	.over_ns = over_ns,
	.length_ns = length_ns,
	.count = mlfq_count,
	.change_ns = change_ns,
};
