/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The step that decides: first the scheduler, then the accounts, and the actions that follow.
 * join.c has joining and leaving, message.c the messages, view.c what people see, check.c the
 * invariants.
 */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/util.h"
#include "core/fit/balance.h"
#include "core/fit/guess.h"
#include "core/fit/pinned.h"
#include "core/credit/backing.h"
#include "core/fit/shift.h"
#include "core/fit/shortage.h"
#include "core/credit/staging.h"
#include "core/group.h"
#include "core/sched/admit.h"
#include "core/sched/quota.h"
#include "core/sched/turns.h"
#include "core/sched/policy.h"
#include "core/send.h"
#include "core/state.h"
#include "core/timeline.h"
#include "core/user.h"

void slu_core_config_default(struct slu_core_config *config)
{
	*config = (struct slu_core_config){
		.policy = SLU_CORE_POLICY_DEFAULT,
		.generation = 1,
		.slice_ns = 4 * SLU_NS_PER_S,
		.slice_min_switches = 10,
		.allotment_ns = 8 * SLU_NS_PER_S,
		.wait_percent = 50,
		.levels = 5,
		.age_ns = 600 * SLU_NS_PER_S,
		.close_deadline_ns = 2 * SLU_NS_PER_S,
		.limit_deadline_ns = 1 * SLU_NS_PER_S,
		.fill_deadline_ns = 5 * SLU_NS_PER_S,
		.rise_period_ns = 250 * SLU_NS_PER_MS,
		.patience_ns = 10 * SLU_NS_PER_S,
		.grace_ns = 1 * SLU_NS_PER_S,
		.idle_ns = SLU_WIRE_IDLE_NS,
		.need_window_ns = 2 * SLU_NS_PER_S,
		.round_trip_ns = 10 * SLU_NS_PER_MS,
		.pinned_bytes = 1 * SLU_GIB,
		.backing_bytes = 16 * SLU_GIB,
		.staging_bytes = 16 * SLU_MIB,
		.share_percent = 90,
	};
}

static int take_config(struct slu_core *core, const struct slu_core_config *config)
{
	const struct slu_core_policy *policy = slu_core_policy_find(config->policy);

	if (!policy || config->share_percent < 1 || config->share_percent > 100)
		return slu_error(-EINVAL);
	core->policy = policy;
	core->config = *config;
	core->config.policy = policy->name;
	return 0;
}

int slu_core_new(const struct slu_core_config *config, uint64_t now_ns, struct slu_core **ret_core)
{
	struct slu_core *core = calloc(1, sizeof(*core));
	int r;

	if (!core)
		return slu_error(-ENOMEM);
	r = take_config(core, config);
	if (r) {
		free(core);
		return slu_fold(r);
	}
	core->policy_state = calloc(1, SLU_MAX(slu_core_policy_common_max(), (size_t)1));
	if (!core->policy_state) {
		free(core);
		return slu_error(-ENOMEM);
	}
	core->now_ns = core->started_ns = now_ns;
	core->deadlock_ns = SLU_CORE_NEVER;
	core->deadline_ns = SLU_CORE_NEVER;
	TAILQ_INIT(&core->clients);
	TAILQ_INIT(&core->groups);
	TAILQ_INIT(&core->unstaged);
	TAILQ_INIT(&core->active);
	TAILQ_INIT(&core->idle);
	TAILQ_INIT(&core->changed);
	TAILQ_INIT(&core->spare_groups);
	TAILQ_INIT(&core->users);
	LIST_INIT(&core->quotas);
	slu_core_capacity_init(&core->pinned, false, config->pinned_bytes, 0, now_ns);
	slu_core_capacity_init(&core->pageable, false, config->backing_bytes, 0, now_ns);
	slu_core_capacity_init(&core->disk, false, config->disk_bytes, 0, now_ns);
	*ret_core = core;
	return 0;
}

