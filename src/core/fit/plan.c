/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/util.h"
#include "core/fit/plan.h"
#include "core/fit/reserve.h"
#include "core/group.h"
#include "core/user.h"

/* Credit for allocations: at most this part of the device, beyond the present need. */
#define SLACK_PARTS 16

/*
 * What cannot leave now. A draining group comes to rest soon, and no group is admitted next to it
 * before; what it reported while it ran is void, only its next report counts.
 */
static uint64_t floor_of(struct slu_core *core, const struct slu_core_account *account)
{
	const struct slu_core_group *group = account->client->group;
	uint64_t floor = account->floor_bytes;

	if (!slu_core_client_is_joined(account->client) || group->is_stuck || account->is_stalled ||
	    slu_core_is_silent(core, account))
		return account->charge_bytes;
	if (!slu_core_group_is_at_rest(group))
		floor = 0;
	if (!account->seat)
		floor = SLU_MAX(floor, account->client->staging_bytes);
	return SLU_MIN(floor, account->charge_bytes);
}

static void forget_peaks(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			struct slu_core_seat *seat = &client->seats[i];
			uint64_t need = slu_core_seat_beside_bytes(seat);

			if (need < seat->peak_bytes &&
			    slu_core_is_due(core, slu_core_after(seat->peak_ns,
								 core->config.need_window_ns)))
				seat->peak_bytes = need;
		}
}

/* Of idle groups only those count that may be united with others. */
static void peaks_refresh(struct slu_core *core)
{
	struct slu_core_group *group;

	TAILQ_FOREACH (group, &core->active, state_link)
		forget_peaks(core, group);
	if (core->has_split)
		TAILQ_FOREACH (group, &core->idle, state_link)
			forget_peaks(core, group);
}

static void floors_refresh(struct slu_core *core, struct slu_core_capacity *capacity)
{
	struct slu_core_account *account;

	capacity->floors_bytes = 0;
	TAILQ_FOREACH (account, &capacity->charged, charged_link) {
		account->counted_floor_bytes = floor_of(core, account);
		capacity->floors_bytes += account->counted_floor_bytes;
	}
}

void slu_core_plan_refresh(struct slu_core *core)
{
	peaks_refresh(core);
	for (unsigned d = 0; d < core->n_devices; d++) {
		floors_refresh(core, &core->devices[d]->capacity);
		slu_core_reserve_find_needed(core, d);
	}
	floors_refresh(core, &core->pinned);
}

static void forget_floors(struct slu_core *core, struct slu_core_capacity *capacity,
			  bool (*may_leave)(struct slu_core *core,
					    const struct slu_core_account *account))
{
	struct slu_core_account *account;

	TAILQ_FOREACH (account, &capacity->charged, charged_link)
		if (may_leave(core, account)) {
			capacity->floors_bytes -= account->counted_floor_bytes;
			account->counted_floor_bytes = 0;
		}
}

void slu_core_plan_forget_floors(struct slu_core *core,
				 bool (*may_leave)(struct slu_core *core,
						   const struct slu_core_account *account))
{
	for (unsigned d = 0; d < core->n_devices; d++)
		forget_floors(core, &core->devices[d]->capacity, may_leave);
	forget_floors(core, &core->pinned, may_leave);
}

uint64_t slu_core_plan_device_bytes(const struct slu_core *core, unsigned device)
{
	return slu_core_capacity_bytes(&core->devices[device]->capacity);
}

/*
 * Rule 21: next to others a seat counts with its highest need of the last moments. It keeps what it
 * holds, except in mode LAUNCH: a window may shrink while the program runs (rule 9).
 */
static uint64_t seat_need(const struct slu_core *core, const struct slu_core_seat *seat,
			  bool is_overgrown)
{
	const struct slu_core_account *account = &seat->account;
	bool is_beside = core->devices[seat->device]->n_groups > 1;
	uint64_t bytes = is_beside ? seat->peak_bytes : slu_core_seat_need_bytes(seat);

	bytes = is_overgrown ? 0 : SLU_MAX(bytes, account->floor_bytes);
	if (is_overgrown || (seat->phase == SLU_CORE_PHASE_READY && seat->mode != SLU_MODE_LAUNCH))
		bytes = SLU_MAX(bytes, account->held_bytes);
	/* a silent client gives no slack back: it counts with all that it may hold */
	return SLU_MAX(bytes, account->counted_floor_bytes);
}

