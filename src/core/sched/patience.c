/* SPDX-License-Identifier: Apache-2.0 */
#include "core/group.h"
#include "core/sched/patience.h"
#include "core/state.h"

#define VAIN_MAX 3

static void patience_calm(struct slu_core_patience *patience)
{
	patience->since_ns = patience->tried_ns = SLU_CORE_NEVER;
	patience->must_try = false;
}

void slu_core_patience_init(struct slu_core_patience *patience)
{
	*patience = (struct slu_core_patience){};
	patience_calm(patience);
}

/* A grant for the last request says nothing about the present one. */
static void forget_served(struct slu_core_group *group)
{
	struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			client->seats[i].is_served = false;
}

void slu_core_patience_unfit(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_patience *patience = &group->patience;

	patience->is_fit = false;
	if (patience->since_ns == SLU_CORE_NEVER) {
		patience->since_ns = core->now_ns;
		forget_served(group);
	}
	if (!slu_core_group_is_open(group))
		return;
	patience->must_try = false;
	if (patience->tried_ns == SLU_CORE_NEVER)
		patience->tried_ns = core->now_ns;
	if (!slu_epoch_equal(patience->vain_epoch, group->epoch)) {
		patience->vain_epoch = group->epoch;
		patience->n_vain++;
		forget_served(group);
	}
}

void slu_core_patience_fit(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_patience *patience = &group->patience;

	if (!patience->is_fit) {
		patience->is_fit = true;
		patience->fit_ns = core->now_ns;
	}
	if (patience->since_ns != SLU_CORE_NEVER && patience->n_vain < VAIN_MAX &&
	    slu_core_is_due(core, slu_core_after(patience->fit_ns, core->config.patience_ns / 2)))
		patience_calm(patience);
}

bool slu_core_patience_is_tried(const struct slu_core_group *group)
{
	return group->patience.tried_ns != SLU_CORE_NEVER;
}

bool slu_core_patience_is_over(struct slu_core *core, const struct slu_core_group *group)
{
	uint64_t from_ns = slu_core_patience_is_tried(group) ? group->patience.tried_ns
							     : group->patience.since_ns;

	return slu_core_is_due(core, slu_core_after(from_ns, core->config.patience_ns));
}

void slu_core_patience_renew(struct slu_core *core, struct slu_core_group *group, bool must_try)
{
	slu_core_patience_init(&group->patience);
	group->patience.must_try = must_try;
	group->patience.since_ns = core->now_ns;
}

void slu_core_patience_update(struct slu_core_group *group)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (slu_core_client_is_joined(client) &&
			    client->seats[i].want.is_runnable && !client->seats[i].is_served)
				return;
	patience_calm(&group->patience);
	group->patience.n_vain = 0;
}