void slu_core_free(struct slu_core *core)
{
	struct slu_core_client *client;
	struct slu_core_group *group;

	if (!core)
		return;
	while ((client = TAILQ_FIRST(&core->clients)))
		slu_core_client_free(core, client);
	assert(TAILQ_EMPTY(&core->groups));
	slu_core_users_free(core);
	while ((group = TAILQ_FIRST(&core->spare_groups))) {
		TAILQ_REMOVE(&core->spare_groups, group, link);
		free(group);
	}
	for (unsigned d = 0; d < core->n_devices; d++) {
		slu_core_capacity_deinit(&core->devices[d]->capacity);
		free(core->devices[d]);
	}
	slu_core_capacity_deinit(&core->pinned);
	slu_core_capacity_deinit(&core->pageable);
	slu_core_capacity_deinit(&core->disk);
	slu_core_queue_deinit(&core->queue);
	slu_core_quota_free(core);
	free(core->opened);
	free(core->waiting);
	free(core->timeline);
	free(core->victims);
	free(core->policy_state);
	free(core);
}

static void set_budget(struct slu_core_capacity *capacity, uint64_t bytes)
{
	bytes = SLU_MIN(bytes, SLU_CORE_BYTES_MAX);
	capacity->usable_bytes = capacity->estimate_bytes = capacity->sure_bytes = bytes;
}

/* All states are empty before the first group begins: policies compare groups. */
static void policy_begin(struct slu_core *core)
{
	struct slu_core_group *group;

	memset(core->policy_state, 0, core->policy->common_size);
	TAILQ_FOREACH (group, &core->groups, link)
		memset(group->policy_state, 0, core->policy->state_size);
	TAILQ_FOREACH (group, &core->groups, link)
		slu_core_group_begin(core, group);
}

int slu_core_configure(struct slu_core *core, uint64_t now_ns, const struct slu_core_config *config)
{
	const struct slu_core_policy *policy = slu_core_policy_find(config->policy);
	bool is_changed = policy != core->policy;
	uint64_t generation = core->config.generation;
	struct slu_core_group *group;
	int r;

	slu_core_set_now(core, now_ns);
	/* time up to now counts under the old policy */
	TAILQ_FOREACH (group, &core->groups, link)
		if (is_changed)
			slu_core_group_count(core, group);
	r = take_config(core, config);
	if (r)
		return slu_fold(r);
	if (is_changed)
		policy_begin(core);
	core->config.generation = generation; /* set at the start; a setting cannot change it */
	set_budget(&core->pinned, config->pinned_bytes);
	set_budget(&core->pageable, config->backing_bytes);
	set_budget(&core->disk, config->disk_bytes);
	return 0;
}

int slu_core_device_add(struct slu_core *core, uint64_t now_ns, const char *name,
			uint64_t usable_bytes, uint64_t reserve_bytes)
{
	struct slu_core_device *device;

	if (core->n_devices == SLU_CORE_DEVICES_MAX)
		return slu_error(-ENOSPC);
	device = calloc(1, sizeof(*device));
	if (!device)
		return slu_error(-ENOMEM);
	core->devices[core->n_devices] = device;
	slu_core_device_renew(core, now_ns, core->n_devices++, name, usable_bytes, reserve_bytes);
	return (int)core->n_devices - 1;
}

static bool has_seats(const struct slu_core *core, unsigned device)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &core->clients, link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].device == device)
				return true;
	return false;
}

void slu_core_device_renew(struct slu_core *core, uint64_t now_ns, unsigned number,
			   const char *name, uint64_t usable_bytes, uint64_t reserve_bytes)
{
	struct slu_core_device *device = core->devices[number];

	assert(number < core->n_devices && !has_seats(core, number));
	slu_core_set_now(core, now_ns);
	*device = (struct slu_core_device){ 0 };
	snprintf(device->name, sizeof(device->name), "%s", name ? name : "");
	slu_core_capacity_init(&device->capacity, true, usable_bytes, reserve_bytes, now_ns);
	slu_core_guess_init(device);
}

