/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fit/pinned.h"

#include "base/size.h"
#include "base/util.h"
#include "core/group.h"
#include "core/send.h"
#include "core/timeline.h"

#define RESTED_NS  (10 * SLU_NS_PER_S) /* after this rest copies go to others */
#define REFUSED_NS (10 * SLU_NS_PER_S) /* how long a refusal by the driver stops grants */

/* Whether programs take turns there: together they have more than the device holds. */
static bool is_contested(const struct slu_core *core, unsigned device)
{
	const struct slu_core_capacity *capacity = &core->devices[device]->capacity;
	const struct slu_core_account *account;
	const struct slu_core_group *first = NULL;

	if (capacity->wanted_bytes <= slu_core_capacity_bytes(capacity))
		return false;
	TAILQ_FOREACH (account, &capacity->accounts, link) {
		if (!account->seat->want.all_bytes)
			continue;
		if (first && first != account->client->group)
			return true;
		first = account->client->group;
	}
	return false;
}

/* The host copies of a client that are worth pinning. Memory that cannot move has none. */
static uint64_t copies_bytes(const struct slu_core *core, const struct slu_core_client *client)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < client->n_seats; i++) {
		const struct slu_core_seat *seat = &client->seats[i];

		if (seat->mode != SLU_MODE_LAUNCH && core->devices[seat->device]->is_contested)
			bytes += slu_sub_floor(seat->want.min_bytes,
					       slu_core_seat_unmovable_bytes(seat));
	}
	return bytes;
}

/* Pinned bytes of the client for other uses than copies. */
static uint64_t others_bytes(const struct slu_core_client *client)
{
	return SLU_MAX(client->staging_bytes, client->pinned_goal_bytes);
}

static bool has_rested(struct slu_core *core, const struct slu_core_group *group)
{
	return group->is_parked ||
	       (group->state == SLU_CORE_IDLE &&
		slu_core_is_due(core, slu_core_after(group->since_ns, RESTED_NS)));
}

static bool may_get(struct slu_core *core, const struct slu_core_client *client)
{
	const struct slu_core_account *account = &client->pinned;

	if (!slu_core_client_is_joined(client) || !client->pins_copies || account->is_pending ||
	    !client->staging_bytes || has_rested(core, client->group))
		return false;
	return !client->pin_refused_ns ||
	       slu_core_is_due(core, slu_core_after(client->pin_refused_ns, REFUSED_NS));
}

static bool may_give(const struct slu_core_client *client)
{
	return slu_core_client_is_joined(client) && client->pins_copies &&
	       !client->pinned.is_pending && !client->pinned.is_stalled &&
	       client->pinned.limit_bytes > others_bytes(client);
}

/* What staging lacks because of copies. */
static uint64_t staging_lack(const struct slu_core *core)
{
	return core->n_unstaged * core->config.staging_bytes;
}

/* What open groups still lack for MAPPED. */
static uint64_t mapped_lack(const struct slu_core *core)
{
	const struct slu_core_client *client;
	uint64_t bytes = 0;

	for (size_t i = 0; i < core->n_opened; i++)
		TAILQ_FOREACH (client, &core->opened[i]->members, member_link)
			if (slu_core_client_is_joined(client))
				bytes += slu_sub_floor(client->pinned_goal_bytes,
						       client->pinned.limit_bytes);
	return bytes;
}

/* The bytes that lowerings on their way will free. */
static uint64_t coming_bytes(struct slu_core *core)
{
	const struct slu_core_account *account;
	uint64_t bytes = 0;

	TAILQ_FOREACH (account, &core->pinned.charged, charged_link)
		if (slu_core_client_is_joined(account->client) && !account->is_final &&
		    !account->is_stalled && !slu_core_is_silent(core, account))
			bytes += account->charge_bytes - account->limit_bytes;
	return bytes;
}

