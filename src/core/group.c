/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "core/group.h"
#include "core/sched/quota.h"
#include "core/sched/users.h"
#include "core/state.h"
#include "core/timeline.h"

/* A group as it is allocated. */
struct spare_group {
	struct slu_core_group group;
	max_align_t policy_state[];
};

struct slu_core_group *slu_core_group_find(const struct slu_core *core, uint64_t id)
{
	struct slu_core_group *group;

	LIST_FOREACH (group, &core->groups_by_id[id % SLU_CORE_BUCKETS], index_link)
		if (group->id == id)
			return group;
	return NULL;
}

static int group_lists_reserve(struct slu_core *core, size_t n)
{
	struct slu_core_timeline_turn *timeline;
	struct slu_core_group **list;

	if (n <= core->n_group_capacity)
		return 0;
	n = SLU_MAX(n, core->n_group_capacity * 2);
	list = reallocarray(core->opened, n, sizeof(struct slu_core_group *));
	if (!list)
		return -ENOMEM;
	core->opened = list;
	list = reallocarray(core->waiting, n, sizeof(struct slu_core_group *));
	if (!list)
		return -ENOMEM;
	core->waiting = list;
	timeline = reallocarray(core->timeline, n, sizeof(*timeline));
	if (!timeline)
		return -ENOMEM;
	core->timeline = timeline;
	core->n_group_capacity = n;
	return 0;
}

int slu_core_group_reserve(struct slu_core *core, size_t n)
{
	if (group_lists_reserve(core, n) < 0)
		return slu_error(-ENOMEM);
	while (core->n_groups + core->n_spare_groups < n) {
		struct spare_group *spare = calloc(1, sizeof(*spare) + slu_core_policy_state_max());

		if (!spare)
			return slu_error(-ENOMEM);
		spare->group.policy_state = spare->policy_state;
		TAILQ_INSERT_TAIL(&core->spare_groups, &spare->group, link);
		core->n_spare_groups++;
	}
	return 0;
}

struct slu_core_group *slu_core_group_new(struct slu_core *core, uint64_t id)
{
	struct slu_core_group *group = TAILQ_FIRST(&core->spare_groups);

	assert(group);
	TAILQ_REMOVE(&core->spare_groups, group, link);
	core->n_spare_groups--;
	*group = (struct slu_core_group){
		.id = id,
		.since_ns = core->now_ns,
		.place = UINT64_MAX,
		.counted_ns = core->now_ns,
		.rest_ns = SLU_CORE_NEVER,
		.crowd_ns = SLU_CORE_NEVER,
		.kept_ns = SLU_CORE_NEVER,
		.union_ns = SLU_CORE_NEVER,
		.stall_ns = SLU_CORE_NEVER,
		.policy_state = group->policy_state,
	};
	slu_core_group_begin(core, group);
	slu_core_patience_init(&group->patience);
	TAILQ_INIT(&group->members);
	TAILQ_INSERT_TAIL(&core->groups, group, link);
	TAILQ_INSERT_HEAD(&core->idle, group, state_link);
	LIST_INSERT_HEAD(&core->groups_by_id[id % SLU_CORE_BUCKETS], group, index_link);
	core->n_groups++;
	return group;
}

void slu_core_group_free(struct slu_core *core, struct slu_core_group *group)
{
	if (!group)
		return;
	assert(TAILQ_EMPTY(&group->members));
	slu_core_group_count(core, group);
	slu_core_group_want(core, group, false);
	slu_core_timeline_drop(core, group);
	core->n_entered++;
	TAILQ_REMOVE(&core->groups, group, link);
	if (group->state == SLU_CORE_IDLE)
		TAILQ_REMOVE(&core->idle, group, state_link);
	else
		TAILQ_REMOVE(&core->active, group, state_link);
	if (group->is_changed)
		TAILQ_REMOVE(&core->changed, group, change_link);
	LIST_REMOVE(group, index_link);
	core->n_groups--;
	TAILQ_INSERT_HEAD(&core->spare_groups, group, link);
	core->n_spare_groups++;
}

void slu_core_group_begin(struct slu_core *core, struct slu_core_group *group)
{
	group->level = 0;
	memset(group->policy_state, 0, core->policy->state_size);
	if (core->policy->begin)
		core->policy->begin(group, &core->config);
	if (group->is_wanting && core->policy->arrive)
		core->policy->arrive(core, group);
}