void slu_core_device_resize(struct slu_core *core, uint64_t now_ns, unsigned number,
			    uint64_t usable_bytes, uint64_t reserve_bytes)
{
	assert(number < core->n_devices);
	slu_core_set_now(core, now_ns);
	slu_core_capacity_resize(&core->devices[number]->capacity, usable_bytes, reserve_bytes);
}

void slu_core_outsiders(struct slu_core *core, uint64_t now_ns, unsigned device, uint64_t bytes)
{
	assert(device < core->n_devices);
	slu_core_set_now(core, now_ns);
	slu_core_capacity_outsiders(&core->devices[device]->capacity, bytes);
}

void slu_core_overhead(struct slu_core *core, uint64_t now_ns, unsigned device, uint64_t bytes)
{
	assert(device < core->n_devices);
	slu_core_set_now(core, now_ns);
	slu_core_capacity_overhead(&core->devices[device]->capacity, bytes);
}

int slu_core_park(struct slu_core *core, uint64_t now_ns, uint64_t group_id, bool parked)
{
	struct slu_core_group *group = slu_core_group_find(core, group_id);

	slu_core_set_now(core, now_ns);
	if (!group)
		return slu_error(-ENOENT);
	group->is_parked = parked;
	core->has_parked |= parked;
	group->is_next = false;
	group->why = (struct slu_core_why){ parked ? SLU_CORE_WHY_PARKED : SLU_CORE_WHY_NOTHING };
	return 0;
}

void slu_core_suspend(struct slu_core *core, uint64_t now_ns, uint64_t client_id, bool is_away)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);

	slu_core_set_now(core, now_ns);
	for (unsigned i = 0; client && i < client->n_seats; i++)
		slu_core_account_set_away(&client->seats[i].account, is_away);
}

/* The estimate rises while a group lacks bytes; the last step found that out. */
static void capacities_rise(struct slu_core *core)
{
	for (unsigned d = 0; d < core->n_devices; d++) {
		struct slu_core_capacity *capacity = &core->devices[d]->capacity;
		uint64_t due_ns;

		if (capacity->is_lacking &&
		    slu_core_capacity_can_rise(capacity, core->config.rise_period_ns, &due_ns) &&
		    core->now_ns >= due_ns)
			slu_core_capacity_rise(capacity, core->now_ns);
		capacity->is_lacking = false;
	}
}

static void expect_rise(struct slu_core *core)
{
	for (unsigned d = 0; d < core->n_devices; d++) {
		const struct slu_core_capacity *capacity = &core->devices[d]->capacity;
		uint64_t due_ns;

		if (!capacity->is_lacking ||
		    !slu_core_capacity_can_rise(capacity, core->config.rise_period_ns, &due_ns))
			continue;
		/* a rise that is due already needs another step at once */
		due_ns = SLU_MAX(due_ns, core->now_ns);
		core->deadline_ns = SLU_MIN(core->deadline_ns, due_ns);
	}
}

/*
 * Rule 43: map a part of a program's memory only if not all of it fits on the device. The estimate
 * rises while a program is mapped only because of refusals.
 */
static void mode_refresh(struct slu_core *core, struct slu_core_seat *seat)
{
	struct slu_core_capacity *capacity = &core->devices[seat->device]->capacity;
	bool is_larger = slu_core_seat_need_bytes(seat) > slu_core_capacity_seen_bytes(capacity);

	seat->maps_refused &= slu_core_shortage_is_taught(core, seat);
	if (seat->maps_refused && !is_larger && seat->want.is_runnable)
		capacity->is_lacking = true;
	seat->mode = is_larger || seat->maps_refused ? SLU_MODE_MAPPED : SLU_MODE_ALL;
}

static void modes_refresh(struct slu_core *core)
{
	struct slu_core_client *client;

	if (!core->has_mappers)
		return;
	TAILQ_FOREACH (client, &core->clients, link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].maps_if_larger)
				mode_refresh(core, &client->seats[i]);
}

