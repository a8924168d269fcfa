/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/error.h"
#include "base/util.h"
#include "core/fit/plan.h"
#include "core/group.h"
#include "core/sched/split.h"
#include "core/sched/turns.h"
#include "core/send.h"

#define OWN_IDS (UINT64_C(1) << 63) /* our own group numbers begin here; any free one will do */

static uint64_t free_id(const struct slu_core *core, const struct slu_core_client *client)
{
	uint64_t id = OWN_IDS + client->id;

	while (!id || slu_core_group_find(core, id))
		id++;
	return id;
}

static bool has_turn(const struct slu_core_client *client)
{
	for (unsigned i = 0; i < client->n_seats; i++)
		if (client->seats[i].phase != SLU_CORE_PHASE_NONE)
			return true;
	return false;
}

/* The new group continues the old one's turn, as far as its only member has one. */
static void take_along(struct slu_core *core, const struct slu_core_group *from,
		       struct slu_core_group *to)
{
	slu_core_group_enter(core, to, from->state);
	to->epoch = from->epoch;
	to->granted_ns = from->granted_ns;
	to->running_ns = from->running_ns;
	to->switch_ns = from->switch_ns;
	to->progress_ns = from->progress_ns;
	to->stalled_ns = from->stalled_ns;
	to->drain_ns = from->drain_ns;
	to->is_adopted = from->is_adopted;
	to->is_stuck = from->is_stuck;
	to->n_turns = 1;
}

static void client_split(struct slu_core *core, struct slu_core_client *client, const char *why)
{
	struct slu_core_group *from = client->group, *to;
	struct slu_core_queue_entry *entry;
	const char *name;

	slu_core_group_count(core, from);
	to = slu_core_group_new(core, free_id(core, client));
	slu_core_group_resemble(core, to, from);
	to->is_parked = from->is_parked;
	TAILQ_REMOVE(&from->members, client, member_link);
	TAILQ_INSERT_TAIL(&to->members, client, member_link);
	client->group = to;
	from->crowd_ns = from->kept_ns = SLU_CORE_NEVER;
	slu_core_patience_init(&from->patience);
	name = slu_core_group_name(from);
	entry = slu_core_queue_push(&core->queue, SLU_CORE_SPLIT, client->id,
				    "%s is split from %s: %s", client->name, name, why);
	if (entry)
		entry->group = to->id;
	/* an orphan's line may name devices that do not exist now: it stays as it is */
	if (client->standing != SLU_CORE_ORPHAN)
		slu_core_send_line(core, client);

	if (has_turn(client))
		take_along(core, from, to);
	if (slu_core_group_is_open(to))
		slu_core_turns_close(core, to, "%s is split from %s", client->name, name);
	slu_core_turns_update(core, to);
	slu_core_turns_update(core, from);
}

int slu_core_split(struct slu_core *core, uint64_t now_ns, uint64_t client_id)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);

	slu_core_set_now(core, now_ns);
	if (!client)
		return slu_error(-ENOENT);
	if (slu_core_group_is_single(client->group))
		return SLU_CORE_E_ALONE;
	client_split(core, client, "by request");
	return 0;
}

/* The bytes of the seat that the others of its group cannot have there. */
static uint64_t client_claim(const struct slu_core_seat *seat, int device)
{
	bool is_there = device == SLU_CORE_PLAN_PINNED ? seat->mode == SLU_MODE_MAPPED
						       : seat->device == (unsigned)device;

	return is_there ? SLU_MAX(slu_core_seat_beside_bytes(seat), seat->account.held_bytes) : 0;
}

/* Return: NULL if no other member of the group has bytes there. */
static struct slu_core_client *client_choose(const struct slu_core_group *group, int device)
{
	struct slu_core_client *client, *chosen = NULL;
	uint64_t most = 0;
	bool is_runnable = false;
	unsigned n = 0;

