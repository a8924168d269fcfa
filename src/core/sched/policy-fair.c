/* SPDX-License-Identifier: Apache-2.0 */

/*
 * FAIR: every program gets the same share of the device's time, weighted by its priority.
 *
 *   priority    low   normal   high
 *   weight W    1/4        1      4
 *
 * Each group has a virtual time: the device time that it used, divided by its weight. The group
 * with the least virtual time goes first; among equals the one that waits longest. A turn is over
 * for the next group after a slice L (at least slice_min_switches switches, rule 19), and not
 * before the holder's virtual time has reached that of the next group: so a program of high
 * priority gets its share in longer turns, not in more switches.
 *
 * The clock is the least virtual time of the groups that want to run, and never goes back.
 *
 *  * A group that returns from a rest continues at the clock, if its own time is less. What it did
 *    not use while it rested is no claim on the others.
 *  * A new group begins a slice after the clock: it does not hold up those that waited before it,
 *    however many new ones come.
 *  * No group is ahead of the clock by more than D = 4 L. Groups that run side by side use time
 *    that nobody else wants, and must not pay for it with a long wait later.
 *
 * No group starves: while a group waits, each other one gets turns only until its virtual time
 * has passed that of the waiting group, which is at most D after the clock. So a group waits at
 * most the sum, over the other groups, of
 *
 *     W D + 2 L, and for each turn in it one drain and one switch.
 */

#include "base/util.h"
#include "core/core.h"
#include "core/group.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/state.h"

#define WEIGHT	     4 /* of high against normal, and of normal against low */
#define SPREAD_TURNS 4

struct fair_state {
	uint64_t virtual_ns;
	uint64_t rest_ns; /* device time that is less than one ns of virtual time */
	bool is_known;	  /* it has wanted the device before */
};

struct fair_common {
	uint64_t clock_ns;
};

static struct fair_state *state_of(const struct slu_core_group *group)
{
	return group->policy_state;
}

/* Saturates at SLU_CORE_NEVER. */
static uint64_t span_times(uint64_t span_ns, uint64_t n)
{
	uint64_t product;

	return __builtin_mul_overflow(span_ns, n, &product) ? SLU_CORE_NEVER : product;
}

static uint64_t virtual_of(const struct slu_core_group *group, uint64_t device_ns)
{
	switch (group->priority) {
	case SLU_CORE_PRIORITY_HIGH:
		return device_ns / WEIGHT;
	case SLU_CORE_PRIORITY_LOW:
		return span_times(device_ns, WEIGHT);
	default:
		return device_ns;
	}
}

/* The inverse: how long the group must use the device for so much virtual time. */
static uint64_t device_of(const struct slu_core_group *group, uint64_t virtual_ns)
{
	switch (group->priority) {
	case SLU_CORE_PRIORITY_HIGH:
		return span_times(virtual_ns, WEIGHT);
	case SLU_CORE_PRIORITY_LOW:
		return (virtual_ns + WEIGHT - 1) / WEIGHT;
	default:
		return virtual_ns;
	}
}

/* Moves the clock to the least virtual time of the groups that want to run. */
static uint64_t clock_turn(struct slu_core *core)
{
	struct fair_common *common = core->policy_state;
	const struct slu_core_group *group;
	uint64_t least_ns = SLU_CORE_NEVER;

	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->is_wanting && !slu_core_group_is_held(group) &&
		    state_of(group)->is_known)
			least_ns = SLU_MIN(least_ns, state_of(group)->virtual_ns);
	if (least_ns != SLU_CORE_NEVER)
		common->clock_ns = SLU_MAX(common->clock_ns, least_ns);
	return common->clock_ns;
}

static void fair_arrive(struct slu_core *core, struct slu_core_group *group)
{
	struct fair_state *state = state_of(group);
	uint64_t start_ns = clock_turn(core);

	if (!state->is_known)
		start_ns = slu_core_after(start_ns, core->config.slice_ns);
	state->is_known = true;
	state->virtual_ns = SLU_MAX(state->virtual_ns, start_ns);
}

/* The last of them to leave takes the clock along to its own time. */
static void fair_leave(struct slu_core *core, struct slu_core_group *group)
{
	struct fair_common *common = core->policy_state;
	const struct slu_core_group *other;

	clock_turn(core);
	TAILQ_FOREACH (other, &core->active, state_link)
		if (other != group && other->is_wanting && !slu_core_group_is_held(other))
			return;
	common->clock_ns = SLU_MAX(common->clock_ns, state_of(group)->virtual_ns);
}

static void fair_look(struct slu_core *core)
{
	uint64_t clock_ns = clock_turn(core);
	struct slu_core_group *group;

	TAILQ_FOREACH (group, &core->active, state_link) {
		struct fair_state *state = state_of(group);
		uint64_t spread_ns =
			span_times(slu_core_expiry_slice_ns(group, &core->config), SPREAD_TURNS);

		state->virtual_ns = SLU_MIN(state->virtual_ns, slu_core_after(clock_ns, spread_ns));
	}
}

static void fair_unite(struct slu_core_group *to, const struct slu_core_group *from)
{
	state_of(to)->virtual_ns = SLU_MAX(state_of(to)->virtual_ns, state_of(from)->virtual_ns);
}

static void fair_count(struct slu_core_group *group, enum slu_core_spent spent, uint64_t span_ns,
		       size_t n_equals, const struct slu_core_config *config)
{
	struct fair_state *state = state_of(group);
	uint64_t virtual_ns;

	(void)n_equals;
	(void)config;
	if (spent != SLU_CORE_SPENT_USING)
		return;
	/* without the rest, steps a few ns apart would count nothing, and come again and again */
	span_ns = slu_core_after(span_ns, state->rest_ns);
	virtual_ns = virtual_of(group, span_ns);
	state->rest_ns = slu_sub_floor(span_ns, device_of(group, virtual_ns));
	state->virtual_ns = slu_core_after(state->virtual_ns, virtual_ns);
}

static bool fair_precedes(const struct slu_core_group *a, const struct slu_core_group *b)
{
	uint64_t x = state_of(a)->virtual_ns, y = state_of(b)->virtual_ns;

	return x != y ? x < y : a->order < b->order;
}

static uint64_t over_ns(const struct slu_core_group *group, const struct slu_core_group *asker,
			const struct slu_core_config *config)
{
	uint64_t behind_ns =
		slu_sub_floor(state_of(asker)->virtual_ns, state_of(group)->virtual_ns);
	uint64_t slice_end_ns =
		slu_core_after(group->running_ns, slu_core_expiry_slice_ns(group, config));

	return SLU_MAX(slice_end_ns,
		       slu_core_after(group->counted_ns, device_of(group, behind_ns)));
}

const struct slu_core_policy slu_core_policy_fair = {
	.name = "fair",
	.about = "equal shares of the device's time, weighted by priority",
	.endless = "the slice has no end",
	.state_size = sizeof(struct fair_state),
	.common_size = sizeof(struct fair_common),
	.unite = fair_unite,
	.arrive = fair_arrive,
	.leave = fair_leave,
	.look = fair_look,
	.precedes = fair_precedes,
	.over_ns = over_ns,
	.length_ns = slu_core_expiry_slice_ns,
	.count = fair_count,
};