/* The set as a sequence: its groups, then the additional one. */
static struct slu_core_group *plan_group_at(const struct slu_core_plan *plan, size_t i)
{
	return i < plan->n_groups ? plan->groups[i] : plan->plus;
}

static size_t plan_count_groups(const struct slu_core_plan *plan)
{
	return plan->n_groups + (plan->plus ? 1 : 0);
}

/*
 * The capacity, with as much of the reserve as one group of the set needs.
 *
 * @ret_excess_bytes: what clients hold beyond it. Included, because the driver gave it to them.
 */
static uint64_t capacity_of(const struct slu_core *core, const struct slu_core_plan *plan,
			    unsigned device, uint64_t *ret_excess_bytes)
{
	const struct slu_core_capacity *capacity = &core->devices[device]->capacity;
	uint64_t present = plan->is_ideal ? slu_core_capacity_total_bytes(capacity)
					  : slu_core_capacity_present_bytes(capacity);
	uint64_t needed = 0, bytes;

	for (size_t i = 0; i < plan_count_groups(plan); i++) {
		const struct slu_core_group *group = plan_group_at(plan, i);
		uint64_t others = 0, part;

		if (!slu_core_group_uses(group, device))
			continue;
		if (!plan->is_alone)
			others = slu_core_reserve_others(core, group, device);
		part = slu_core_reserve_needed(group, device, others, present);
		needed = SLU_MAX(needed, part);
	}
	*ret_excess_bytes = 0;
	if (plan->is_ideal) {
		bytes = SLU_MAX(capacity->usable_bytes, needed);
	} else {
		bytes = slu_core_capacity_yielding_bytes(capacity, needed);
		*ret_excess_bytes = slu_sub_floor(capacity->held_bytes, bytes);
		bytes += *ret_excess_bytes;
	}
	return bytes / 100 * plan->percent + bytes % 100 * plan->percent / 100;
}

/* What the set may use of each device and of pinned memory. */
static int64_t lay_out(struct slu_core *core, const struct slu_core_plan *plan)
{
	int64_t pinned_remaining = (int64_t)core->pinned.usable_bytes;
	struct slu_core_client *client;
	struct slu_core_seat *seat;

	for (unsigned d = 0; d < core->n_devices; d++) {
		struct slu_core_device *device = core->devices[d];

		device->remaining_bytes =
			(int64_t)capacity_of(core, plan, d, &device->excess_bytes);
		if (!plan->is_alone)
			device->remaining_bytes -= (int64_t)device->capacity.floors_bytes;
		device->n_groups = 0;
		device->n_slack = 0;
	}
	if (!plan->is_alone)
		pinned_remaining -= (int64_t)core->pinned.floors_bytes;

	for (size_t i = 0; i < plan_count_groups(plan); i++) {
		struct slu_core_group *group = plan_group_at(plan, i);

		for (unsigned d = 0; d < core->n_devices; d++)
			core->devices[d]->n_groups += slu_core_group_uses(group, d);
		TAILQ_FOREACH (client, &group->members, member_link) {
			client->pinned_goal_bytes = client->staging_bytes;
			if (slu_core_client_is_joined(client)) {
				pinned_remaining -= (int64_t)client->staging_bytes;
				if (!plan->is_alone)
					pinned_remaining +=
						(int64_t)client->pinned.counted_floor_bytes;
			}
		}
		if (plan->is_alone)
			continue;
		SLU_CORE_FOREACH_SEAT (group, client, seat)
			core->devices[seat->device]->remaining_bytes +=
				(int64_t)seat->account.counted_floor_bytes;
	}
	for (unsigned d = 0; d < core->n_devices; d++)
		core->devices[d]->set_bytes = core->devices[d]->remaining_bytes;
	return pinned_remaining;
}

static bool is_flexible(const struct slu_core *core, const struct slu_core_seat *seat)
{
	return seat->mode == SLU_MODE_MAPPED && core->devices[seat->device]->n_groups == 1;
}

static uint64_t bytes_positive(int64_t bytes)
{
	return bytes > 0 ? (uint64_t)bytes : 0;
}

