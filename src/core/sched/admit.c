/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "core/fit/plan.h"
#include "core/fit/shortage.h"
#include "core/group.h"
#include "core/sched/admit.h"
#include "core/sched/expiry.h"
#include "core/sched/grow.h"
#include "core/sched/deadlock.h"
#include "core/sched/quota.h"
#include "core/sched/split.h"
#include "core/sched/stall.h"
#include "core/sched/turns.h"
#include "core/sched/unfit.h"
#include "core/sched/users.h"
#include "core/send.h"

static bool is_older(const struct slu_core *core, const struct slu_core_group *a,
		     const struct slu_core_group *b)
{
	uint64_t x = a->state == SLU_CORE_RUNNING ? a->running_ns : a->granted_ns;
	uint64_t y = b->state == SLU_CORE_RUNNING ? b->running_ns : b->granted_ns;

	(void)core;
	return x < y;
}

/* Equals stay in the order in which they are inserted. */
static void waiting_insert(const struct slu_core *core, struct slu_core_group **list, size_t *n,
			   struct slu_core_group *group,
			   bool (*precedes)(const struct slu_core *, const struct slu_core_group *,
					    const struct slu_core_group *))
{
	size_t low = 0, high = *n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (precedes(core, group, list[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	memmove(&list[low + 1], &list[low], ((*n)++ - low) * sizeof(*list));
	list[low] = group;
}

static void opened_drop(struct slu_core_group **list, size_t *n, const struct slu_core_group *group)
{
	size_t i = 0;

	while (i < *n && list[i] != group)
		i++;
	assert(i < *n);
	for (--*n; i < *n; i++)
		list[i] = list[i + 1];
}

void slu_core_admit_collect_open(struct slu_core *core)
{
	struct slu_core_group *group;

	core->n_opened = 0;
	TAILQ_FOREACH (group, &core->active, state_link)
		if (slu_core_group_is_open(group))
			waiting_insert(core, core->opened, &core->n_opened, group, is_older);
}

/* Puts all waiting groups that may run into core->waiting, by users and then by the policy. */
static void collect_waiting(struct slu_core *core)
{
	struct slu_core_group *group;

	core->n_waiting = 0;
	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->state == SLU_CORE_WAITING && !slu_core_group_is_held(group))
			waiting_insert(core, core->waiting, &core->n_waiting, group,
				       slu_core_users_precede);
}

/* Collects them again if a group has changed its state since @n_entered. */
static void recollect_waiting(struct slu_core *core, uint64_t n_entered)
{
	if (core->n_entered != n_entered)
		collect_waiting(core);
}

static bool has_waiting(const struct slu_core *core)
{
	const struct slu_core_group *group;

	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->state == SLU_CORE_WAITING && !slu_core_group_is_held(group))
			return true;
	return false;
}

static void close_open(struct slu_core *core, struct slu_core_group *group)
{
	opened_drop(core->opened, &core->n_opened, group);
	slu_core_plan_refresh(core);
}

static void look_at_deadlines(struct slu_core *core)
{
	struct slu_core_group *group, *next;
	char span[SLU_SIZE_STRING_MAX], why[SLU_CORE_REASON_MAX];

	for (group = TAILQ_FIRST(&core->active); group; group = next) {
		const char *name = slu_core_group_name(group);

		next = TAILQ_NEXT(group, state_link);
		if (slu_core_group_is_open(group) && group->is_parked)
			slu_core_turns_close(core, group, "%s is parked", name);
		if (slu_core_group_is_open(group) && group->is_over_quota) {
			slu_core_quota_describe(core, group, why, sizeof(why));
			slu_core_turns_close(core, group, "%s: %s", name, why);
		}
		if (group->state == SLU_CORE_DRAINING && !group->is_stuck &&
		    slu_core_is_due(core, group->drain_ns)) {
			group->is_stuck = true;
			slu_core_report(core, TAILQ_FIRST(&group->members)->id,
					"%s is stuck: it has not come to rest for %s", name,
					slu_size_format_time(span, core->now_ns - group->since_ns));
		}
	}
}

static bool orphans_may_return(struct slu_core *core)
{
	return core->n_orphans &&
	       !slu_core_is_due(core, slu_core_after(core->started_ns, core->config.grace_ns));
}

static int plan_open(struct slu_core *core, struct slu_core_group *plus, unsigned percent,
		     struct slu_core_shortage *ret_shortage)
{
	struct slu_core_plan plan = {
		.groups = core->opened,
		.n_groups = core->n_opened,
		.plus = plus,
		.percent = percent,
	};

	return slu_core_plan_make(core, &plan, ret_shortage);
}

/* Programs that take unmovable memory do so one at a time. */
static void close_growers(struct slu_core *core)
{
	for (size_t i = 0; i < core->n_opened; i++) {
		struct slu_core_group *group = core->opened[i];
		const struct slu_core_group *grower = slu_core_grow_waits_for(core, group);

		if (!grower)
			continue;
		group->waits_to_grow = true;
		slu_core_turns_close(core, group,
				     "%s and %s take memory that cannot move: one at a time",
				     slu_core_group_name(group), slu_core_group_name(grower));
		close_open(core, group);
		i--;
	}
}

static void look_at_open(struct slu_core *core)
{
	struct slu_core_shortage shortage;
	char need[SLU_SIZE_STRING_MAX], free_text[SLU_SIZE_STRING_MAX];

	for (size_t i = 0; i < core->n_opened; i++) {
		struct slu_core_group *group = core->opened[i];

		/*
		 * a running group that wants more than there is has a waiting call: say why it
		 * waits
		 */
		group->why = (struct slu_core_why){};
		group->is_overgrown = false;
		slu_core_unfit_pinned(core, group);
		if (!slu_core_plan_group(core, group, false, false, &shortage)) {
			slu_core_patience_fit(core, group);
			continue;
		}
		if (group->state == SLU_CORE_RUNNING) {
			slu_core_unfit_note(core, group, &shortage);
			group->is_overgrown = true;
			continue;
		}
		slu_core_shortage_note(core, group, &shortage);
		if (slu_core_plan_group(core, group, true, false, NULL))
			slu_core_patience_unfit(core, group);
		slu_core_turns_close(core, group, "%s no longer fits: it needs %s of %s",
				     slu_core_group_name(group),
				     slu_size_format(need, shortage.need_bytes),
				     slu_size_format(free_text, shortage.free_bytes));
		close_open(core, group);
		i--;
	}
	while (core->n_opened && plan_open(core, NULL, 100, &shortage)) {
		struct slu_core_group *group = core->opened[0];

		for (size_t i = 0; shortage.device != SLU_CORE_PLAN_PINNED; i++) {
			group = core->opened[i];
			if (slu_core_group_uses(group, (unsigned)shortage.device))
				break;
		}
		slu_core_shortage_note(core, group, &shortage);
		slu_core_turns_close(core, group, "the open programs no longer fit together");
		close_open(core, group);
	}
}

static uint64_t devices_of(const struct slu_core *core, const struct slu_core_group *group)
{
	uint64_t mask = 0;

	for (unsigned d = 0; d < core->n_devices; d++)
		if (slu_core_group_uses(group, d))
			mask |= UINT64_C(1) << d;
	return mask;
}

static const struct slu_core_group *group_drainer(const struct slu_core *core,
						  const struct slu_core_group *asker)
{
	const struct slu_core_group *group;

	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->state == SLU_CORE_DRAINING && !group->is_stuck &&
		    slu_core_group_shares(group, asker))
			return group;
	return NULL;
}