void slu_core_group_want(struct slu_core *core, struct slu_core_group *group, bool is_wanting)
{
	if (group->is_wanting == is_wanting)
		return;
	group->is_wanting = is_wanting;
	if (is_wanting && core->policy->arrive)
		core->policy->arrive(core, group);
	else if (!is_wanting && core->policy->leave)
		core->policy->leave(core, group);
}

void slu_core_group_resemble(struct slu_core *core, struct slu_core_group *to,
			     const struct slu_core_group *from)
{
	to->priority = from->priority;
	to->expect_ns = from->expect_ns;
	to->level = from->level;
	memcpy(to->policy_state, from->policy_state, core->policy->state_size);
}

const char *slu_core_group_name(const struct slu_core_group *group)
{
	const struct slu_core_client *first = TAILQ_FIRST(&group->members);

	return first ? first->name : "nobody";
}

/* Return: whether the time of @group counts; @ret_spent: as what. */
static bool group_spends(const struct slu_core_group *group, enum slu_core_spent *ret_spent)
{
	switch (group->state) {
	case SLU_CORE_WAITING:
	case SLU_CORE_FILLING:
		*ret_spent = SLU_CORE_SPENT_WAITING;
		return !slu_core_group_is_held(group);
	case SLU_CORE_RUNNING:
	case SLU_CORE_DRAINING:
		*ret_spent = group->is_idle	 ? SLU_CORE_SPENT_RESTING
			     : group->is_lacking ? SLU_CORE_SPENT_WAITING
						 : SLU_CORE_SPENT_USING;
		return true;
	default:
		*ret_spent = SLU_CORE_SPENT_RESTING;
		return true;
	}
}

/* Walks all groups, so only for a group that waits: the time of others does not depend on it. */
static size_t n_equals(const struct slu_core *core, const struct slu_core_group *group,
		       enum slu_core_spent spent)
{
	const struct slu_core_group *other;
	size_t n = 1;

	if (spent != SLU_CORE_SPENT_WAITING || !core->policy->has_levels)
		return n;
	TAILQ_FOREACH (other, &core->active, state_link)
		n += other != group && other->level == group->level && !other->is_idle &&
		     !slu_core_group_is_held(other);
	return n;
}

/* Until counted_ns. */
static void group_use(struct slu_core *core, struct slu_core_group *group, uint64_t span_ns)
{
	group->used_ns += span_ns;
	slu_core_quota_spend(core, group, span_ns);
	slu_core_users_count(core, group, group->counted_ns - span_ns, group->counted_ns);
}

static void count_until(struct slu_core *core, struct slu_core_group *group, uint64_t until_ns)
{
	uint64_t span = slu_sub_floor(until_ns, group->counted_ns);
	enum slu_core_spent spent;

	group->counted_ns += span;
	if (!span || !group_spends(group, &spent))
		return;
	if (spent == SLU_CORE_SPENT_USING && group->state == SLU_CORE_RUNNING)
		group_use(core, group, span);
	if (core->policy->count)
		core->policy->count(group, spent, span, n_equals(core, group, spent),
				    &core->config);
}

void slu_core_group_end(struct slu_core *core, struct slu_core_group *group)
{
	count_until(core, group, core->now_ns);
	if (core->policy->end)
		core->policy->end(core, group);
}

/* Time not counted yet is taken as use, unless the group reported that it rests. */
uint64_t slu_core_group_used_ns(const struct slu_core *core, const struct slu_core_group *group)
{
	enum slu_core_spent spent;

	if (group->state != SLU_CORE_RUNNING || !group_spends(group, &spent) ||
	    spent != SLU_CORE_SPENT_USING)
		return group->used_ns;
	return group->used_ns + slu_sub_floor(core->now_ns, group->counted_ns);
}

uint64_t slu_core_group_turn_used_ns(const struct slu_core *core,
				     const struct slu_core_group *group)
{
	return slu_core_group_used_ns(core, group) - group->used_before_ns;
}

/* What the group did in this time is unknown: if it reports IDLE, it rested since then. */
static uint64_t unknown_ns(const struct slu_core *core, const struct slu_core_group *group)
{
	return group->state == SLU_CORE_RUNNING && !group->is_idle && !group->is_lacking
		       ? core->config.idle_ns
		       : 0;
}

void slu_core_group_count(struct slu_core *core, struct slu_core_group *group)
{
	count_until(core, group, slu_sub_floor(core->now_ns, unknown_ns(core, group)));
}

