/* SPDX-License-Identifier: Apache-2.0 */
#include "core/credit/reserve.h"

#include "base/util.h"
#include "core/sched/group.h"

/*
 * What @group cannot do without there, if it has its turn alone.
 *
 * @ret_window_bytes: with what it has of its working set in windows that are open.
 */
static uint64_t needed_by(const struct slu_core_group *group, unsigned device,
			  uint64_t *ret_window_bytes)
{
	const struct slu_core_client *client;
	const struct slu_core_seat *seat;
	uint64_t bytes = 0, window_bytes = 0;

	SLU_CORE_FOREACH_SEAT (group, client, seat) {
		uint64_t part, window = 0;

		if (seat->device != device)
			continue;
		part = SLU_MAX(slu_core_seat_level_bytes(seat), seat->account.counted_floor_bytes);
		if (slu_core_group_is_open(group) && seat->mode == SLU_MODE_LAUNCH)
			window = SLU_MIN(seat->account.limit_bytes, seat->want.working_bytes);
		bytes += part;
		window_bytes += SLU_MAX(part, window);
	}
	*ret_window_bytes = window_bytes;
	return bytes;
}

static uint64_t own_floors(const struct slu_core_group *group, unsigned device)
{
	const struct slu_core_client *client;
	uint64_t bytes = 0;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].device == device)
				bytes += client->seats[i].account.counted_floor_bytes;
	return bytes;
}

void slu_core_reserve_find_needed(struct slu_core *core, unsigned device)
{
	struct slu_core_capacity *capacity = &core->devices[device]->capacity;
	uint64_t left = slu_core_capacity_left_bytes(capacity);
	const struct slu_core_group *group;

	capacity->needed_bytes = 0;
	if (!capacity->outsider_bytes || !capacity->reserve_bytes)
		return;
	TAILQ_FOREACH (group, &core->groups, link) {
		uint64_t others, bytes, window;

		if (group->is_parked ||
		    (!slu_core_group_is_open(group) && !slu_core_group_is_runnable(group)))
			continue;
		others = capacity->floors_bytes - own_floors(group, device);
		bytes = needed_by(group, device, &window);
		if (bytes + others > left)
			continue;
		window = SLU_MIN(window + others, left);
		capacity->needed_bytes = SLU_MAX(capacity->needed_bytes, window);
	}
}
