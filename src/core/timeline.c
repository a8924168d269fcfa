/* SPDX-License-Identifier: Apache-2.0 */
#include "core/timeline.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "core/fit/guess.h"
#include "core/group.h"
#include "core/sched/expiry.h"
#include "core/sched/users.h"

static bool runs_before(const struct slu_core *core, const struct slu_core_group *a,
			const struct slu_core_group *b)
{
	bool x = slu_core_group_is_at_rest(a), y = slu_core_group_is_at_rest(b);

	if (x != y)
		return y;
	return x ? slu_core_users_precede(core, a, b) : a->granted_ns < b->granted_ns;
}

/* Times are far below the half of all numbers, and so is the number of groups. */
uint64_t slu_core_timeline_place(const struct slu_core_group *group)
{
	if (!slu_core_group_is_at_rest(group))
		return group->place;
	if (slu_core_group_is_held(group))
		return UINT64_MAX - group->since_ns;
	return group->state == SLU_CORE_IDLE ? UINT64_MAX / 2 - group->since_ns : group->place;
}

static void put(struct slu_core *core, struct slu_core_group *group)
{
	size_t low = 0, high = core->n_timeline;

	assert(core->n_timeline < core->n_group_capacity);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runs_before(core, group, core->timeline[middle].group))
			high = middle;
		else
			low = middle + 1;
	}
	memmove(&core->timeline[low + 1], &core->timeline[low],
		(core->n_timeline++ - low) * sizeof(*core->timeline));
	core->timeline[low] = (struct slu_core_timeline_turn){
		.group = group,
		.start_ns = SLU_CORE_NEVER,
	};
}

/* The state of the devices while turns are placed one after the other. */
struct horizon {
	uint64_t free_ns[SLU_CORE_DEVICES_MAX]; /* the turns until here are over */
	unsigned sure_percent[SLU_CORE_DEVICES_MAX];
};

static const struct slu_core_group *next_beside(const struct slu_core *core,
						const struct slu_core_group *holder)
{
	for (size_t i = 0; i < core->n_waiting; i++)
		if (core->waiting[i]->is_next && slu_core_group_shares(core->waiting[i], holder))
			return core->waiting[i];
	return NULL;
}

/* When the holder is expected to give up its turn. */
static uint64_t end_ns(const struct slu_core *core, const struct slu_core_group *holder)
{
	const struct slu_core_group *asker = next_beside(core, holder);
	uint64_t length_ns = core->policy->length_ns(holder, &core->config);
	uint64_t end_ns = SLU_CORE_NEVER;

	if (holder->state == SLU_CORE_DRAINING)
		return core->now_ns;
	if (holder->state == SLU_CORE_FILLING)
		return slu_core_after(core->now_ns, length_ns);
	if (asker)
		end_ns = slu_core_expiry_ns(core, holder, asker);
	if (end_ns == SLU_CORE_NEVER)
		end_ns = slu_core_after(holder->running_ns, length_ns);
	return SLU_MAX(end_ns, core->now_ns);
}

/* Whether the group waits for bytes that others keep, or for memory that does not exist. */
static bool is_passed_over(const struct slu_core_group *group)
{
	switch (group->why.kind) {
	case SLU_CORE_WHY_BYTES:
	case SLU_CORE_WHY_CAPACITY:
	case SLU_CORE_WHY_PINNED:
	case SLU_CORE_WHY_GROWER:
		return !group->is_next;
	default:
		return false;
	}
}

static void foresee_holder(const struct slu_core *core, struct slu_core_timeline_turn *turn,
			   struct horizon *h)
{
	uint64_t end = end_ns(core, turn->group);

	turn->start_ns = SLU_MIN(turn->group->granted_ns, core->now_ns);
	turn->length_ns = end - turn->start_ns;
	turn->sure_percent = 100;
	for (unsigned d = 0; d < core->n_devices; d++)
		if (slu_core_group_uses(turn->group, d))
			h->free_ns[d] = SLU_MAX(h->free_ns[d], end);
}

static void foresee_waiter(const struct slu_core *core, struct slu_core_timeline_turn *turn,
			   struct horizon *h)
{
	const struct slu_core_group *group = turn->group;
	uint64_t start = core->now_ns;
	unsigned sure = 100;

