/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fit/reserve.h"

#include "base/util.h"
#include "core/group.h"

struct needs {
	uint64_t all_bytes;    /* for a turn alone */
	uint64_t window_bytes; /* the same with what open windows have of their working sets */
	uint64_t least_bytes;  /* the same with everything mapped that can be */
};

static struct needs needs_of(const struct slu_core_group *group, unsigned device)
{
	const struct slu_core_client *client;
	const struct slu_core_seat *seat;
	struct needs needs = {};

	SLU_CORE_FOREACH_SEAT (group, client, seat) {
		uint64_t floor = seat->account.counted_floor_bytes, part, window = 0, least;

		if (seat->device != device)
			continue;
		part = SLU_MAX(slu_core_seat_need_bytes(seat), floor);
		if (slu_core_group_is_open(group) && seat->mode == SLU_MODE_LAUNCH)
			window = SLU_MIN(seat->account.limit_bytes, seat->want.working_bytes);
		needs.all_bytes += part;
		needs.window_bytes += SLU_MAX(part, window);
		least = SLU_MAX(floor, seat->want.working_bytes);
		needs.least_bytes += seat->mode == SLU_MODE_MAPPED ? least : part;
	}
	return needs;
}

uint64_t slu_core_reserve_needed(const struct slu_core_group *group, unsigned device,
				 uint64_t others_bytes, uint64_t present_bytes)
{
	struct needs needs = needs_of(group, device);

	if (needs.all_bytes + others_bytes <= present_bytes)
		return SLU_MIN(needs.window_bytes + others_bytes, present_bytes);
	if (needs.least_bytes + others_bytes <= present_bytes)
		return needs.least_bytes + others_bytes;
	return 0;
}

uint64_t slu_core_reserve_others(const struct slu_core *core, const struct slu_core_group *group,
				 unsigned device)
{
	uint64_t bytes = core->devices[device]->capacity.floors_bytes;
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].device == device)
				bytes -= client->seats[i].account.counted_floor_bytes;
	return bytes;
}

void slu_core_reserve_find_needed(struct slu_core *core, unsigned device)
{
	struct slu_core_capacity *capacity = &core->devices[device]->capacity;
	uint64_t present = slu_core_capacity_present_bytes(capacity);
	const struct slu_core_group *group;

	capacity->needed_bytes = 0;
	if (!capacity->reserve_bytes)
		return;
	TAILQ_FOREACH (group, &core->active, state_link) {
		uint64_t others, bytes;

		if (slu_core_group_is_at_rest(group) || !slu_core_group_uses(group, device))
			continue;
		others = slu_core_reserve_others(core, group, device);
		bytes = slu_core_reserve_needed(group, device, others, present);
		capacity->needed_bytes = SLU_MAX(capacity->needed_bytes, bytes);
	}
}
