/* SPDX-License-Identifier: Apache-2.0 */

/* A part of core.h: the present state of the core for people, and why a group waits, in words. */

#include <assert.h>
#include <stdio.h>

#include "base/size.h"
#include "base/util.h"
#include "core/group.h"
#include "core/sched/quota.h"
#include "core/sched/sharing.h"
#include "core/state.h"

bool slu_core_has_turn(const struct slu_core *core, uint64_t client_id, unsigned place)
{
	const struct slu_core_client *client = slu_core_client_find(core, client_id);

	return client && place < client->n_seats &&
	       client->seats[place].phase != SLU_CORE_PHASE_NONE;
}

static const char *const state_names[_SLU_CORE_STATE_MAX] = {
	[SLU_CORE_IDLE] = "idle",	  [SLU_CORE_WAITING] = "waiting",
	[SLU_CORE_FILLING] = "filling",	  [SLU_CORE_RUNNING] = "running",
	[SLU_CORE_DRAINING] = "draining",
};

const char *slu_core_state_name(enum slu_core_state state)
{
	return (unsigned)state < _SLU_CORE_STATE_MAX ? state_names[state] : "?";
}

void slu_core_view_backing(const struct slu_core *core, struct slu_core_budget_view *ret_memory,
			   struct slu_core_budget_view *ret_disk)
{
	*ret_memory = (struct slu_core_budget_view){ core->pageable.usable_bytes,
						     core->pageable.charge_bytes };
	*ret_disk =
		(struct slu_core_budget_view){ core->disk.usable_bytes, core->disk.charge_bytes };
}

void slu_core_view_device(const struct slu_core *core, unsigned number,
			  struct slu_core_device_view *ret_view)
{
	const struct slu_core_group *holder = slu_core_sharing_holder(core, number);
	const struct slu_core_device *device;

	assert(number < core->n_devices);
	device = core->devices[number];
	*ret_view = (struct slu_core_device_view){
		.name = device->name,
		.usable_bytes = device->capacity.usable_bytes,
		.estimate_bytes = slu_core_capacity_bytes(&device->capacity),
		.outsider_bytes = device->capacity.outsider_bytes,
		.overhead_bytes = device->capacity.overhead_bytes,
		.charge_bytes = device->capacity.charge_bytes,
		.n_refusals = device->capacity.n_refusals,
		.holder = holder ? holder->id : 0,
		.has_turns = slu_core_sharing_has_turns(core, number),
	};
	slu_core_sharing_describe(core, number, ret_view->sharing, sizeof(ret_view->sharing));
}

uint64_t slu_core_view_elsewhere_bytes(const struct slu_core *core, unsigned device)
{
	const struct slu_core_capacity *capacity = &core->devices[device]->capacity;

	return capacity->outsider_bytes + capacity->overhead_bytes;
}

static struct slu_core_account_view view_account(const struct slu_core_account *account)
{
	return (struct slu_core_account_view){
		.limit_bytes = account->limit_bytes,
		.charge_bytes = account->charge_bytes,
		.held_bytes = account->held_bytes,
		.floor_bytes = account->floor_bytes,
		.goal_bytes = account->goal_bytes,
		.is_pending = account->is_pending,
	};
}

static void client_view(const struct slu_core_client *client, struct slu_core_client_view *ret_view)
{
	*ret_view = (struct slu_core_client_view){
		.client = client->id,
		.group = client->group->id,
		.name = client->name,
		.is_orphan = client->standing == SLU_CORE_ORPHAN,
		.is_lost = client->standing == SLU_CORE_LOST,
		.is_silent = client->pinned.is_reported_silent ||
			     client->pageable.is_reported_silent || client->disk.is_reported_silent,
		.n_devices = client->n_seats,
		.pinned = view_account(&client->pinned),
		.pageable = view_account(&client->pageable),
		.disk = view_account(&client->disk),
	};
	for (unsigned i = 0; i < client->n_seats; i++) {
		const struct slu_core_seat *seat = &client->seats[i];

		ret_view->is_silent |= seat->account.is_reported_silent;
		ret_view->devices[i] = seat->device;
		ret_view->modes[i] = seat->mode;
		ret_view->device_accounts[i] = view_account(&seat->account);
		ret_view->wants[i] = seat->want;
		ret_view->facts[i] = seat->facts;
	}
}

