/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/size.h"
#include "base/util.h"
#include "core/fit/guess.h"
#include "core/group.h"
#include "core/sched/stall.h"
#include "core/sched/turns.h"
#include "core/send.h"

#define STALL_NS (SLU_NS_PER_S / 2) /* a large unit may take this long */

void slu_core_turns_progress(struct slu_core *core, struct slu_core_group *group)
{
	if (group->state == SLU_CORE_FILLING)
		group->stalled_ns += slu_sub_floor(core->now_ns - group->progress_ns, STALL_NS);
	group->progress_ns = core->now_ns;
}

void slu_core_turns_grant(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_client *client;
	char reason[SLU_CORE_REASON_MAX];
	char span[SLU_SIZE_STRING_MAX];

	assert(group->state == SLU_CORE_WAITING);
	snprintf(reason, sizeof(reason), "%s has its turn after a wait of %s",
		 slu_core_group_name(group),
		 slu_size_format_time(span, core->now_ns - group->since_ns));
	group->epoch = (struct slu_epoch){ core->config.generation, ++core->n_epochs };
	group->granted_ns = group->progress_ns = core->now_ns;
	group->used_before_ns = group->used_ns;
	group->stalled_ns = 0;
	group->is_adopted = false;
	group->is_returned = false;
	group->waits_to_grow = false;
	group->is_next = false;
	group->closes_others = false;
	group->n_turns++;
	slu_core_guess_turn(core, group);
	slu_core_group_enter(core, group, SLU_CORE_FILLING);
	TAILQ_FOREACH (client, &group->members, member_link) {
		if (!slu_core_client_is_joined(client))
			continue;
		for (unsigned i = 0; i < client->n_seats; i++) {
			struct slu_core_seat *seat = &client->seats[i];

			assert(seat->phase == SLU_CORE_PHASE_NONE);
			seat->phase = SLU_CORE_PHASE_TURN;
			seat->epoch = group->epoch;
			slu_core_send_turn(core, client, seat, reason);
		}
	}
}

void slu_core_turns_close(struct slu_core *core, struct slu_core_group *group, const char *reason,
			  ...)
{
	struct slu_core_client *client;
	char text[SLU_CORE_REASON_MAX];
	va_list args;

	assert(slu_core_group_is_open(group));
	va_start(args, reason);
	vsnprintf(text, sizeof(text), reason, args);
	va_end(args);
	group->is_overgrown = false;
	group->drain_ns = slu_core_after(core->now_ns, core->config.close_deadline_ns);
	slu_core_group_enter(core, group, SLU_CORE_DRAINING);
	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			struct slu_core_seat *seat = &client->seats[i];

			if (seat->phase != SLU_CORE_PHASE_TURN &&
			    seat->phase != SLU_CORE_PHASE_READY)
				continue;
			seat->phase = SLU_CORE_PHASE_CLOSING;
			slu_core_send_close(core, client, seat, text);
		}
	slu_core_turns_update(core, group);
}

static bool has_turn(const struct slu_core_group *group)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].phase != SLU_CORE_PHASE_NONE)
				return true;
	return false;
}

/*
 * A seat that wants to run and cannot yet, also that of a lost member. In mode LAUNCH the gate
 * opens at once; the first command can run when the window is as large as the command (rule 19).
 */
static bool is_filling(const struct slu_core_seat *seat)
{
	if (!seat->want.is_runnable)
		return false;
	if (seat->phase == SLU_CORE_PHASE_TURN)
		return true;
	return seat->phase == SLU_CORE_PHASE_READY && seat->mode == SLU_MODE_LAUNCH &&
	       seat->account.held_bytes < slu_core_seat_need_bytes(seat);
}

static bool is_still_filling(const struct slu_core_group *group)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (is_filling(&client->seats[i]))
				return true;
	return false;
}

/* Every seat that wants to run waits for bytes: the group uses nothing although it has its turn. */
static bool is_lacking(const struct slu_core_group *group)
{
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			if (client->seats[i].want.is_runnable && !is_filling(&client->seats[i]))
				return false;
	return true;
}