	if (group->why.kind == SLU_CORE_WHY_STALL)
		return; /* nobody can tell when its copies end */
	for (unsigned d = 0; d < core->n_devices; d++)
		if (slu_core_group_uses(group, d)) {
			start = SLU_MAX(start, h->free_ns[d]);
			sure = SLU_MIN(sure, h->sure_percent[d] *
						     core->devices[d]->guess_sure_percent / 100);
		}
	turn->start_ns = start;
	turn->length_ns =
		slu_core_after(group->switch_ns, core->policy->length_ns(group, &core->config));
	turn->sure_percent = is_passed_over(group) ? 0 : sure;
	if (!turn->sure_percent)
		return;
	for (unsigned d = 0; d < core->n_devices; d++)
		if (slu_core_group_uses(group, d)) {
			h->free_ns[d] = slu_core_after(start, turn->length_ns);
			h->sure_percent[d] = sure;
		}
}

void slu_core_timeline_make(struct slu_core *core)
{
	struct slu_core_group *group;
	struct horizon h;

	core->n_timeline = core->n_shown = 0;
	TAILQ_FOREACH (group, &core->active, state_link)
		if (!slu_core_group_is_at_rest(group) || !slu_core_group_is_held(group))
			put(core, group);
	for (unsigned d = 0; d < core->n_devices; d++) {
		const struct slu_core_group *next = slu_core_timeline_next(core, d);

		slu_core_guess_next(core->devices[d], next ? next->id : 0);
		h.free_ns[d] = core->now_ns;
		h.sure_percent[d] = 100;
	}
	for (size_t i = 0; i < core->n_timeline; i++) {
		struct slu_core_timeline_turn *turn = &core->timeline[i];

		turn->group->place = i;
		if (slu_core_group_is_at_rest(turn->group))
			foresee_waiter(core, turn, &h);
		else
			foresee_holder(core, turn, &h);
	}
}

void slu_core_timeline_drop(struct slu_core *core, const struct slu_core_group *group)
{
	size_t n = 0;

	for (size_t i = 0; i < core->n_timeline; i++)
		if (core->timeline[i].group != group) {
			core->timeline[n] = core->timeline[i];
			core->timeline[n].group->place = n;
			n++;
		}
	core->n_timeline = n;
	core->n_shown = 0;
}

struct slu_core_group *slu_core_timeline_next(const struct slu_core *core, unsigned device)
{
	for (size_t i = 0; i < core->n_waiting; i++)
		if (core->waiting[i]->is_next && slu_core_group_uses(core->waiting[i], device))
			return core->waiting[i];
	return NULL;
}

/* Whether the last step put it there, as one that wants to run; its state may be another now. */
static bool is_listed(const struct slu_core *core, const struct slu_core_group *group)
{
	return group->place < core->n_timeline && core->timeline[group->place].group == group;
}

static void show(struct slu_core *core, struct slu_core_groups *groups, bool is_held)
{
	struct slu_core_group *group;

	TAILQ_FOREACH (group, groups, state_link) {
		if (is_listed(core, group) || !slu_core_group_is_at_rest(group) ||
		    slu_core_group_is_held(group) != is_held ||
		    (group->state != SLU_CORE_IDLE && !is_held))
			continue;
		assert(core->n_shown < core->n_group_capacity);
		core->timeline[core->n_shown++] = (struct slu_core_timeline_turn){
			.group = group,
			.start_ns = SLU_CORE_NEVER,
		};
	}
}

bool slu_core_timeline(struct slu_core *core, unsigned device, size_t *cursor,
		       struct slu_core_turn_view *ret_turn)
{
	if (!core->n_shown) {
		core->n_shown = core->n_timeline;
		show(core, &core->idle, false);
		show(core, &core->active, true);
		show(core, &core->idle, true);
	}
	while (*cursor < core->n_shown) {
		const struct slu_core_timeline_turn *turn = &core->timeline[(*cursor)++];

		if (!slu_core_group_uses(turn->group, device))
			continue;
		*ret_turn = (struct slu_core_turn_view){
			.group = turn->group->id,
			.name = slu_core_group_name(turn->group),
			.state = turn->group->state,
			.is_next = turn->group->is_next,
			.start_ns = turn->start_ns,
			.length_ns = turn->length_ns,
			.sure_percent = turn->sure_percent,
		};
		return true;
	}
	return false;
}
