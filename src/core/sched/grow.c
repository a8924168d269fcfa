/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/grow.h"

#include "base/util.h"
#include "core/fit/plan.h"
#include "core/group.h"
#include "core/send.h"

#define CROWD_PARTS	 4 /* unmovable bytes must reach one in so many parts of the device */
#define GROWER_PATIENCES 6

void slu_core_grow_note(struct slu_core *core, struct slu_core_seat *seat)
{
	uint64_t bytes = slu_core_seat_unmovable_bytes(seat);

	if (bytes > seat->unmovable_bytes) {
		seat->is_growing = true;
		seat->grown_ns = core->now_ns;
		core->devices[seat->device]->has_grown = true;
	}
	if (bytes > seat->unmovable_bytes || bytes < seat->unmovable_bytes / 2)
		seat->unmovable_bytes = bytes;
}

/* @ret_bytes: the group's unmovable bytes there. Return: whether they have grown lately. */
static bool group_grows(const struct slu_core *core, const struct slu_core_group *group,
			unsigned device, uint64_t *ret_bytes)
{
	const struct slu_core_client *client;
	const struct slu_core_seat *seat;
	bool is_growing = group->waits_to_grow;

	*ret_bytes = 0;
	SLU_CORE_FOREACH_SEAT (group, client, seat) {
		if (seat->device != device)
			continue;
		*ret_bytes += seat->unmovable_bytes;
		is_growing |=
			seat->is_growing &&
			core->now_ns < slu_core_after(seat->grown_ns, core->config.patience_ns);
	}
	return is_growing && *ret_bytes;
}

/* The group cannot go on, whichever others wait: to delay them would help no program. */
static bool is_thwarted(const struct slu_core_group *group)
{
	return group->is_overgrown || slu_core_group_is_held(group) ||
	       (group->state == SLU_CORE_WAITING && (group->why.kind == SLU_CORE_WHY_BYTES ||
						     group->why.kind == SLU_CORE_WHY_CAPACITY ||
						     group->why.kind == SLU_CORE_WHY_PINNED));
}

static bool has_rested(struct slu_core *core, const struct slu_core_group *group)
{
	return group->rest_ns != SLU_CORE_NEVER &&
	       slu_core_is_due(core, slu_core_after(group->rest_ns, core->config.patience_ns / 4));
}

static bool may_grow(struct slu_core *core, const struct slu_core_group *group, unsigned device,
		     uint64_t *ret_bytes)
{
	return slu_core_group_uses(group, device) && group_grows(core, group, device, ret_bytes) &&
	       !is_thwarted(group) && !has_rested(core, group);
}

/* The grower of the device, if it may stay so. */
static struct slu_core_group *device_grower(struct slu_core *core, unsigned number)
{
	const struct slu_core_device *device = core->devices[number];
	struct slu_core_group *group =
		device->grower ? slu_core_group_find(core, device->grower) : NULL;
	const struct slu_core_client *client;
	const struct slu_core_seat *seat;
	uint64_t bytes;

	if (!group || !may_grow(core, group, number, &bytes))
		return NULL;
	SLU_CORE_FOREACH_SEAT (group, client, seat)
		if (seat->device == number && seat->is_growing)
			(void)slu_core_is_due(
				core, slu_core_after(seat->grown_ns, core->config.patience_ns));
	return group;
}

/* The growing group with the most bytes, because it is nearest to its end; never @but. */
static struct slu_core_group *grower_choose(struct slu_core *core, unsigned number,
					    const struct slu_core_group *but)
{
	uint64_t device_bytes = slu_core_plan_device_bytes(core, number);
	uint64_t bytes, most = 0, sum = 0;
	struct slu_core_group *group, *chosen = NULL;
	size_t n = 0;

	if (!core->devices[number]->has_grown)
		return NULL;
	TAILQ_FOREACH (group, &core->groups, link) {
		if (!may_grow(core, group, number, &bytes))
			continue;
		n++;
		sum += bytes;
		if (group != but && bytes > most) {
			chosen = group;
			most = bytes;
		}
	}
	return n > 1 && sum >= device_bytes / CROWD_PARTS ? chosen : NULL;
}

void slu_core_grow_look(struct slu_core *core)
{
	for (unsigned d = 0; d < core->n_devices; d++) {
		struct slu_core_device *device = core->devices[d];
		struct slu_core_group *group = device_grower(core, d), *other;
		uint64_t span_ns = core->config.patience_ns * GROWER_PATIENCES;

		if (group && !slu_core_is_due(core, slu_core_after(device->grower_ns, span_ns)))
			continue;
		other = grower_choose(core, d, group);
		if (!other)
			other = group;
		device->grower = other ? other->id : 0;
		device->grower_ns = core->now_ns;
		if (other && other != group)
			slu_core_report(core, TAILQ_FIRST(&other->members)->id,
					"%s takes memory that cannot move; others who do so wait",
					slu_core_group_name(other));
	}
}

const struct slu_core_group *slu_core_grow_waits_for(const struct slu_core *core,
						     const struct slu_core_group *group)
{
	uint64_t bytes;

	for (unsigned d = 0; d < core->n_devices; d++) {
		const struct slu_core_device *device = core->devices[d];

		if (device->grower && device->grower != group->id &&
		    slu_core_group_uses(group, d) && group_grows(core, group, d, &bytes))
			return slu_core_group_find(core, device->grower);
	}
	return NULL;
}