/* A cursor is 0 at the beginning, then the next record, and this at the end. */
#define CURSOR_END 1

bool slu_core_view_client(const struct slu_core *core, size_t *cursor,
			  struct slu_core_client_view *ret_view)
{
	const struct slu_core_client *client =
		*cursor ? (const struct slu_core_client *)*cursor : TAILQ_FIRST(&core->clients);

	if (!client || *cursor == CURSOR_END)
		return false;
	client_view(client, ret_view);
	client = TAILQ_NEXT(client, link);
	*cursor = client ? (size_t)client : CURSOR_END;
	return true;
}

bool slu_core_view_client_of(const struct slu_core *core, uint64_t id,
			     struct slu_core_client_view *ret_view)
{
	const struct slu_core_client *client = slu_core_client_find(core, id);

	if (client)
		client_view(client, ret_view);
	return client != NULL;
}

/* How long a member has left a LIMIT unanswered; 0: no member is silent. */
static uint64_t silence_ns(const struct slu_core *core, const struct slu_core_group *group)
{
	const struct slu_core_client *client;
	uint64_t longest = 0;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			const struct slu_core_account *account = &client->seats[i].account;

			if (account->is_reported_silent)
				longest = SLU_MAX(longest, core->now_ns - account->sent_ns);
		}
	return longest;
}

/* What the keeper of the bytes is doing, as the end of a sentence. */
static void describe_keeper(const struct slu_core *core, uint64_t id, char *buf, size_t size)
{
	const struct slu_core_group *group = id ? slu_core_group_find(core, id) : NULL;
	char span[SLU_SIZE_STRING_MAX];
	const struct slu_core_client *first;

	buf[0] = '\0';
	if (!group)
		return;
	first = TAILQ_FIRST(&group->members);
	if (group->is_stuck)
		snprintf(buf, size, "; stuck: %s has not answered for %s",
			 slu_core_group_name(group),
			 slu_size_format_time(span, core->now_ns - group->since_ns));
	else if (group->state == SLU_CORE_DRAINING)
		snprintf(buf, size, "; %s is finishing a launch", slu_core_group_name(group));
	else if (silence_ns(core, group))
		snprintf(buf, size, "; silent: %s has not answered for %s",
			 slu_core_group_name(group),
			 slu_size_format_time(span, silence_ns(core, group)));
	else if (group->stall_ns != SLU_CORE_NEVER)
		snprintf(buf, size, "; stuck: %s has moved nothing for %s",
			 slu_core_group_name(group),
			 slu_size_format_time(span, core->now_ns - group->stall_ns));
	else if (!slu_core_client_is_joined(first))
		snprintf(buf, size, "; %s is not back yet", first->name);
	else
		snprintf(buf, size, "; %s keeps bytes that cannot move now",
			 slu_core_group_name(group));
}

/* Held bytes may still be on their way; the program reports what has arrived. */
static void describe_fill(const struct slu_core_group *group, char *buf, size_t size)
{
	const struct slu_core_client *client;
	char arrived[SLU_SIZE_STRING_MAX], need[SLU_SIZE_STRING_MAX];
	uint64_t arrived_bytes = 0, need_bytes = 0;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			const struct slu_core_seat *seat = &client->seats[i];

			arrived_bytes += SLU_MIN(seat->facts.device_bytes, seat->need_bytes);
			need_bytes += seat->need_bytes;
		}
	snprintf(buf, size, "its bytes are coming in: %s of %s",
		 slu_size_format(arrived, arrived_bytes), slu_size_format(need, need_bytes));
}