/*
 * The time before the first turn is no pause, since nothing follows from it; and the moment between
 * two launches in which a turn was closed is no rest.
 */
static void note_rest(struct slu_core *core, struct slu_core_group *group, bool is_runnable)
{
	uint64_t span;

	if (!is_runnable && group->rest_ns == SLU_CORE_NEVER)
		group->rest_ns = core->now_ns;
	if (!is_runnable || group->rest_ns == SLU_CORE_NEVER)
		return;
	span = core->now_ns - group->rest_ns;
	group->rest_ns = SLU_CORE_NEVER;
	group->is_returned = !group->n_turns || span >= core->config.idle_ns;
	if (group->n_turns)
		group->pause_ns = span;
}

void slu_core_turns_update(struct slu_core *core, struct slu_core_group *group)
{
	bool is_runnable = slu_core_group_is_runnable(group);
	char span[SLU_SIZE_STRING_MAX];

	if (!slu_core_group_is_at_rest(group) && !has_turn(group)) {
		group->epoch = (struct slu_epoch){};
		group->is_stuck = false;
		group->is_adopted = false;
		group->is_overgrown = false;
		slu_core_group_enter(core, group, is_runnable ? SLU_CORE_WAITING : SLU_CORE_IDLE);
	}
	if (group->state == SLU_CORE_IDLE && is_runnable)
		slu_core_group_enter(core, group, SLU_CORE_WAITING);
	else if (group->state == SLU_CORE_WAITING && !is_runnable)
		slu_core_group_enter(core, group, SLU_CORE_IDLE);
	if (group->state != SLU_CORE_WAITING)
		group->is_next = false;

	if (group->state == SLU_CORE_FILLING && !is_still_filling(group)) {
		slu_core_turns_progress(core, group);
		group->running_ns = core->now_ns;
		group->switch_ns = core->now_ns - group->granted_ns - group->stalled_ns;
		slu_core_stall_forget(group);
		slu_core_group_enter(core, group, SLU_CORE_RUNNING);
		slu_core_report(core, TAILQ_FIRST(&group->members)->id,
				"%s runs, the switch took %s", slu_core_group_name(group),
				slu_size_format_time(span, group->switch_ns));
	}
	note_rest(core, group, is_runnable);
	slu_core_patience_update(group);
	slu_core_group_spend(core, group, group->state == SLU_CORE_RUNNING && !is_runnable,
			     group->state == SLU_CORE_RUNNING && is_runnable && is_lacking(group));
	slu_core_group_want(core, group, is_runnable);
}

void slu_core_turns_complete(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_client *client;

	if (!slu_core_group_is_open(group))
		return;
	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++) {
			struct slu_core_seat *seat = &client->seats[i];

			if (seat->phase != SLU_CORE_PHASE_NONE || !seat->want.is_runnable ||
			    !slu_core_client_is_joined(client))
				continue;
			seat->phase = SLU_CORE_PHASE_TURN;
			seat->epoch = group->epoch;
			slu_core_send_turn(core, client, seat, "its group has the turn already");
		}
}

void slu_core_turns_resume(struct slu_core *core, struct slu_core_client *client,
			   struct slu_core_seat *seat, struct slu_epoch epoch, bool gate_is_open)
{
	struct slu_core_group *group = client->group;

	seat->epoch = epoch;
	if (slu_core_group_is_open(group) && slu_epoch_equal(group->epoch, epoch)) {
		seat->phase = gate_is_open ? SLU_CORE_PHASE_READY : SLU_CORE_PHASE_TURN;
		return;
	}
	seat->phase = SLU_CORE_PHASE_CLOSING;
	slu_core_send_close(core, client, seat, "its turn is not the present one");
	if (slu_core_group_is_open(group))
		return;
	if (slu_core_group_is_at_rest(group)) {
		group->epoch = epoch;
		slu_core_group_enter(core, group, SLU_CORE_DRAINING);
	}
	group->is_stuck = false;
	group->drain_ns = slu_core_after(core->now_ns, core->config.close_deadline_ns);
}
