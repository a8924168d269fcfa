/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A part of core.h: clients that join, join again, are in the roster, lose their connection, die.
 *
 * Credit dies with the connection (rule 31): whatever was sent before, after HELLO the limit is
 * what is held. A turn that a client reports is adopted if it does no harm, else closed; so after a
 * restart the programs that ran go on, and no program waits for a turn that the core does not know.
 */

#include <errno.h>

#include "base/error.h"
#include "base/util.h"
#include "core/credit/staging.h"
#include "core/fit/plan.h"
#include "core/group.h"
#include "core/sched/admit.h"
#include "core/sched/quota.h"
#include "core/sched/turns.h"
#include "core/send.h"
#include "core/state.h"

static bool devices_are_valid(const struct slu_core *core, unsigned n, const unsigned *devices)
{
	if (n > SLU_WIRE_DEVICES_MAX)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (devices[i] >= core->n_devices)
			return false;
		for (unsigned j = 0; j < i; j++)
			if (devices[j] == devices[i])
				return false;
	}
	return true;
}

/* The process is the same, but its group changed. */
static void client_regroup(struct slu_core *core, struct slu_core_client *client, uint64_t group_id)
{
	struct slu_core_group *from = client->group, *to;

	if (from->id == group_id)
		return;
	TAILQ_REMOVE(&from->members, client, member_link);
	/* before a new group is needed: there are exactly as many groups as clients */
	if (TAILQ_EMPTY(&from->members))
		slu_core_group_free(core, from);
	else
		slu_core_turns_update(core, from);
	to = slu_core_group_find(core, group_id);
	if (!to)
		to = slu_core_group_new(core, group_id);
	TAILQ_INSERT_TAIL(&to->members, client, member_link);
	client->group = to;
}

/* The first member sets the priority; others can only raise it to HIGH. */
static enum slu_core_priority group_priority(const struct slu_core_group *group)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		if (client->priority == SLU_CORE_PRIORITY_HIGH)
			return SLU_CORE_PRIORITY_HIGH;
	return TAILQ_FIRST(&group->members)->priority;
}

static uint64_t group_expect_ns(const struct slu_core_group *group)
{
	const struct slu_core_client *client;
	uint64_t longest_ns = 0;

	TAILQ_FOREACH (client, &group->members, member_link)
		longest_ns = SLU_MAX(longest_ns, client->expect_ns);
	return longest_ns;
}

/* The policy begins again with a group about which something else is said. */
static void client_steer(struct slu_core *core, struct slu_core_client *client,
			 enum slu_core_priority priority, uint64_t expect_ns)
{
	struct slu_core_group *group = client->group;

	client->priority = priority;
	client->expect_ns = expect_ns;
	if (group->priority == group_priority(group) && group->expect_ns == group_expect_ns(group))
		return;
	slu_core_group_count(core, group);
	group->priority = group_priority(group);
	group->expect_ns = group_expect_ns(group);
	slu_core_group_begin(core, group);
}

void slu_core_steer(struct slu_core *core, uint64_t now_ns, uint64_t client_id,
		    enum slu_core_priority priority, uint64_t expect_ns)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);

	slu_core_set_now(core, now_ns);
	if (client)
		client_steer(core, client, priority, expect_ns);
}

/* What the core knew of a client before HELLO. */
struct before {
	bool is_orphan;
	unsigned n;
	struct {
		unsigned device;
		uint64_t charge_bytes;
		struct slu_epoch epoch;
	} seats[SLU_WIRE_DEVICES_MAX];
};

static void client_remember(const struct slu_core_client *client, bool is_new,
			    struct before *ret_before)
{
	*ret_before = (struct before){
		.is_orphan = !is_new && client->standing == SLU_CORE_ORPHAN,
		.n = client->n_seats,
	};
	for (unsigned i = 0; i < client->n_seats; i++) {
		ret_before->seats[i].device = client->seats[i].device;
		ret_before->seats[i].charge_bytes = client->seats[i].account.charge_bytes;
		ret_before->seats[i].epoch = client->seats[i].epoch;
	}
}

static uint64_t charge_before(const struct before *before, unsigned device)
{
	for (unsigned i = 0; i < before->n; i++)
		if (before->seats[i].device == device)
			return before->seats[i].charge_bytes;
	return 0;
}

/* An orphan's turn came from the last daemon: unknown here, and it cannot be given twice. */
static bool turn_was_given(const struct before *before, unsigned device, struct slu_epoch epoch)
{
	for (unsigned i = 0; i < before->n; i++)
		if (before->seats[i].device == device &&
		    slu_epoch_equal(before->seats[i].epoch, epoch))
			return true;
	return before->is_orphan;
}

