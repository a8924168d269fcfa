/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/knot.h"

#include "core/fit/plan.h"
#include "core/group.h"
#include "core/sched/unfit.h"
#include "core/send.h"

static bool is_knot(const struct slu_core *core)
{
	const struct slu_core_group *group;

	if (!core->n_waiting || core->n_opened)
		return false;
	TAILQ_FOREACH (group, &core->groups, link)
		if (group->state == SLU_CORE_DRAINING)
			return false;
	for (size_t i = 0; i < core->n_waiting; i++)
		if (core->waiting[i]->why.kind != SLU_CORE_WHY_ROOM)
			return false;
	return true;
}

static void tell(struct slu_core *core)
{
	const struct slu_core_group *waiter = core->waiting[0];
	const struct slu_core_group *other = slu_core_group_find(core, waiter->why.other);

	slu_core_tell(core, TAILQ_FIRST(&waiter->members)->id,
		      "a knot: %s waits for bytes that %s keeps and cannot move, and "
		      "nobody runs",
		      slu_core_group_name(waiter),
		      other ? slu_core_group_name(other) : "nobody known");
}

static bool may_help(struct slu_core *core, const struct slu_core_account *account)
{
	const struct slu_core_group *group = account->client->group;

	return group->state != SLU_CORE_WAITING || group->is_parked ||
	       !slu_core_client_is_joined(account->client) || slu_core_is_silent(core, account);
}

/* Nobody who waits would fit if all others gave up what they keep. */
static bool is_tight(struct slu_core *core)
{
	bool is_tight = true;

	slu_core_plan_forget_floors(core, may_help);
	for (size_t i = 0; i < core->n_waiting && is_tight; i++)
		is_tight = slu_core_plan_group(core, core->waiting[i], false, false, NULL) != 0;
	slu_core_plan_refresh(core);
	return is_tight;
}

static uint64_t arrival(const struct slu_core_group *group)
{
	return TAILQ_FIRST(&group->members)->id;
}

static void untie(struct slu_core *core)
{
	struct slu_core_group *chosen = core->waiting[0];
	struct slu_core_shortage shortage;

	for (size_t i = 1; i < core->n_waiting; i++) {
		struct slu_core_group *group = core->waiting[i];

		if (group->n_untied < chosen->n_untied ||
		    (group->n_untied == chosen->n_untied && arrival(group) > arrival(chosen)))
			chosen = group;
	}
	chosen->n_untied++;
	if (slu_core_plan_group(core, chosen, false, false, &shortage))
		slu_core_unfit_deny(core, chosen, &shortage,
				    ": others keep the rest, cannot move it and wait as well");
}

void slu_core_knot_look(struct slu_core *core)
{
	bool was_knotted = core->is_knotted;
	struct slu_core_group *group;

	core->is_knotted = is_knot(core);
	if (core->is_knotted && !was_knotted)
		tell(core);
	if (!core->is_knotted)
		TAILQ_FOREACH (group, &core->groups, link)
			group->n_untied = 0;
	if (!core->is_knotted || !is_tight(core)) {
		core->tight_ns = SLU_CORE_NEVER;
		return;
	}
	if (core->tight_ns == SLU_CORE_NEVER)
		core->tight_ns = core->now_ns;
	if (!slu_core_is_due(core, slu_core_after(core->tight_ns, core->config.patience_ns)))
		return;
	untie(core);
	core->tight_ns = core->now_ns;
}