static void why_describe(const struct slu_core *core, const struct slu_core_group *group, char *buf,
			 size_t size)
{
	const struct slu_core_why *why = &group->why;
	const struct slu_core_group *other =
		why->other ? slu_core_group_find(core, why->other) : NULL;
	const char *name = other ? slu_core_group_name(other) : "somebody";
	char need[SLU_SIZE_STRING_MAX], free_text[SLU_SIZE_STRING_MAX], end[SLU_CORE_REASON_MAX];

	buf[0] = '\0';
	slu_size_format(need, why->need_bytes);
	slu_size_format(free_text, why->free_bytes);
	if (group->is_parked) {
		snprintf(buf, size, "parked");
		return;
	}
	if (group->is_over_quota && group->state == SLU_CORE_WAITING) {
		slu_core_quota_describe(core, group, buf, size);
		return;
	}
	if (group->stall_ns != SLU_CORE_NEVER && group->state != SLU_CORE_RUNNING) {
		snprintf(buf, size, "it should move bytes and has moved none for %s",
			 slu_size_format_time(end, core->now_ns - group->stall_ns));
		return;
	}
	if (group->state == SLU_CORE_FILLING) {
		describe_fill(group, buf, size);
		return;
	}
	if (group->is_stuck) {
		snprintf(buf, size, "has not answered for %s",
			 slu_size_format_time(end, core->now_ns - group->since_ns));
		return;
	}
	switch (why->kind) {
	case SLU_CORE_WHY_NOTHING:
	case SLU_CORE_WHY_PARKED:
	case SLU_CORE_WHY_STALL:
		break;
	case SLU_CORE_WHY_GRACE:
		snprintf(buf, size, "for programs of the last daemon to come back");
		break;
	case SLU_CORE_WHY_TURN:
		/* the group of the decision may have ended since: programs share turns */
		other = slu_core_sharing_awaited(core, group);
		name = other ? slu_core_group_name(other) : name;
		snprintf(buf, size, "for %s's turn to end", name);
		break;
	case SLU_CORE_WHY_DRAIN:
		snprintf(buf, size, "for %s to finish a launch", name);
		break;
	case SLU_CORE_WHY_BEHIND:
		snprintf(buf, size, "behind %s, which is next", name);
		break;
	case SLU_CORE_WHY_BYTES:
		describe_keeper(core, why->other, end, sizeof(end));
		snprintf(buf, size, "needs %s, %s are free%s", need, free_text, end);
		break;
	case SLU_CORE_WHY_CAPACITY:
		snprintf(buf, size, "needs %s, the device has %s", need, free_text);
		break;
	case SLU_CORE_WHY_GROWER:
		snprintf(buf, size, "behind %s: both take memory that cannot move, one at a time",
			 name);
		break;
	case SLU_CORE_WHY_PINNED:
		snprintf(buf, size, "needs %s of pinned memory, %s are free", need, free_text);
		break;
	}
}

static void group_view(const struct slu_core *core, const struct slu_core_group *group,
		       struct slu_core_group_view *ret_view)
{
	uint64_t span = core->now_ns - group->since_ns;

	*ret_view = (struct slu_core_group_view){
		.group = group->id,
		.name = slu_core_group_name(group),
		.state = group->state,
		.epoch = group->epoch,
		.since_ns = group->since_ns,
		.is_stuck = group->is_stuck || group->stall_ns != SLU_CORE_NEVER,
		.is_idle = group->is_idle,
		.is_parked = group->is_parked,
		.is_over_quota = group->is_over_quota,
		.level = group->level,
		.expect_ns = group->expect_ns,
		.n_turns = group->n_turns,
		.ran_ns = group->ran_ns + (group->state == SLU_CORE_RUNNING ? span : 0),
		.used_ns = slu_core_group_used_ns(core, group),
		.waited_ns =
			group->waited_ns +
			(group->state == SLU_CORE_WAITING || group->state == SLU_CORE_FILLING ? span
											      : 0),
	};
	why_describe(core, group, ret_view->reason, sizeof(ret_view->reason));
}

bool slu_core_view_group(const struct slu_core *core, size_t *cursor,
			 struct slu_core_group_view *ret_view)
{
	const struct slu_core_group *group =
		*cursor ? (const struct slu_core_group *)*cursor : TAILQ_FIRST(&core->groups);

	if (!group || *cursor == CURSOR_END)
		return false;
	group_view(core, group, ret_view);
	group = TAILQ_NEXT(group, link);
	*cursor = group ? (size_t)group : CURSOR_END;
	return true;
}

bool slu_core_view_group_of(const struct slu_core *core, uint64_t id,
			    struct slu_core_group_view *ret_view)
{
	const struct slu_core_group *group = slu_core_group_find(core, id);

	if (group)
		group_view(core, group, ret_view);
	return group != NULL;
}

uint64_t slu_core_view_beyond_bytes(const struct slu_core *core)
{
	uint64_t bytes = core->pinned.usable_bytes;

	/* one unit more than is mapped must be free (rule 11) */
	return slu_sub_floor(bytes - bytes / 16, core->config.staging_bytes);
}
