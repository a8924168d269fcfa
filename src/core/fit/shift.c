/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fit/shift.h"

#include "base/size.h"
#include "base/util.h"
#include "core/credit/backing.h"
#include "core/group.h"
#include "core/send.h"
#include "core/timeline.h"

/* The host memory that the next group still lacks after it got all that is free. */
static uint64_t raise_next(struct slu_core *core, struct slu_core_client *client)
{
	struct slu_core_account *backing = &client->pageable;
	uint64_t target = backing->held_bytes + client->disk.held_bytes;
	uint64_t limit;

	if (!slu_core_client_is_joined(client) || !client->disk.held_bytes || backing->is_pending)
		return 0;
	limit = SLU_MIN(target, slu_core_backing_most_bytes(core, client));
	limit = SLU_MAX(limit, backing->limit_bytes);
	if (limit > backing->limit_bytes ||
	    (backing->pace != SLU_PACE_AHEAD && slu_core_account_slack_bytes(backing)))
		slu_core_send_raise(core, backing, limit, target, SLU_PACE_AHEAD,
				    "%s is next: its bytes come up from disk", client->name);
	return slu_sub_floor(target, limit);
}

/* The bytes that lowerings on their way will free. */
static uint64_t coming_bytes(const struct slu_core *core)
{
	const struct slu_core_account *backing;
	uint64_t bytes = 0;

	TAILQ_FOREACH (backing, &core->pageable.charged, charged_link)
		if (slu_core_client_is_joined(backing->client) && !backing->is_final)
			bytes += backing->charge_bytes - backing->limit_bytes;
	return bytes;
}

static bool may_go_down(struct slu_core *core, const struct slu_core_client *client)
{
	const struct slu_core_group *group = client->group;

	if (!slu_core_client_is_joined(client) || !client->has_disk ||
	    client->pageable.is_pending || client->disk.is_pending || client->pageable.is_final ||
	    !client->pageable.limit_bytes)
		return false;
	if (client->is_passed_over || !slu_core_group_is_at_rest(group) || group->is_next)
		return false;
	return !client->pageable.raised_ns ||
	       slu_core_is_due(core, slu_core_after(client->pageable.raised_ns,
						    core->config.round_trip_ns));
}

/* Whether @a runs later than @b, so that its backing goes first. */
static bool goes_before(const struct slu_core_client *a, const struct slu_core_client *b)
{
	return slu_core_timeline_place(a->group) > slu_core_timeline_place(b->group);
}

static struct slu_core_client *find_victim(struct slu_core *core)
{
	struct slu_core_client *client, *best = NULL;

	TAILQ_FOREACH (client, &core->clients, link)
		if (may_go_down(core, client) && (!best || goes_before(client, best)))
			best = client;
	return best;
}

static uint64_t largest_bytes(const struct slu_core_client *client)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < client->n_seats; i++)
		bytes = SLU_MAX(bytes, client->seats[i].want.largest_bytes);
	return bytes;
}

/*
 * Lowers the host memory of @client by at most @bytes and grants disk for what it holds of them.
 * Units move as a whole, so the grant on disk is larger by one unit (rule 11). Return: by how much
 * it was lowered.
 */
static uint64_t send_down(struct slu_core *core, struct slu_core_client *client, uint64_t bytes)
{
	struct slu_core_account *backing = &client->pageable, *disk = &client->disk;
	uint64_t slack = slu_core_account_slack_bytes(backing);
	uint64_t most = slu_sub_floor(slu_core_backing_most_disk_bytes(core, client),
				      disk->held_bytes + largest_bytes(client));
	uint64_t limit;
	char size[SLU_SIZE_STRING_MAX];

	bytes = SLU_MIN(bytes, backing->limit_bytes);
	bytes = SLU_MIN(bytes, slack + most);
	if (!bytes)
		return 0;
	if (bytes > slack) {
		limit = disk->held_bytes + largest_bytes(client) + bytes - slack;
		if (limit > disk->limit_bytes)
			slu_core_send_raise(core, disk, limit, limit, SLU_PACE_NONE,
					    "%s runs later: bytes on disk", client->name);
	}
	slu_core_send_lower(core, backing, backing->limit_bytes - bytes,
			    "%s runs later: %s of its host memory are for others", client->name,
			    slu_size_format(size, bytes));
	return bytes;
}

void slu_core_shift(struct slu_core *core)
{
	int64_t free_bytes = slu_core_capacity_free_bytes(&core->pageable);
	uint64_t lack = free_bytes < 0 ? (uint64_t)-free_bytes : 0;
	struct slu_core_client *client;

	if (!core->disk.usable_bytes)
		return;
	for (size_t i = 0; i < core->n_waiting; i++)
		TAILQ_FOREACH (client, &core->waiting[i]->members, member_link)
			lack += core->waiting[i]->is_next ? raise_next(core, client) : 0;
	if (!lack)
		return;
	TAILQ_FOREACH (client, &core->clients, link)
		client->is_passed_over = false;
	lack = slu_sub_floor(lack, coming_bytes(core));
	while (lack && (client = find_victim(core))) {
		lack -= send_down(core, client, lack);
		client->is_passed_over = true;
	}
}