static int shortage_fill(int device, uint64_t need_bytes, int64_t free_bytes,
			 struct slu_core_shortage *ret_shortage)
{
	if (ret_shortage)
		*ret_shortage = (struct slu_core_shortage){
			.device = device,
			.need_bytes = need_bytes,
			.free_bytes = bytes_positive(free_bytes),
		};
	return SLU_CORE_PLAN_E_UNFIT;
}

/* The needs of the whole set, including seats that got nothing yet. */
static uint64_t needs_on(const struct slu_core *core, const struct slu_core_plan *plan,
			 unsigned device)
{
	struct slu_core_client *client;
	struct slu_core_seat *seat;
	uint64_t bytes = 0;

	for (size_t i = 0; i < plan_count_groups(plan); i++)
		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat)
			if (seat->device == device)
				bytes +=
					seat_need(core, seat, plan_group_at(plan, i)->is_overgrown);
	return bytes;
}

/*
 * The device part of a seat that can have the rest MAPPED. It leaves the reserve free, even if the
 * seat holds bytes there, since it can move them when it comes to rest in its turn. It keeps what
 * pinned memory cannot take, and has at least what must be on the device itself.
 */
static uint64_t flexible_part(const struct slu_core_device *device,
			      const struct slu_core_seat *seat, uint64_t wish_bytes,
			      int64_t pinned_remaining)
{
	const struct slu_core_account *account = &seat->account;
	uint64_t remaining =
		slu_sub_floor(bytes_positive(device->remaining_bytes), device->excess_bytes);
	uint64_t part = SLU_MIN(wish_bytes, remaining), most, unpinned;

	part = SLU_MAX(part, seat->phase == SLU_CORE_PHASE_READY ? account->counted_floor_bytes
								 : account->floor_bytes);
	part = SLU_MAX(part, seat->want.working_bytes);
	if (part >= wish_bytes)
		return part;
	most = SLU_MIN(wish_bytes, account->held_bytes);
	most = SLU_MAX(part, most);
	unpinned = slu_sub_floor(wish_bytes - part + seat->want.largest_bytes,
				 bytes_positive(pinned_remaining));
	return SLU_MIN(part + unpinned, most);
}

/* Seats with a fixed part first, then those that take the remainder. */
static int hand_out_needs(struct slu_core *core, const struct slu_core_plan *plan,
			  int64_t *pinned_remaining, struct slu_core_shortage *ret_shortage)
{
	struct slu_core_client *client;
	struct slu_core_seat *seat;
	uint64_t pinned_need = 0;

	for (size_t i = 0; i < plan_count_groups(plan); i++) {
		bool is_overgrown = plan_group_at(plan, i)->is_overgrown;

		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat) {
			struct slu_core_device *device = core->devices[seat->device];

			seat->need_bytes = seat->goal_bytes = 0;
			if (is_flexible(core, seat))
				continue;
			seat->need_bytes = seat_need(core, seat, is_overgrown);
			device->remaining_bytes -= (int64_t)seat->need_bytes;
			if (device->remaining_bytes >= 0 || !seat->need_bytes)
				continue;
			if (!is_overgrown || device->n_groups > 1)
				return shortage_fill((int)seat->device,
						     needs_on(core, plan, seat->device),
						     device->set_bytes, ret_shortage);
			device->remaining_bytes = 0;
		}
	}
	for (size_t i = 0; i < plan_count_groups(plan); i++) {
		bool is_overgrown = plan_group_at(plan, i)->is_overgrown;

		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat) {
			struct slu_core_device *device = core->devices[seat->device];
			uint64_t wish, part;

			if (!is_flexible(core, seat))
				continue;
			wish = seat_need(core, seat, is_overgrown);
			part = flexible_part(device, seat, wish, *pinned_remaining);
			device->remaining_bytes -= (int64_t)part;
			if (device->remaining_bytes < 0 && part) {
				if (!is_overgrown)
					return shortage_fill((int)seat->device,
							     (uint64_t)(device->set_bytes -
									device->remaining_bytes),
							     device->set_bytes, ret_shortage);
				device->remaining_bytes = 0;
			}
			seat->need_bytes = part;
			if (part >= wish)
				continue;
			client->pinned_goal_bytes += wish - part + seat->want.largest_bytes;
			pinned_need += wish - part + seat->want.largest_bytes;
			*pinned_remaining -= (int64_t)(wish - part + seat->want.largest_bytes);
		}
	}
	if (pinned_need && *pinned_remaining < 0)
		return shortage_fill(SLU_CORE_PLAN_PINNED, pinned_need,
				     *pinned_remaining + (int64_t)pinned_need, ret_shortage);
	return 0;
}

