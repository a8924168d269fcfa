/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/sharing.h"

#include <stdio.h>

#include "base/size.h"
#include "base/util.h"
#include "core/fit/plan.h"
#include "core/group.h"
#include "core/sched/expiry.h"

static uint64_t needs_bytes(const struct slu_core_client *client, const struct slu_core_seat *seat)
{
	uint64_t beside_bytes = slu_core_seat_beside_bytes(seat);

	return slu_core_client_is_joined(client) ? SLU_MAX(beside_bytes, seat->account.floor_bytes)
						 : seat->account.charge_bytes;
}

static bool device_fits(const struct slu_core *core, unsigned device)
{
	const struct slu_core_client *client;
	uint64_t bytes = 0;

	TAILQ_FOREACH (client, &core->clients, link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].device == device)
				bytes += needs_bytes(client, &client->seats[i]);
	return bytes <= slu_core_plan_device_bytes(core, device);
}

static size_t n_groups(const struct slu_core *core, unsigned device)
{
	const struct slu_core_group *group;
	size_t n = 0;

	TAILQ_FOREACH (group, &core->groups, link)
		n += slu_core_group_uses(group, device);
	return n;
}

/* The first group in the timeline of the device that waits for its turn, or NULL. */
static const struct slu_core_group *device_waiter(const struct slu_core *core, unsigned device)
{
	const struct slu_core_group *group, *first = NULL;

	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->state == SLU_CORE_WAITING && !slu_core_group_is_held(group) &&
		    group->why.kind != SLU_CORE_WHY_STALL && slu_core_group_uses(group, device) &&
		    (!first || group->place < first->place))
			first = group;
	return first;
}

const struct slu_core_group *slu_core_sharing_holder(const struct slu_core *core, unsigned device)
{
	const struct slu_core_group *group, *oldest = NULL;

	TAILQ_FOREACH (group, &core->active, state_link)
		if (!slu_core_group_is_at_rest(group) && slu_core_group_uses(group, device) &&
		    (!oldest || group->granted_ns < oldest->granted_ns))
			oldest = group;
	return oldest;
}

const struct slu_core_group *slu_core_sharing_awaited(const struct slu_core *core,
						      const struct slu_core_group *group)
{
	const struct slu_core_group *other, *oldest = NULL;

	TAILQ_FOREACH (other, &core->groups, link)
		if (other != group && !slu_core_group_is_at_rest(other) &&
		    slu_core_group_shares(other, group) &&
		    (!oldest || other->granted_ns < oldest->granted_ns))
			oldest = other;
	return oldest;
}

bool slu_core_sharing_has_turns(const struct slu_core *core, unsigned device)
{
	return n_groups(core, device) > 1 &&
	       (device_waiter(core, device) || !device_fits(core, device));
}

static bool lacks_memory(const struct slu_core_group *group)
{
	return group->why.kind == SLU_CORE_WHY_BYTES || group->why.kind == SLU_CORE_WHY_CAPACITY ||
	       group->why.kind == SLU_CORE_WHY_PINNED;
}

/* Why a turn that is long enough to end for @asker goes on. */
static void describe_length(const struct slu_core *core, const struct slu_core_group *group,
			    const struct slu_core_group *asker, char *ret_text, size_t size)
{
	uint64_t length_ns = core->policy->length_ns(group, &core->config);
	char span[SLU_SIZE_STRING_MAX];

	if (slu_core_expiry_ns(core, group, asker) == SLU_CORE_NEVER)
		snprintf(ret_text, size, "longer than slice: %s", core->policy->endless);
	else if (length_ns <= core->config.slice_ns)
		ret_text[0] = '\0';
	else if (length_ns / SLU_MAX(core->config.slice_min_switches, 1u) <= group->switch_ns)
		snprintf(ret_text, size,
			 "longer than slice: %llu switches at least, and this one took %s",
			 (unsigned long long)core->config.slice_min_switches,
			 slu_size_format_time(span, group->switch_ns));
	else
		snprintf(ret_text, size, "longer than slice: %s at level %u",
			 slu_size_format_time(span, length_ns), group->level);
}

void slu_core_sharing_describe(const struct slu_core *core, unsigned device, char *ret_text,
			       size_t size)
{
	const struct slu_core_group *asker = device_waiter(core, device),
				    *group = slu_core_sharing_holder(core, device);

	ret_text[0] = '\0';
	if (!asker && n_groups(core, device) && device_fits(core, device)) {
		snprintf(ret_text, size, "everything fits, no turns needed");
		return;
	}
	if (!group || n_groups(core, device) < 2)
		return;
	if (group->state == SLU_CORE_DRAINING)
		snprintf(ret_text, size, "draining: it finishes what it has launched");
	else if (group->state != SLU_CORE_RUNNING ||
		 core->now_ns - group->running_ns <= core->config.slice_ns)
		return;
	else if (!asker)
		snprintf(ret_text, size, "longer than slice: no other program wants the device");
	else if (lacks_memory(asker))
		snprintf(ret_text, size,
			 "longer than slice: the waiting programs lack memory, not the turn");
	else
		describe_length(core, group, asker, ret_text, size);
}