static void silence_report(struct slu_core *core, const struct slu_core_capacity *capacity)
{
	struct slu_core_account *account;
	char span[SLU_SIZE_STRING_MAX];

	TAILQ_FOREACH (account, &capacity->pending, pending_link) {
		if (account->is_reported_silent || !slu_core_is_silent(core, account))
			continue;
		account->is_reported_silent = true;
		slu_core_report(core, account->client->id,
				"%s is silent: a limit is unanswered for %s", account->client->name,
				slu_size_format_time(span, core->now_ns - account->sent_ns));
	}
}

void slu_core_step(struct slu_core *core, uint64_t now_ns)
{
	struct slu_core_group *group;

	slu_core_set_now(core, now_ns);
	core->deadline_ns = SLU_CORE_NEVER;
	capacities_rise(core);
	TAILQ_FOREACH (group, &core->active, state_link)
		slu_core_turns_complete(core, group);
	modes_refresh(core);
	slu_core_staging_grant(core);
	slu_core_quota_look(core);
	slu_core_admit(core);
	slu_core_timeline_make(core);
	slu_core_balance(core);
	slu_core_pinned(core);
	slu_core_backing_serve(core);
	slu_core_shift(core);
	for (unsigned d = 0; d < core->n_devices; d++)
		silence_report(core, &core->devices[d]->capacity);
	silence_report(core, &core->pinned);
	silence_report(core, &core->pageable);
	silence_report(core, &core->disk);
	expect_rise(core);
#ifndef NDEBUG
	slu_core_check(core);
#endif
}

uint64_t slu_core_deadline_ns(const struct slu_core *core)
{
	return core->deadline_ns;
}

static void fill_line(struct slu_core_client *client, struct slu_core_orphan *ret_line)
{
	*ret_line = (struct slu_core_orphan){
		.client = client->id,
		.user = client->user->id,
		.group = client->group->id,
		.name = client->name,
		.n_devices = client->n_seats,
		.pinned_bytes = client->pinned.charge_bytes,
		.backing_bytes = client->pageable.charge_bytes,
		.disk_bytes = client->disk.charge_bytes,
	};
	client->pinned.roster_bytes = client->pinned.charge_bytes;
	client->pageable.roster_bytes = client->pageable.charge_bytes;
	client->disk.roster_bytes = client->disk.charge_bytes;
	for (unsigned i = 0; i < client->n_seats; i++) {
		struct slu_core_account *account = &client->seats[i].account;

		ret_line->devices[i] = client->seats[i].device;
		ret_line->device_bytes[i] = account->charge_bytes;
		account->roster_bytes = account->charge_bytes;
	}
	client->roster_is_queued = false;
}

int slu_core_take_action(struct slu_core *core, struct slu_core_action *ret_action)
{
	const struct slu_core_queue_entry *entry;
	struct slu_core_client *client = NULL;

	if (core->queue.is_unfit)
		return slu_error(-ENOMEM);
	do {
		entry = slu_core_queue_pop(&core->queue);
		if (!entry)
			return 0;
		if (entry->kind == SLU_CORE_ROSTER_PUT)
			client = slu_core_client_find(core, entry->client);
	} while (entry->kind == SLU_CORE_ROSTER_PUT && !client);

	*ret_action = (struct slu_core_action){
		.id = entry->id,
		.kind = entry->kind,
		.client = entry->client,
	};
	memcpy(ret_action->reason, entry->reason, sizeof(entry->reason));
	if (client)
		fill_line(client, &ret_action->line);
	if (entry->kind == SLU_CORE_SPLIT)
		ret_action->group = entry->group;
	switch (entry->type) {
	case SLU_MSG_LIMIT:
		ret_action->message.limit = entry->limit;
		break;
	case SLU_MSG_TURN:
		ret_action->message.turn = entry->turn;
		break;
	case SLU_MSG_CLOSE:
		ret_action->message.close = entry->close;
		break;
	case SLU_MSG_DENY:
		ret_action->message.deny = entry->deny;
		break;
	default:
		return 1;
	}
	slu_message_stamp(&ret_action->message, entry->type);
	return 1;
}