void slu_core_group_spend(struct slu_core *core, struct slu_core_group *group, bool is_idle,
			  bool is_lacking)
{
	slu_core_group_count(core, group);
	if (is_lacking != group->is_lacking)
		count_until(core, group, core->now_ns);
	group->is_idle = is_idle;
	group->is_lacking = is_lacking;
	slu_core_group_count(core, group);
}

uint64_t slu_core_group_change_ns(const struct slu_core *core, const struct slu_core_group *group)
{
	enum slu_core_spent spent;

	if (!core->policy->change_ns || !group_spends(group, &spent))
		return SLU_CORE_NEVER;
	return slu_core_after(
		group->counted_ns + unknown_ns(core, group),
		core->policy->change_ns(group, spent, n_equals(core, group, spent), &core->config));
}

static void group_relist(struct slu_core *core, struct slu_core_group *group,
			 enum slu_core_state state)
{
	bool was_idle = group->state == SLU_CORE_IDLE, is_idle = state == SLU_CORE_IDLE;

	if (is_idle && !was_idle) {
		TAILQ_REMOVE(&core->active, group, state_link);
		TAILQ_INSERT_HEAD(&core->idle, group, state_link);
	} else if (was_idle && !is_idle) {
		TAILQ_REMOVE(&core->idle, group, state_link);
		TAILQ_INSERT_TAIL(&core->active, group, state_link);
	}
	if (group->is_changed)
		return;
	group->is_changed = true;
	TAILQ_INSERT_TAIL(&core->changed, group, change_link);
}

bool slu_core_take_changed(struct slu_core *core, uint64_t *ret_group,
			   enum slu_core_state *ret_state)
{
	struct slu_core_group *group = TAILQ_FIRST(&core->changed);

	if (!group)
		return false;
	TAILQ_REMOVE(&core->changed, group, change_link);
	group->is_changed = false;
	*ret_group = group->id;
	*ret_state = group->state;
	return true;
}

void slu_core_group_enter(struct slu_core *core, struct slu_core_group *group,
			  enum slu_core_state state)
{
	uint64_t span = core->now_ns - group->since_ns;

	count_until(core, group, core->now_ns);
	if (group->state == SLU_CORE_RUNNING)
		group->ran_ns += span;
	else if (group->state == SLU_CORE_WAITING || group->state == SLU_CORE_FILLING)
		group->waited_ns += span;
	if (state == SLU_CORE_WAITING)
		group->order = ++core->n_orders;
	if (state != SLU_CORE_WAITING)
		group->why = (struct slu_core_why){};
	group_relist(core, group, state);
	group->state = state;
	group->since_ns = core->now_ns;
	core->n_entered++;
}

bool slu_core_group_uses(const struct slu_core_group *group, unsigned device)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].device == device)
				return true;
	return false;
}

bool slu_core_group_shares(const struct slu_core_group *a, const struct slu_core_group *b)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &a->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (slu_core_group_uses(b, client->seats[i].device))
				return true;
	return false;
}

bool slu_core_group_is_single(const struct slu_core_group *group)
{
	const struct slu_core_client *first = TAILQ_FIRST(&group->members);

	return !first || !TAILQ_NEXT(first, member_link);
}

bool slu_core_group_is_runnable(const struct slu_core_group *group)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (slu_core_client_is_joined(client) && client->seats[i].want.is_runnable)
				return true;
	return false;
}

void slu_core_group_check(const struct slu_core_group *group)
{
	const struct slu_core_client *client;
	unsigned n_open = 0, n_closing = 0;

	TAILQ_FOREACH (client, &group->members, member_link) {
		assert(client->group == group);
		for (unsigned i = 0; i < client->n_seats; i++) {
			const struct slu_core_seat *seat = &client->seats[i];

			assert((seat->phase == SLU_CORE_PHASE_NONE) ==
			       slu_epoch_is_none(seat->epoch));
			n_closing += seat->phase == SLU_CORE_PHASE_CLOSING;
			if (seat->phase != SLU_CORE_PHASE_TURN &&
			    seat->phase != SLU_CORE_PHASE_READY)
				continue;
			n_open++;
			assert(slu_epoch_equal(seat->epoch, group->epoch));
		}
	}
	assert(!n_open || slu_core_group_is_open(group));
	assert(n_open + n_closing || slu_core_group_is_at_rest(group));
	assert(!group->is_stuck || group->state == SLU_CORE_DRAINING);
	assert(!group->is_overgrown || group->state == SLU_CORE_RUNNING);
}