/* Whether the policy lets @group run next to all open groups of its devices. */
static bool may_run_beside(const struct slu_core *core, const struct slu_core_group *group)
{
	for (size_t i = 0; i < core->n_opened && core->policy->beside; i++)
		if (slu_core_group_shares(core->opened[i], group) &&
		    !core->policy->beside(group, core->opened[i]))
			return false;
	return true;
}

static void others_close(struct slu_core *core, struct slu_core_group *asker)
{
	char held[SLU_SIZE_STRING_MAX], used[SLU_SIZE_STRING_MAX];

	for (size_t i = 0; i < core->n_opened; i++) {
		struct slu_core_group *group = core->opened[i];

		if (!slu_core_group_shares(group, asker) ||
		    !slu_core_is_due(core, slu_core_expiry_ns(core, group, asker)))
			continue;
		slu_core_expiry_note(core, group);
		slu_core_turns_close(
			core, group, "%s's turn is over: %s held, %s used%s, %s waits",
			slu_core_group_name(group),
			slu_size_format_time(held, core->now_ns - group->running_ns),
			slu_size_format_time(used, slu_core_group_turn_used_ns(core, group)),
			group->is_idle ? ", now idle" : "", slu_core_group_name(asker));
		close_open(core, group);
		asker->closes_others = true;
		if (may_run_beside(core, asker) && !plan_open(core, asker, 100, NULL))
			return;
		i--;
	}
}