	TAILQ_FOREACH (client, &group->members, member_link) {
		uint64_t bytes = 0, missing = 0;
		bool wants = false;

		for (unsigned i = 0; i < client->n_seats; i++) {
			const struct slu_core_seat *seat = &client->seats[i];

			if (!slu_core_client_is_joined(client) || !client_claim(seat, device))
				continue;
			bytes += client_claim(seat, device);
			missing += slu_sub_floor(slu_core_seat_need_bytes(seat),
						 seat->account.held_bytes);
			wants |= seat->want.is_runnable;
		}
		n += bytes > 0;
		if (!bytes || (chosen && (is_runnable != wants ? is_runnable : missing < most)))
			continue;
		chosen = client;
		most = missing;
		is_runnable = wants;
	}
	return n > 1 ? chosen : NULL;
}

static bool is_unfit(struct slu_core *core, struct slu_core_group *group,
		     struct slu_core_shortage *ret_shortage)
{
	struct slu_core_plan plan = { .plus = group, .percent = 100, .is_alone = true };

	/* requests count here, not held bytes; whether the group is overgrown is decided anew */
	group->is_overgrown = false;
	if (!slu_core_plan_make(core, &plan, ret_shortage))
		return false;
	slu_core_patience_unfit(core, group);
	plan.is_ideal = true;
	return slu_core_plan_make(core, &plan, NULL) ||
	       slu_core_is_due(core, slu_core_after(group->patience.since_ns,
						    core->config.patience_ns / 2));
}

/* The waiting commands fit on @device, but not the working sets of the members together. */
static bool is_crowded_on(const struct slu_core *core, const struct slu_core_group *group,
			  unsigned device)
{
	uint64_t device_bytes = slu_core_plan_device_bytes(core, device);
	uint64_t need = 0, working = 0;
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			const struct slu_core_seat *seat = &client->seats[i];

			if (!slu_core_client_is_joined(client) || seat->device != device)
				continue;
			need += slu_core_seat_need_bytes(seat);
			working += slu_core_seat_beside_bytes(seat);
		}
	return need <= device_bytes && working > device_bytes;
}

/* Without a split the same bytes would move for ever. */
static bool is_crowded(struct slu_core *core, struct slu_core_group *group,
		       struct slu_core_shortage *ret_shortage)
{
	unsigned d = 0;

	while (d < core->n_devices && !is_crowded_on(core, group, d))
		d++;
	if (d == core->n_devices) {
		group->crowd_ns = SLU_CORE_NEVER;
		return false;
	}
	if (group->crowd_ns == SLU_CORE_NEVER)
		group->crowd_ns = core->now_ns;
	ret_shortage->device = (int)d;
	return slu_core_is_due(core, slu_core_after(group->crowd_ns, core->config.need_window_ns));
}

/* The bytes of the client that the others of its group cannot have there. */
static uint64_t group_claims(const struct slu_core_client *client, int device)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < client->n_seats; i++)
		bytes += client_claim(&client->seats[i], device);
	return bytes;
}

/*
 * Other groups keep unmovable bytes and leave too little for all members, but enough for some,
 * which need not wait for the rest. If a split would not help, the group stays together and waits.
 */
static bool is_kept_out(struct slu_core *core, struct slu_core_group *group,
			struct slu_core_shortage *ret_shortage)
{
	struct slu_core_plan plan = { .plus = group, .percent = 100 };
	const struct slu_core_client *client;
	uint64_t own;

	if (group->state != SLU_CORE_WAITING || !slu_core_plan_make(core, &plan, ret_shortage) ||
	    ret_shortage->device == SLU_CORE_PLAN_PINNED) {
		group->kept_ns = SLU_CORE_NEVER;
		return false;
	}
	if (group->kept_ns == SLU_CORE_NEVER)
		group->kept_ns = core->now_ns;
	if (!slu_core_is_due(core, slu_core_after(group->kept_ns, core->config.patience_ns / 2)))
		return false;
	client = client_choose(group, ret_shortage->device);
	if (!client)
		return false;
	own = group_claims(client, ret_shortage->device);
	return SLU_MIN(own, slu_sub_floor(ret_shortage->need_bytes, own)) <=
	       ret_shortage->free_bytes;
}