static void accounts_question(struct slu_core_client *client, const struct before *before)
{
	for (unsigned i = 0; i < client->n_seats; i++)
		slu_core_account_question(&client->seats[i].account,
					  charge_before(before, client->seats[i].device));
	slu_core_account_question(&client->pinned, client->pinned.charge_bytes);
	slu_core_account_question(&client->pageable, client->pageable.charge_bytes);
	slu_core_account_question(&client->disk, client->disk.charge_bytes);
}

static void take_seats(struct slu_core *core, struct slu_core_client *client,
		       const struct slu_core_join *join, const struct before *before)
{
	const struct slu_msg_hello *hello = join->hello;

	slu_core_client_seat(core, client, hello->n_devices, join->devices);
	if (join->is_checked)
		accounts_question(client, before);
	client->never_pins = hello->n_devices > 0;
	client->pins_copies = false;
	for (unsigned i = 0; i < client->n_seats; i++) {
		const struct slu_hello_device *reported = &hello->devices[i];
		struct slu_core_seat *seat = &client->seats[i];

		seat->mode = (enum slu_mode)reported->mode;
		seat->maps_if_larger = join->maps_if_larger && seat->mode == SLU_MODE_MAPPED;
		core->has_mappers |= seat->maps_if_larger;
		client->never_pins &= reported->never_pins != 0;
		client->pins_copies |= reported->pins_copies != 0;
		slu_core_account_report(&seat->account, reported->held_bytes,
					reported->floor_bytes);
		slu_core_seat_want(seat, core->now_ns,
				   &(struct slu_msg_want){
					   .account = { SLU_TIER_DEVICE, (uint8_t)i },
					   .is_runnable = reported->is_runnable,
					   .min_bytes = reported->min_bytes,
					   .all_bytes = reported->all_bytes,
					   .working_bytes = reported->working_bytes,
					   .largest_bytes = reported->largest_bytes,
				   });
		slu_core_seat_holds(seat, core->now_ns);
	}
	slu_core_account_report(&client->pinned, hello->pinned_held_bytes, 0);
	slu_core_account_report(&client->pageable, hello->pageable_held_bytes, 0);
	slu_core_account_report(&client->disk, hello->disk_held_bytes, 0);
	client->bounds = join->bounds;
	client->has_disk = hello->version >= 2;
	client->disk_refused_ns = 0;
	client->staging_bytes = 0;
	client->pin_refused_ns = client->pin_vain_ns = 0;
	client->pinned_goal_bytes = 0;
	client->backing_want_bytes = 0;
}

/* Whether a turn reported by HELLO may go on: no other group has one there, or both fit. */
static bool may_adopt(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_plan plan = { .groups = core->opened, .plus = group, .percent = 100 };
	bool is_beside = false;

	if (slu_core_group_is_held(group) || !slu_core_group_is_at_rest(group))
		return false;
	slu_core_plan_refresh(core);
	slu_core_admit_collect_open(core);
	plan.n_groups = core->n_opened;
	for (size_t i = 0; i < core->n_opened; i++)
		is_beside |= slu_core_group_shares(core->opened[i], group);
	return !is_beside || !slu_core_plan_make(core, &plan, NULL);
}

/* A turn that this core did not give must end; no group waits for that. */
static void turn_disown(struct slu_core *core, struct slu_core_client *client,
			struct slu_core_seat *seat, struct slu_epoch epoch)
{
	seat->epoch = epoch;
	slu_core_send_close(core, client, seat, "its turn was not given by this daemon");
	seat->epoch = (struct slu_epoch){};
}

static void take_turns(struct slu_core *core, struct slu_core_client *client,
		       const struct slu_core_join *join, const struct before *before)
{
	const struct slu_msg_hello *hello = join->hello;
	struct slu_core_group *group = client->group;

	for (unsigned i = 0; i < client->n_seats; i++) {
		const struct slu_hello_device *reported = &hello->devices[i];

		if (slu_epoch_is_none(reported->epoch))
			continue;
		if (join->is_checked &&
		    !turn_was_given(before, client->seats[i].device, reported->epoch)) {
			turn_disown(core, client, &client->seats[i], reported->epoch);
			continue;
		}
		if (may_adopt(core, group)) {
			group->epoch = reported->epoch;
			group->granted_ns = group->progress_ns = core->now_ns;
			group->stalled_ns = 0;
			group->is_adopted = true;
			group->n_turns++;
			slu_core_group_enter(core, group, SLU_CORE_FILLING);
			slu_core_report(core, client->id, "%s keeps the turn that it had",
					client->name);
		}
		slu_core_turns_resume(core, client, &client->seats[i], reported->epoch,
				      reported->gate_is_open);
	}
}

