/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/unfit.h"

#include <stdio.h>

#include "base/size.h"
#include "base/util.h"
#include "core/fit/shortage.h"
#include "core/group.h"
#include "core/send.h"

static bool may_be_denied(const struct slu_core_client *client, const struct slu_core_seat *seat)
{
	return slu_core_client_is_joined(client) && seat->want.is_runnable;
}

static bool is_concerned(const struct slu_core_seat *seat, int device)
{
	return device == SLU_CORE_PLAN_PINNED ? seat->mode == SLU_MODE_MAPPED
					      : seat->device == (unsigned)device;
}

static uint64_t missing_bytes(const struct slu_core_seat *seat)
{
	return slu_sub_floor(slu_core_seat_need_bytes(seat), seat->account.held_bytes);
}

/* What @seat could have at present, as far as that is known of it alone; else 0. */
static uint64_t possible_bytes(const struct slu_core_group *group, const struct slu_core_seat *seat,
			       const struct slu_core_shortage *shortage)
{
	const struct slu_core_client *only = TAILQ_FIRST(&group->members);

	if (TAILQ_NEXT(only, member_link) || shortage->device != (int)seat->device)
		return 0;
	return shortage->free_bytes;
}

/*
 * Denies one seat: the one that lacks most where bytes are short, because what it gives up may be
 * enough for the others. If none of these wants to run, a seat that waits because of them.
 */
static void group_deny(struct slu_core *core, struct slu_core_group *group,
		       const struct slu_core_shortage *shortage, bool is_first, const char *why)
{
	char need[SLU_SIZE_STRING_MAX], free_text[SLU_SIZE_STRING_MAX], reason[SLU_CORE_REASON_MAX];
	struct slu_core_client *client, *denied = NULL;
	struct slu_core_seat *chosen = NULL;
	bool is_better;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			struct slu_core_seat *seat = &client->seats[i];

			if (!may_be_denied(client, seat))
				continue;
			if (is_first && seat->is_denied)
				return;
			is_better = !chosen || missing_bytes(seat) > missing_bytes(chosen);
			if (chosen && is_concerned(seat, shortage->device) !=
					      is_concerned(chosen, shortage->device))
				is_better = is_concerned(seat, shortage->device);
			if (!is_better)
				continue;
			chosen = seat;
			denied = client;
		}
	if (!chosen)
		return;
	chosen->is_denied = true;
	chosen->peak_bytes = slu_core_seat_beside_bytes(chosen);
	slu_core_patience_renew(core, group, false);
	snprintf(reason, sizeof(reason), "%s needs %s%s, %s are available%s", denied->name,
		 slu_size_format(need, shortage->need_bytes),
		 shortage->device == SLU_CORE_PLAN_PINNED ? " of memory.pinned" : "",
		 slu_size_format(free_text, shortage->free_bytes), why);
	/* a shortage with a reason of its own may pass */
	slu_core_send_deny(core, denied, chosen, *why ? 0 : possible_bytes(group, chosen, shortage),
			   reason);
}

void slu_core_unfit_deny(struct slu_core *core, struct slu_core_group *group,
			 const struct slu_core_shortage *shortage, const char *why)
{
	group_deny(core, group, shortage, false, why);
}

/*
 * No group is denied because of others' refusals: the driver may give this group more. Return:
 * whether it fits if these refusals are forgotten, and has had no turn to try.
 */
static bool may_try(struct slu_core *core, struct slu_core_group *group,
		    struct slu_core_shortage *ret_shortage)
{
	if (slu_core_patience_is_tried(group))
		return false;
	slu_core_shortage_forget(core, group);
	if (slu_core_plan_group(core, group, true, false, ret_shortage))
		return false;
	slu_core_patience_renew(core, group, true);
	core->deadline_ns = core->now_ns; /* this step has passed the group over already */
	return true;
}

/* Rule 43. Return: whether @group goes on with a part of its memory MAPPED instead of a denial. */
static bool may_map(struct slu_core *core, struct slu_core_group *group,
		    const struct slu_core_shortage *shortage)
{
	struct slu_core_client *client;
	struct slu_core_seat *seat;
	bool is_new = false;

	SLU_CORE_FOREACH_SEAT (group, client, seat) {
		if (!is_concerned(seat, shortage->device) || !seat->maps_if_larger ||
		    seat->mode != SLU_MODE_ALL || !slu_core_shortage_is_taught(core, seat))
			continue;
		seat->maps_refused = is_new = true;
	}
	if (is_new)
		core->deadline_ns = core->now_ns; /* the next step knows the new mode */
	return is_new;
}

void slu_core_unfit_note(struct slu_core *core, struct slu_core_group *group,
			 const struct slu_core_shortage *shortage)
{
	const struct slu_core_group *other = slu_core_shortage_keeper(core, group, shortage);
	struct slu_core_shortage lasting;
	bool is_never;

	group->is_next = false;
	group->why = (struct slu_core_why){
		.kind = SLU_CORE_WHY_BYTES,
		.other = other ? other->id : 0,
		.need_bytes = shortage->need_bytes,
		.free_bytes = shortage->free_bytes,
	};
	slu_core_shortage_note(core, group, shortage);
	if (!slu_core_plan_group(core, group, true, false, &lasting))
		return;

	group->why.kind = lasting.device == SLU_CORE_PLAN_PINNED ? SLU_CORE_WHY_PINNED
								 : SLU_CORE_WHY_CAPACITY;
	group->why.need_bytes = lasting.need_bytes;
	group->why.free_bytes = lasting.free_bytes;
	slu_core_patience_unfit(core, group);
	is_never = slu_core_plan_group(core, group, true, true, NULL) != 0;
	if (is_never ||
	    slu_core_shortage_is_final(core, group, &lasting, slu_core_patience_is_tried(group))) {
		if (!may_map(core, group, &lasting))
			group_deny(core, group, &lasting, !slu_core_patience_is_over(core, group),
				   "");
	} else if (slu_core_patience_is_over(core, group) && !may_try(core, group, &lasting) &&
		   !may_map(core, group, &lasting)) {
		group_deny(core, group, &lasting, false, "");
	}
}

void slu_core_unfit_pinned(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link) {
		struct slu_core_shortage shortage = {
			.device = SLU_CORE_PLAN_PINNED,
			.need_bytes = client->pinned_goal_bytes,
			.free_bytes = client->pinned.held_bytes,
		};

		if (!client->pin_vain_ns ||
		    client->pinned.held_bytes >= client->pinned_goal_bytes ||
		    !slu_core_is_due(core,
				     slu_core_after(client->pin_vain_ns, core->config.patience_ns)))
			continue;
		client->pin_vain_ns = 0;
		group_deny(core, group, &shortage, false, ": the driver refuses to pin more");
	}
}