/* Return: whether the group was admitted. */
static bool let_in(struct slu_core *core, struct slu_core_group *group)
{
	const struct slu_core_group *other = group_drainer(core, group), *beside = NULL;
	struct slu_core_shortage shortage;
	unsigned percent;

	if (other) {
		group->why = (struct slu_core_why){ SLU_CORE_WHY_DRAIN, .other = other->id };
		return false;
	}
	for (size_t i = 0; i < core->n_opened && !beside; i++)
		if (slu_core_group_shares(core->opened[i], group))
			beside = core->opened[i];
	percent = beside && !group->closes_others ? core->config.share_percent : 100;
	if (!may_run_beside(core, group)) {
		group->why = (struct slu_core_why){ SLU_CORE_WHY_TURN, .other = beside->id };
		others_close(core, group);
		return false;
	}
	if (!plan_open(core, group, percent, &shortage)) {
		slu_core_turns_grant(core, group);
		waiting_insert(core, core->opened, &core->n_opened, group, is_older);
		return true;
	}
	slu_core_shortage_note(core, group, &shortage);
	group->why = (struct slu_core_why){
		.kind = SLU_CORE_WHY_TURN,
		.other = beside ? beside->id : 0,
		.need_bytes = shortage.need_bytes,
		.free_bytes = shortage.free_bytes,
	};
	others_close(core, group);
	return false;
}

/* Whether the policy lets @group pass every group that is next on a device of it. */
static bool may_pass(const struct slu_core *core, const struct slu_core_group *group)
{
	if (!core->policy->passes || group_drainer(core, group))
		return false;
	for (size_t i = 0; i < core->n_waiting && core->waiting[i] != group; i++) {
		const struct slu_core_group *next = core->waiting[i];

		if (!next->is_next || !slu_core_group_shares(next, group))
			continue;
		/* what others gave up for it is not for a third group */
		if (next->closes_others || !slu_core_users_may_pass(core, group, next) ||
		    !core->policy->passes(group, next, &core->config))
			return false;
	}
	return true;
}

/* Runs next to the open groups, if it fits there, and ends nobody's turn. */
static bool let_pass(struct slu_core *core, struct slu_core_group *group)
{
	if (!may_pass(core, group) || !may_run_beside(core, group) ||
	    plan_open(core, group, core->config.share_percent, NULL))
		return false;
	slu_core_turns_grant(core, group);
	waiting_insert(core, core->opened, &core->n_opened, group, is_older);
	return true;
}

/* While no group waits, the policy's next change does not matter. */
static void count_all(struct slu_core *core)
{
	bool is_waited = has_waiting(core);
	struct slu_core_group *group;

	TAILQ_FOREACH (group, &core->active, state_link)
		slu_core_group_count(core, group);
	TAILQ_FOREACH (group, &core->active, state_link)
		if (is_waited)
			(void)slu_core_is_due(core, slu_core_group_change_ns(core, group));
}

static bool waits_to_grow(struct slu_core *core, struct slu_core_group *group)
{
	const struct slu_core_group *grower = slu_core_grow_waits_for(core, group);

	group->waits_to_grow = grower;
	if (grower)
		group->why = (struct slu_core_why){ SLU_CORE_WHY_GROWER, .other = grower->id };
	return grower;
}

void slu_core_admit(struct slu_core *core)
{
	uint64_t reserved = 0, n_entered;

	slu_core_stall_look(core);
	look_at_deadlines(core);
	slu_core_plan_refresh(core);
	slu_core_admit_collect_open(core);
	count_all(core);
	slu_core_users_look(core);
	if (core->policy->look)
		core->policy->look(core);
	collect_waiting(core);
	n_entered = core->n_entered;
	core->is_in_grace = orphans_may_return(core);
	if (core->is_in_grace) {
		for (size_t i = 0; i < core->n_waiting; i++)
			core->waiting[i]->why.kind = SLU_CORE_WHY_GRACE;
		return;
	}
	if (slu_core_split_unfit(core)) {
		slu_core_plan_refresh(core);
		slu_core_admit_collect_open(core);
	}
	slu_core_grow_look(core);
	close_growers(core);
	look_at_open(core);
	recollect_waiting(core, n_entered);
	n_entered = core->n_entered;
	for (size_t i = 0; i < core->n_waiting; i++) {
		struct slu_core_group *group = core->waiting[i];
		struct slu_core_shortage shortage;
		uint64_t devices = devices_of(core, group);

		group->is_next = false;
		if (waits_to_grow(core, group))
			continue;
		if (slu_core_stall_waits(core, group)) {
			group->why = (struct slu_core_why){ SLU_CORE_WHY_STALL };
			continue;
		}
		if (slu_core_plan_group(core, group, false, false, &shortage)) {
			slu_core_unfit_note(core, group, &shortage);
			continue;
		}
		slu_core_patience_fit(core, group);
		if (devices & reserved) {
			if (let_pass(core, group))
				continue;
			group->why = (struct slu_core_why){ SLU_CORE_WHY_BEHIND };
			for (size_t j = 0; j < i && !group->why.other; j++)
				if (core->waiting[j]->is_next &&
				    slu_core_group_shares(core->waiting[j], group))
					group->why.other = core->waiting[j]->id;
			continue;
		}
		if (let_in(core, group))
			continue;
		reserved |= devices;
		group->is_next = true;
	}
	recollect_waiting(core, n_entered);
	slu_core_deadlock_check(core);
}