int slu_core_hello(struct slu_core *core, uint64_t now_ns, const struct slu_core_join *join)
{
	struct slu_core_client *client = slu_core_client_find(core, join->client);
	bool is_new = !client;
	struct before before;
	int r;

	slu_core_set_now(core, now_ns);
	if (!join->group || !devices_are_valid(core, join->hello->n_devices, join->devices))
		return slu_error(-EINVAL);
	r = slu_core_quota_reserve(core, &join->bounds);
	if (r)
		return slu_fold(r);
	if (client) {
		client_regroup(core, client, join->group);
	} else {
		r = slu_core_client_new(core, join->client, join->group, join->user, &client);
		if (r)
			return slu_fold(r);
	}
	slu_core_queue_forget(&core->queue, client->id);
	slu_core_client_rename(client, join->name);
	client_remember(client, is_new, &before);
	core->n_orphans -= client->standing == SLU_CORE_ORPHAN;
	client->standing = SLU_CORE_JOINED;
	client_steer(core, client, join->priority, join->expect_ns);
	take_seats(core, client, join, &before);
	take_turns(core, client, join, &before);
	slu_core_staging_note(core, client, false);
	slu_core_turns_update(core, client->group);
	slu_core_send_roster(core, client);
	return 0;
}

void slu_core_confirm(struct slu_core *core, uint64_t now_ns, uint64_t client_id, unsigned place,
		      uint64_t bytes)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);
	struct slu_core_account *account;

	slu_core_set_now(core, now_ns);
	if (!client || place >= client->n_seats)
		return;
	account = &client->seats[place].account;
	slu_core_account_confirm(account, bytes,
				 !slu_core_client_is_joined(client) || client->group->is_stuck ||
					 slu_core_is_silent(core, account));
	slu_core_send_roster(core, client);
}

int slu_core_orphan(struct slu_core *core, uint64_t now_ns, const struct slu_core_orphan *orphan)
{
	struct slu_core_client *client;
	int r;

	slu_core_set_now(core, now_ns);
	if (!orphan->group || !devices_are_valid(core, orphan->n_devices, orphan->devices))
		return slu_error(-EINVAL);
	if (slu_core_client_find(core, orphan->client))
		return slu_error(-EEXIST);
	r = slu_core_quota_reserve(core, &orphan->bounds);
	if (r)
		return slu_fold(r);
	r = slu_core_client_new(core, orphan->client, orphan->group, orphan->user, &client);
	if (r)
		return slu_fold(r);
	slu_core_client_rename(client, orphan->name);
	slu_core_client_seat(core, client, orphan->n_devices, orphan->devices);
	for (unsigned i = 0; i < client->n_seats; i++)
		slu_core_account_orphan(&client->seats[i].account, orphan->device_bytes[i]);
	slu_core_account_orphan(&client->pinned, orphan->pinned_bytes);
	slu_core_account_orphan(&client->pageable, orphan->backing_bytes);
	slu_core_account_orphan(&client->disk, orphan->disk_bytes);
	client->bounds = orphan->bounds;
	return 0;
}

void slu_core_lost(struct slu_core *core, uint64_t now_ns, uint64_t client_id)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);

	slu_core_set_now(core, now_ns);
	if (!client || !slu_core_client_is_joined(client))
		return;
	slu_core_queue_forget(&core->queue, client->id);
	client->standing = SLU_CORE_LOST;
	slu_core_staging_note(core, client, false);
	client->backing_want_bytes = 0;
	for (unsigned i = 0; i < client->n_seats; i++)
		slu_core_account_void(&client->seats[i].account);
	slu_core_account_void(&client->pinned);
	slu_core_account_void(&client->pageable);
	slu_core_account_void(&client->disk);
	slu_core_turns_update(core, client->group);
	slu_core_report(core, client->id, "the connection of %s is lost; it keeps what it holds",
			client->name);
}

void slu_core_dead(struct slu_core *core, uint64_t now_ns, uint64_t client_id)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);
	struct slu_core_group *group;
	uint64_t group_id;

	slu_core_set_now(core, now_ns);
	if (!client)
		return;
	group_id = client->group->id;
	if (slu_core_group_is_single(client->group))
		slu_core_group_end(core, client->group);
	slu_core_queue_forget(&core->queue, client->id);
	(void)slu_core_queue_push(&core->queue, SLU_CORE_ROSTER_DROP, client->id, "%s has ended",
				  client->name);
	slu_core_client_free(core, client);
	group = slu_core_group_find(core, group_id);
	if (group)
		slu_core_turns_update(core, group);
}

void slu_core_bound(struct slu_core *core, uint64_t now_ns, uint64_t client_id,
		    const struct slu_core_bounds *bounds)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);

	slu_core_set_now(core, now_ns);
	if (client)
		client->bounds = *bounds;
	/* without memory for the account the quota counts from the next time on */
	(void)slu_core_quota_reserve(core, bounds);
}