/*
 * Memory that the driver pages yields to everything else, so no group waits for its turn because of
 * it. Next to others it is part of the need; a group that has the device alone gets the remainder
 * for it.
 */
static void hand_out_paged(struct slu_core *core, const struct slu_core_plan *plan)
{
	struct slu_core_client *client;
	struct slu_core_seat *seat;

	for (size_t i = 0; i < plan_count_groups(plan); i++)
		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat) {
			struct slu_core_device *device = core->devices[seat->device];
			uint64_t sure = SLU_MAX(seat->need_bytes, seat->want.min_bytes), wish;

			seat->paged_bytes = 0;
			if (seat->mode == SLU_MODE_LAUNCH || plan_group_at(plan, i)->is_overgrown)
				continue;
			wish = slu_sub_floor(seat->want.all_bytes, sure);
			seat->paged_bytes = SLU_MIN(wish, bytes_positive(device->remaining_bytes));
			device->remaining_bytes -= (int64_t)seat->paged_bytes;
		}
}

/*
 * Credit for the next allocations, and in mode LAUNCH for memory outside the working set. LAUNCH
 * allocations can do without it, so waiting groups come first: otherwise their bytes would be
 * granted and taken back again.
 */
static uint64_t most_slack(const struct slu_core *core, const struct slu_core_device *device,
			   const struct slu_core_seat *seat)
{
	uint64_t allocations = device->capacity.usable_bytes / SLACK_PARTS;

	if (seat->mode != SLU_MODE_LAUNCH)
		return allocations;
	return (core->n_waiting ? 0 : allocations) +
	       slu_sub_floor(seat->want.all_bytes, seat->need_bytes);
}

/* Equal parts for the users, and for the seats of one. */
static void hand_out_slack(struct slu_core *core, const struct slu_core_plan *plan)
{
	struct slu_core_client *client;
	struct slu_core_seat *seat;

	for (size_t i = 0; i < plan_count_groups(plan); i++)
		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat)
			client->user->on[seat->device].n_slack = 0;
	for (size_t i = 0; i < plan_count_groups(plan); i++)
		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat)
			core->devices[seat->device]->n_slack +=
				!client->user->on[seat->device].n_slack++;
	for (size_t i = 0; i < plan_count_groups(plan); i++)
		SLU_CORE_FOREACH_SEAT (plan_group_at(plan, i), client, seat) {
			struct slu_core_device *device = core->devices[seat->device];
			struct slu_core_user_share *share = &client->user->on[seat->device];
			uint64_t part = bytes_positive(device->remaining_bytes) / device->n_slack /
					share->n_slack--;

			device->n_slack -= !share->n_slack;

			part = SLU_MIN(part, most_slack(core, device, seat));
			if (plan_group_at(plan, i)->is_overgrown)
				part = 0;
			seat->goal_bytes = seat->need_bytes + seat->paged_bytes;
			seat->goal_bytes += part;
			device->remaining_bytes -= (int64_t)part;
		}
}

int slu_core_plan_make(struct slu_core *core, const struct slu_core_plan *plan,
		       struct slu_core_shortage *ret_shortage)
{
	int64_t pinned_remaining = lay_out(core, plan);
	int r;

	r = hand_out_needs(core, plan, &pinned_remaining, ret_shortage);
	if (r)
		return r;
	for (unsigned d = 0; d < core->n_devices; d++)
		core->devices[d]->remaining_bytes -= (int64_t)core->devices[d]->excess_bytes;
	hand_out_paged(core, plan);
	hand_out_slack(core, plan);
	return 0;
}

int slu_core_plan_group(struct slu_core *core, struct slu_core_group *group, bool is_alone,
			bool is_ideal, struct slu_core_shortage *ret_shortage)
{
	struct slu_core_plan plan = {
		.plus = group,
		.percent = 100,
		.is_alone = is_alone,
		.is_ideal = is_ideal,
	};

	return slu_core_plan_make(core, &plan, ret_shortage);
}
