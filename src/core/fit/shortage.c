/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fit/shortage.h"

#include "base/util.h"
#include "core/group.h"

void slu_core_shortage_note(struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_shortage *shortage)
{
	const struct slu_core_client *client;

	if (shortage->device != SLU_CORE_PLAN_PINNED) {
		core->devices[shortage->device]->capacity.is_lacking = true;
		return;
	}
	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].mode == SLU_MODE_MAPPED)
				core->devices[client->seats[i].device]->capacity.is_lacking = true;
}

const struct slu_core_group *slu_core_shortage_keeper(const struct slu_core *core,
						      const struct slu_core_group *asker,
						      const struct slu_core_shortage *shortage)
{
	const struct slu_core_capacity *capacity =
		shortage->device == SLU_CORE_PLAN_PINNED
			? &core->pinned
			: &core->devices[shortage->device]->capacity;
	const struct slu_core_account *account, *most = NULL;

	TAILQ_FOREACH (account, &capacity->charged, charged_link)
		if (account->client->group != asker &&
		    (!most || account->counted_floor_bytes > most->counted_floor_bytes))
			most = account;
	return most && most->counted_floor_bytes ? most->client->group : NULL;
}

void slu_core_shortage_forget(struct slu_core *core, const struct slu_core_group *group)
{
	for (unsigned d = 0; d < core->n_devices; d++)
		if (slu_core_group_uses(group, d))
			slu_core_capacity_forget(&core->devices[d]->capacity, core->now_ns);
}

bool slu_core_shortage_is_final(struct slu_core *core, const struct slu_core_group *group,
				const struct slu_core_shortage *shortage, bool is_tried)
{
	const struct slu_core_capacity *capacity;
	const struct slu_core_account *account;
	bool is_all = true;

	if (shortage->device == SLU_CORE_PLAN_PINNED)
		return false;
	capacity = &core->devices[shortage->device]->capacity;
	TAILQ_FOREACH (account, &capacity->accounts, link) {
		if (account->client->group != group || account->seat->mode == SLU_MODE_LAUNCH)
			return false;
		is_all &= account->seat->mode == SLU_MODE_ALL;
	}
	if (capacity->outsider_bytes ||
	    (capacity->departed_ns &&
	     !slu_core_is_due(core,
			      slu_core_after(capacity->departed_ns, core->config.patience_ns))))
		return false;
	return shortage->need_bytes > slu_sub_floor(slu_core_capacity_total_bytes(capacity),
						    capacity->overhead_bytes) ||
	       (is_tried && is_all && slu_core_capacity_is_refused(capacity));
}

bool slu_core_shortage_is_taught(const struct slu_core *core, const struct slu_core_seat *seat)
{
	return slu_core_seat_need_bytes(seat) >
	       slu_core_capacity_present_bytes(&core->devices[seat->device]->capacity);
}
