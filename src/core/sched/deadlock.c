/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/deadlock.h"

#include "core/fit/plan.h"
#include "core/group.h"
#include "core/sched/unfit.h"
#include "core/send.h"

static bool deadlock_exists(const struct slu_core *core)
{
	const struct slu_core_group *group;

	if (!core->n_waiting || core->n_opened)
		return false;
	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->state == SLU_CORE_DRAINING)
			return false;
	for (size_t i = 0; i < core->n_waiting; i++)
		if (core->waiting[i]->why.kind != SLU_CORE_WHY_BYTES)
			return false;
	return true;
}

static void deadlock_report(struct slu_core *core)
{
	const struct slu_core_group *waiter = core->waiting[0];
	const struct slu_core_group *other = slu_core_group_find(core, waiter->why.other);

	slu_core_report(core, TAILQ_FIRST(&waiter->members)->id,
			"deadlock: %s waits for bytes that %s keeps and cannot move, and "
			"no program runs",
			slu_core_group_name(waiter),
			other ? slu_core_group_name(other) : "an unknown program");
}

static bool account_may_free(struct slu_core *core, const struct slu_core_account *account)
{
	const struct slu_core_group *group = account->client->group;

	return group->state != SLU_CORE_WAITING || slu_core_group_is_held(group) ||
	       !slu_core_client_is_joined(account->client) || slu_core_is_silent(core, account);
}

/* Whether no waiting group would fit even if all other programs gave up what they keep. */
static bool deadlock_is_closed(struct slu_core *core)
{
	bool is_closed = true;

	slu_core_plan_forget_floors(core, account_may_free);
	for (size_t i = 0; i < core->n_waiting && is_closed; i++)
		is_closed = slu_core_plan_group(core, core->waiting[i], false, false, NULL) != 0;
	slu_core_plan_refresh(core);
	return is_closed;
}

static uint64_t group_arrival(const struct slu_core_group *group)
{
	return TAILQ_FIRST(&group->members)->id;
}

static void deadlock_break(struct slu_core *core)
{
	struct slu_core_group *chosen = core->waiting[0];
	struct slu_core_shortage shortage;

	for (size_t i = 1; i < core->n_waiting; i++) {
		struct slu_core_group *group = core->waiting[i];

		if (group->n_deadlock_denials < chosen->n_deadlock_denials ||
		    (group->n_deadlock_denials == chosen->n_deadlock_denials &&
		     group_arrival(group) > group_arrival(chosen)))
			chosen = group;
	}
	chosen->n_deadlock_denials++;
	if (slu_core_plan_group(core, chosen, false, false, &shortage))
		slu_core_unfit_deny(core, chosen, &shortage,
				    ": others keep the rest, cannot move it and wait as well");
}

void slu_core_deadlock_check(struct slu_core *core)
{
	bool was_deadlocked = core->is_deadlocked;
	struct slu_core_group *group;

	core->is_deadlocked = deadlock_exists(core);
	if (core->is_deadlocked && !was_deadlocked)
		deadlock_report(core);
	if (was_deadlocked && !core->is_deadlocked)
		TAILQ_FOREACH (group, &core->groups, link)
			group->n_deadlock_denials = 0;
	if (!core->is_deadlocked || !deadlock_is_closed(core)) {
		core->deadlock_ns = SLU_CORE_NEVER;
		return;
	}
	if (core->deadlock_ns == SLU_CORE_NEVER)
		core->deadlock_ns = core->now_ns;
	if (!slu_core_is_due(core, slu_core_after(core->deadlock_ns, core->config.patience_ns)))
		return;
	deadlock_break(core);
	core->deadlock_ns = core->now_ns;
}
