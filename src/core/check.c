/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A part of core.h: the invariants of docs/protocol.md as far as the core can see them. I2 is
 * asserted where a raise is made (slu_core_account_raise), I7 where a REST is taken (by
 * comparison).
 */

#include <assert.h>

#include "core/group.h"
#include "core/state.h"

/* I8: once queued lines are written, the roster is never more optimistic than the charge. */
static void check_roster(const struct slu_core_client *client)
{
	if (client->roster_is_queued || client->standing != SLU_CORE_JOINED)
		return;
	assert(client->pinned.roster_bytes >= client->pinned.charge_bytes);
	assert(client->pageable.roster_bytes >= client->pageable.charge_bytes);
	assert(client->disk.roster_bytes >= client->disk.charge_bytes);
	for (unsigned i = 0; i < client->n_seats; i++)
		assert(client->seats[i].account.roster_bytes >=
		       client->seats[i].account.charge_bytes);
}

/* The lists by which a step finds what it must look at have all of it. */
static void check_lists(const struct slu_core *core)
{
	const struct slu_core_client *client;
	const struct slu_core_group *group;
	size_t n_groups = 0, n_orphans = 0, n_unstaged = 0;

	TAILQ_FOREACH (group, &core->active, state_link) {
		assert(group->state != SLU_CORE_IDLE);
		n_groups++;
	}
	TAILQ_FOREACH (group, &core->idle, state_link) {
		assert(group->state == SLU_CORE_IDLE && !group->is_wanting);
		n_groups++;
	}
	assert(n_groups == core->n_groups);
	TAILQ_FOREACH (client, &core->clients, link) {
		n_orphans += client->standing == SLU_CORE_ORPHAN;
		n_unstaged += client->is_unstaged;
		assert(client->is_unstaged == (slu_core_client_is_joined(client) &&
					       !client->never_pins && !client->staging_bytes));
		assert(!client->backing_want_bytes || core->is_asked_for_backing);
		assert(!client->group->is_parked || core->has_parked);
		assert(!client->run || core->has_split);
	}
	assert(n_orphans == core->n_orphans);
	assert(n_unstaged == core->n_unstaged);
}

void slu_core_check(const struct slu_core *core)
{
	const struct slu_core_client *client;
	const struct slu_core_group *group;
	size_t n_clients = 0, n_groups = 0;

	for (unsigned d = 0; d < core->n_devices; d++)
		slu_core_capacity_check(&core->devices[d]->capacity);
	slu_core_capacity_check(&core->pinned);
	slu_core_capacity_check(&core->pageable);
	slu_core_capacity_check(&core->disk);
	TAILQ_FOREACH (client, &core->clients, link) {
		n_clients++;
		check_roster(client);
	}
	TAILQ_FOREACH (group, &core->groups, link) {
		n_groups++;
		assert(!TAILQ_EMPTY(&group->members));
		slu_core_group_check(group);
	}
	check_lists(core);
	assert(n_clients == core->n_clients);
	assert(n_groups == core->n_groups);
	assert(n_groups + core->n_spare_groups >= n_clients);
}
