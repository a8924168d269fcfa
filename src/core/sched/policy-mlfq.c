/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Multi-level feedback queue: whoever is waiting at the keyboard goes first, and nobody has to say
 * who that is. A new group is at the top. One that keeps the device busy sinks, one that mostly
 * rests rises; so an endless job finds its place below the programs that people talk to.
 *
 *   level                  0        1        2      …      levels − 1
 *   allotment T(p)         A        2 A      4 A           doubled from level to level
 *   slice S(p)             S        2 S      4 S           likewise, and at least
 *                                                          slice_min_switches switches (rule 19)
 *
 * Order: the higher level first. Among equals those come first who have waited longer than a slice,
 * by age; then who used the device least of late, where use loses half of its weight in 4 A.
 *
 * A turn is over for an equal after a slice. It is over as soon as the holder has run as long as
 * the switch to it took, or twice as long where that happens often, for somebody from a higher
 * level; and for an equal that comes back from a rest, or comes for the first time, where the
 * holder used S or more of late and it less than half of that. Without that minimum the holder
 * would pay for switches and never run a launch. For somebody from a lower level it is over when
 * the holder rests (expiry.h), or has sunk.
 *
 * Levels: a group that has used T(p) sinks by one, at the bottom it stays there. It rises by one
 * when its credit reaches T(p − 1) and what it has used at this level; at the top the same, against
 * T(0), forgives what it has used. At each of these steps both counts begin anew. The credit is the
 * time that it rested, and a share R of the time that it waited. Using means device progress: a
 * program that computes on the host, or waits for a person, rests, whatever its threads do, from
 * the end of its last burst on; one that has its turn and lacks its bytes waits.
 *
 * Where a person has said so (priority), a group begins at the bottom and not at the top, or stays
 * at the top whatever it uses. The rest is as for all: one of low priority rises when it rests, and
 * nobody starves below one that stays at the top.
 *
 * It follows that
 *  * a group that uses the device less than a third of the time, in bursts that are short beside
 *    A, stays at the top: it has earned A and as much as it used before it has used A;
 *  * R = min(wait_percent, 1 / (n + 1)) for n equals: those who only wait for each other use one
 *    part while they wait n − 1, earn less than they use, and stay where they are;
 *  * nobody starves: a group that waits at level p, whoever else there is, is at the top after at
 *    most A (2^(p + 1) − 1) / R, has its place by age there after one more slice, and then waits
 *    only for those who came before it, one slice, drain and switch each.
 *
 * With A = 8 s and R = 1/2 the first part of that bound is 8 minutes for a lonely job at the bottom
 * of five levels; it takes programs that keep the device busy in turns, each of them resting two
 * thirds of its time, to make it wait so long.
 *
 * The rules are those of Nixie's scheduler, less its limits on how often a level may change, which
 * the counts that begin anew give already.
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

/* Saturates: what is beyond all time is never. */
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

/* Parting and uniting is no way to the top: the lower level is that of both. */
static void mlfq_unite(struct slu_core_group *to, const struct slu_core_group *from)
{
	if (from->level <= to->level)
		return;
	to->level = from->level;
	state_of(to)->used_ns = state_of(from)->used_ns;
	state_of(to)->credit_ns = state_of(from)->credit_ns;
}

/* A group may be lower than there are levels now: the setting can change. */
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

/* The credit with which the group rises, or is forgiven at the top. */
static uint64_t goal_ns(const struct slu_core_group *group, const struct slu_core_config *config)
{
	unsigned level = level_of(group, config);

	return slu_core_after(allotment_ns(level ? level - 1 : 0, config),
			      state_of(group)->used_ns);
}

/* How long the group must spend its time so until its counts begin anew. */
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

/*
 * What was used loses half of its weight in each window of so long, about; so it cannot be more
 * than two windows.
 */
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
			return; /* at the top, and nothing is held against it */
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
 * By far, so that two who use much the same do not interrupt each other in turn; nor is one that
 * has only begun interrupted by everybody who begins after it.
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
	.state_size = sizeof(struct slu_mlfq_state),
	.begin = mlfq_begin,
	.unite = mlfq_unite,
	.precedes = mlfq_precedes,
	.over_ns = over_ns,
	.length_ns = length_ns,
	.count = mlfq_count,
	.change_ns = change_ns,
};