static bool group_may_split(const struct slu_core_group *group)
{
	return group->state != SLU_CORE_IDLE && group->state != SLU_CORE_DRAINING &&
	       !group->is_parked && !slu_core_group_is_single(group);
}

/* Return: the group of its run, if it was split from one that still exists; or NULL. */
static struct slu_core_group *group_origin(const struct slu_core *core,
					   const struct slu_core_group *group)
{
	const struct slu_core_client *client = TAILQ_FIRST(&group->members);

	if (!slu_core_group_is_single(group) || !client->run || !slu_core_client_is_joined(client))
		return NULL;
	return slu_core_group_find(core, client->run);
}

/* Side by side, with their recent needs, next to what others keep. */
static bool fit_together(struct slu_core *core, struct slu_core_group *a, struct slu_core_group *b)
{
	struct slu_core_plan plan = {
		.groups = &a,
		.n_groups = 1,
		.plus = b,
		.percent = core->config.share_percent,
	};

	return !slu_core_plan_make(core, &plan, NULL);
}

static void groups_unite(struct slu_core *core, struct slu_core_group *from,
			 struct slu_core_group *to)
{
	struct slu_core_client *client = TAILQ_FIRST(&from->members);
	struct slu_core_queue_entry *entry;

	slu_core_group_count(core, from);
	slu_core_group_count(core, to);
	if (core->policy->unite)
		core->policy->unite(to, from);
	entry = slu_core_queue_push(&core->queue, SLU_CORE_SPLIT, client->id,
				    "%s is united with %s: together they fit again", client->name,
				    slu_core_group_name(to));
	if (entry)
		entry->group = to->id;
	TAILQ_REMOVE(&from->members, client, member_link);
	TAILQ_INSERT_TAIL(&to->members, client, member_link);
	client->group = to;
	client->run = 0;
	slu_core_group_free(core, from);
	slu_core_send_line(core, client);
	slu_core_turns_update(core, to);
	core->deadline_ns = core->now_ns; /* an open turn is its turn too (rule 23) */
}

static bool unite_fit(struct slu_core *core)
{
	struct slu_core_group *group, *next, *to;
	bool is_any = false;

	if (!core->has_split)
		return false;
	for (group = TAILQ_FIRST(&core->groups); group; group = next) {
		next = TAILQ_NEXT(group, link);
		to = group_origin(core, group);
		if (!to || !fit_together(core, to, group)) {
			group->union_ns = SLU_CORE_NEVER;
			continue;
		}
		if (group->union_ns == SLU_CORE_NEVER)
			group->union_ns = core->now_ns;
		if (!slu_core_is_due(core,
				     slu_core_after(group->union_ns, core->config.patience_ns)) ||
		    !slu_core_group_is_at_rest(group) || to->state == SLU_CORE_DRAINING ||
		    group->is_parked != to->is_parked)
			continue;
		groups_unite(core, group, to);
		is_any = true;
	}
	return is_any;
}

bool slu_core_split_unfit(struct slu_core *core)
{
	struct slu_core_group *group;
	bool is_any = unite_fit(core);

	if (core->n_clients == core->n_groups)
		return is_any; /* each of one member */
	TAILQ_FOREACH (group, &core->groups, link) {
		struct slu_core_shortage shortage;
		struct slu_core_client *client;

		while (group_may_split(group) &&
		       (is_unfit(core, group, &shortage) || is_crowded(core, group, &shortage) ||
			is_kept_out(core, group, &shortage)) &&
		       (client = client_choose(group, shortage.device))) {
			client->run = group->id;
			core->has_split = true;
			client_split(core, client,
				     shortage.device == SLU_CORE_PLAN_PINNED
					     ? "together they exceed the pinned memory"
					     : "together they exceed the device");
			is_any = true;
		}
	}
	return is_any;
}