/* Return: what is left of @spare_bytes. */
static uint64_t give(struct slu_core *core, struct slu_core_client *client, uint64_t spare_bytes)
{
	struct slu_core_account *account = &client->pinned;
	uint64_t target = others_bytes(client) + copies_bytes(core, client), limit, most;
	char size[SLU_SIZE_STRING_MAX];

	most = SLU_MIN(slu_core_account_most_bytes(account), account->limit_bytes + spare_bytes);
	limit = SLU_MIN(target, most);
	limit = SLU_MAX(limit, account->limit_bytes);
	if (limit == account->limit_bytes &&
	    (account->pace == SLU_PACE_AHEAD || !slu_core_account_slack_bytes(account) ||
	     limit <= others_bytes(client)))
		return spare_bytes;
	spare_bytes -= limit - account->limit_bytes;
	slu_core_send_raise(core, account, limit, limit, SLU_PACE_AHEAD,
			    "%s takes turns: %s of pinned memory for its copies", client->name,
			    slu_size_format(size, limit));
	return spare_bytes;
}

static void take_from(struct slu_core *core, struct slu_core_client *client, uint64_t *lack_bytes)
{
	struct slu_core_account *account = &client->pinned;
	uint64_t bytes = account->limit_bytes - others_bytes(client);
	char size[SLU_SIZE_STRING_MAX];

	bytes = SLU_MIN(bytes, *lack_bytes);
	*lack_bytes -= bytes;
	slu_core_send_lower(core, account, account->limit_bytes - bytes,
			    "%s gives up %s of pinned copies for others", client->name,
			    slu_size_format(size, bytes));
}

/* The one whose bytes come and go last by the timeline; with @is_rested after a long rest. */
static struct slu_core_client *giver_choose(struct slu_core *core, bool is_rested)
{
	struct slu_core_account *account;
	struct slu_core_client *last = NULL;

	TAILQ_FOREACH (account, &core->pinned.charged, charged_link) {
		struct slu_core_client *client = account->client;

		if (may_give(client) && (!is_rested || has_rested(core, client->group)) &&
		    (!last || slu_core_timeline_place(client->group) >=
				      slu_core_timeline_place(last->group)))
			last = client;
	}
	return last;
}

static void take(struct slu_core *core, uint64_t lack_bytes, bool is_rested)
{
	struct slu_core_client *client;

	while (lack_bytes && (client = giver_choose(core, is_rested)))
		take_from(core, client, &lack_bytes);
}

/* Return: what the clients of @group still want; @spare_bytes becomes less by what they get. */
static uint64_t give_group(struct slu_core *core, struct slu_core_group *group,
			   uint64_t *spare_bytes)
{
	struct slu_core_client *client;
	uint64_t wanted = 0;

	TAILQ_FOREACH (client, &group->members, member_link) {
		if (!may_get(core, client))
			continue;
		*spare_bytes = give(core, client, *spare_bytes);
		wanted += slu_sub_floor(others_bytes(client) + copies_bytes(core, client),
					client->pinned.limit_bytes);
	}
	return wanted;
}

/*
 * In the order in which their bytes come and go; not to groups that rested for long.
 *
 * Return: what clients still want.
 */
static uint64_t give_all(struct slu_core *core, uint64_t spare_bytes)
{
	struct slu_core_group *group;
	uint64_t wanted = 0;

	for (size_t i = 0; i < core->n_timeline; i++)
		wanted += give_group(core, core->timeline[i].group, &spare_bytes);
	TAILQ_FOREACH (group, &core->idle, state_link) {
		if (core->now_ns >= slu_core_after(group->since_ns, RESTED_NS))
			break;
		wanted += give_group(core, group, &spare_bytes);
	}
	return wanted;
}

void slu_core_pinned(struct slu_core *core)
{
	int64_t free_bytes = slu_core_capacity_free_bytes(&core->pinned);
	uint64_t owed = staging_lack(core) + mapped_lack(core), coming = coming_bytes(core);
	uint64_t spare = slu_sub_floor(free_bytes > 0 ? (uint64_t)free_bytes : 0, owed), wanted;

	if (!core->pinned.usable_bytes)
		return;
	for (unsigned d = 0; d < core->n_devices; d++)
		core->devices[d]->is_contested = is_contested(core, d);
	wanted = give_all(core, spare);
	if (free_bytes < 0)
		return; /* the balance takes what is charged beyond the budget */
	take(core, slu_sub_floor(staging_lack(core), (uint64_t)free_bytes + coming), false);
	take(core, slu_sub_floor(wanted, coming), true);
}
