/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "core/client.h"
#include "core/credit/staging.h"
#include "core/fit/balance.h"
#include "core/group.h"
#include "core/state.h"
#include "core/user.h"

struct slu_core_client *slu_core_client_find(const struct slu_core *core, uint64_t id)
{
	struct slu_core_client *client;

	LIST_FOREACH (client, &core->clients_by_id[id % SLU_CORE_BUCKETS], index_link)
		if (client->id == id)
			return client;
	return NULL;
}

/* Reserves the victims of a step: one capacity can name each client twice. */
static int victims_reserve(struct slu_core *core, size_t n_clients)
{
	size_t n = n_clients * 2;
	struct slu_core_victim *victims;

	if (n <= core->n_victim_capacity)
		return 0;
	n = SLU_MAX(n, core->n_victim_capacity * 2);
	victims = reallocarray(core->victims, n, sizeof(*victims));
	if (!victims)
		return -ENOMEM;
	core->victims = victims;
	core->n_victim_capacity = n;
	return 0;
}

int slu_core_client_new(struct slu_core *core, uint64_t id, uint64_t group_id, uint64_t user_id,
			struct slu_core_client **ret_client)
{
	struct slu_core_client *client;
	struct slu_core_group *group;
	int r;

	if (victims_reserve(core, core->n_clients + 1) < 0 ||
	    slu_core_group_reserve(core, core->n_clients + 1) < 0)
		return slu_error(-ENOMEM);
	client = calloc(1, sizeof(*client));
	if (!client)
		return slu_error(-ENOMEM);
	r = slu_core_user_take(core, user_id, &client->user);
	if (r) {
		free(client);
		return slu_fold(r);
	}
	group = slu_core_group_find(core, group_id);
	if (!group)
		group = slu_core_group_new(core, group_id);
	client->id = id;
	client->group = group;
	client->standing = SLU_CORE_ORPHAN;
	core->n_orphans++;
	slu_core_account_init(&client->pinned, &core->pinned, client, NULL);
	slu_core_account_init(&client->pageable, &core->pageable, client, NULL);
	slu_core_account_init(&client->disk, &core->disk, client, NULL);
	TAILQ_INSERT_TAIL(&core->clients, client, link);
	LIST_INSERT_HEAD(&core->clients_by_id[id % SLU_CORE_BUCKETS], client, index_link);
	TAILQ_INSERT_TAIL(&group->members, client, member_link);
	core->n_clients++;
	*ret_client = client;
	return 0;
}

void slu_core_client_free(struct slu_core *core, struct slu_core_client *client)
{
	struct slu_core_group *group;

	if (!client)
		return;
	group = client->group;
	for (unsigned i = 0; i < client->n_seats; i++) {
		slu_core_account_deinit(&client->seats[i].account);
		slu_core_capacity_departed(&core->devices[client->seats[i].device]->capacity,
					   core->now_ns);
	}
	slu_core_staging_note(core, client, true);
	slu_core_account_deinit(&client->pinned);
	slu_core_account_deinit(&client->pageable);
	slu_core_account_deinit(&client->disk);
	TAILQ_REMOVE(&core->clients, client, link);
	LIST_REMOVE(client, index_link);
	TAILQ_REMOVE(&group->members, client, member_link);
	core->n_clients--;
	core->n_orphans -= client->standing == SLU_CORE_ORPHAN;
	slu_core_user_give(core, client->user);
	free(client);
	if (TAILQ_EMPTY(&group->members))
		slu_core_group_free(core, group);
}

void slu_core_client_seat(struct slu_core *core, struct slu_core_client *client, unsigned n,
			  const unsigned *devices)
{
	assert(n <= SLU_WIRE_DEVICES_MAX);
	for (unsigned i = 0; i < client->n_seats; i++)
		slu_core_account_deinit(&client->seats[i].account);
	client->n_seats = n;
	for (unsigned i = 0; i < n; i++) {
		struct slu_core_seat *seat = &client->seats[i];

		assert(devices[i] < core->n_devices);
		*seat = (struct slu_core_seat){ .device = devices[i], .place = (uint8_t)i };
		slu_core_account_init(&seat->account, &core->devices[devices[i]]->capacity, client,
				      seat);
	}
}

void slu_core_client_rename(struct slu_core_client *client, const char *name)
{
	snprintf(client->name, sizeof(client->name), "%s", name && *name ? name : "a program");
}
