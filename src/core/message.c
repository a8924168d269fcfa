/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A part of core.h: the messages of a joined client. None of them decides anything: the core notes
 * them, the group's state follows its seats, and the next step decides.
 */

#include "base/size.h"
#include "base/util.h"
#include "core/group.h"
#include "core/sched/grow.h"
#include "core/sched/stall.h"
#include "core/sched/turns.h"
#include "core/send.h"
#include "core/state.h"

static struct slu_core_seat *seat_at(struct slu_core_client *client, unsigned place)
{
	return place < client->n_seats ? &client->seats[place] : NULL;
}

static struct slu_core_account *account_at(struct slu_core_client *client, struct slu_account name)
{
	struct slu_core_seat *seat;

	switch (name.tier) {
	case SLU_TIER_DEVICE:
		seat = seat_at(client, name.device);
		return seat ? &seat->account : NULL;
	case SLU_TIER_PINNED:
		return &client->pinned;
	case SLU_TIER_PAGEABLE:
		return &client->pageable;
	case SLU_TIER_DISK:
		return &client->disk;
	default:
		return NULL;
	}
}

static void fills_progress(struct slu_core *core, unsigned device)
{
	struct slu_core_group *group;

	TAILQ_FOREACH (group, &core->active, state_link)
		if (group->state == SLU_CORE_FILLING && slu_core_group_uses(group, device))
			slu_core_turns_progress(core, group);
}

/*
 * Rule 34: the progress of a fill is bytes placed. Bytes that leave to make place for it count too:
 * their number is finite, and a large unit takes time.
 */
static void note_progress(struct slu_core *core, const struct slu_core_account *account,
			  uint64_t held_before)
{
	struct slu_core_group *group = account->client->group;

	if (account->held_bytes > held_before)
		slu_core_turns_progress(core, group);
	if (account->held_bytes >= held_before || held_before <= account->limit_bytes ||
	    !account->seat)
		return;
	fills_progress(core, account->seat->device);
}

static void note_pinned(struct slu_core *core, struct slu_core_client *client,
			uint64_t refused_bytes)
{
	char size[SLU_SIZE_STRING_MAX];

	if (!refused_bytes)
		return;
	client->pin_refused_ns = core->now_ns;
	if (client->pin_vain_ns)
		return;
	client->pin_vain_ns = core->now_ns;
	slu_core_report(core, client->id, "the driver refused %s %s of pinned memory", client->name,
			slu_size_format(size, refused_bytes));
}

static int on_sums(struct slu_core *core, struct slu_core_client *client,
		   const struct slu_msg_sums *sums)
{
	struct slu_core_account *account = account_at(client, sums->account);
	char size[SLU_SIZE_STRING_MAX];
	bool was_stalled;
	uint64_t before;
	int r;

	if (!account)
		return SLU_CORE_E_UNKNOWN;
	before = account->held_bytes;
	was_stalled = account->is_stalled;
	r = slu_core_account_answer(account, core->now_ns, sums);
	if (account->seat && was_stalled && !account->is_stalled)
		slu_core_stall_end(client->group);
	if (!sums->refused_bytes)
		note_progress(core, account, before);
	if (r == 0 && sums->refused_bytes && account->seat &&
	    slu_core_account_take_refusal(account, core->now_ns, core->config.rise_period_ns)) {
		slu_core_capacity_refused(account->capacity, core->now_ns);
		slu_core_report(core, client->id, "the driver refused %s %s", client->name,
				slu_size_format(size, sums->refused_bytes));
	}
	if (account == &client->pinned)
		note_pinned(core, client, r == 0 ? sums->refused_bytes : 0);
	if (r == 0 && sums->refused_bytes && account == &client->disk) {
		client->disk_refused_ns = core->now_ns;
		slu_core_report(core, client->id, "the disk is full: %s could not write",
				client->name);
	}
	if (account->seat)
		slu_core_seat_holds(account->seat, core->now_ns);
	slu_core_send_roster(core, client);
	return 0;
}

static int on_want(struct slu_core *core, struct slu_core_client *client,
		   const struct slu_msg_want *want)
{
	struct slu_core_seat *seat;

	if (want->account.tier == SLU_TIER_PAGEABLE) {
		client->backing_want_bytes = SLU_MIN(want->all_bytes, SLU_CORE_BYTES_MAX);
		core->is_asked_for_backing = true;
		client->backing_least_bytes = client->backing_want_bytes;
		if (want->min_bytes && want->min_bytes < client->backing_want_bytes)
			client->backing_least_bytes = want->min_bytes;
		client->disk_want_bytes = SLU_MIN(want->largest_bytes, SLU_CORE_BYTES_MAX);
		return 0;
	}
	seat = want->account.tier == SLU_TIER_DEVICE ? seat_at(client, want->account.device) : NULL;
	if (!seat)
		return SLU_CORE_E_UNKNOWN;
	slu_core_seat_want(seat, core->now_ns, want);
	return 0;
}

/* The need of a LAUNCH program depends on it, and so does the peak that counts next to others. */
static void set_runnable(struct slu_core *core, struct slu_core_seat *seat, bool is_runnable)
{
	struct slu_msg_want want = seat->want;
	bool is_denied = seat->is_denied;

	want.is_runnable = is_runnable;
	slu_core_seat_want(seat, core->now_ns, &want);
	seat->is_denied = is_denied;
}

/* A program that lacks the bytes it asked for makes no progress, but it is not idle. */
static bool waits_for_us(const struct slu_core_seat *seat)
{
	const struct slu_core_account *account = &seat->account;

	if (seat->is_denied)
		return false;
	switch (seat->mode) {
	case SLU_MODE_LAUNCH:
		return slu_core_seat_need_bytes(seat) > account->held_bytes;
	case SLU_MODE_MAPPED:
		return seat->need_bytes > account->limit_bytes;
	default:
		return slu_core_seat_need_bytes(seat) > account->limit_bytes;
	}
}

static int on_turn(struct slu_core *core, struct slu_core_client *client,
		   const struct slu_msg_turn *turn, bool is_ready)
{
	struct slu_core_seat *seat = seat_at(client, turn->device);

	if (!seat)
		return SLU_CORE_E_UNKNOWN;
	if (slu_epoch_is_none(turn->epoch) || !slu_epoch_equal(seat->epoch, turn->epoch))
		return 0;
	if (!is_ready && !waits_for_us(seat))
		set_runnable(core, seat, false);
	else if (is_ready && seat->phase == SLU_CORE_PHASE_TURN)
		seat->phase = SLU_CORE_PHASE_READY;
	if (is_ready && seat->mode != SLU_MODE_LAUNCH)
		seat->is_served = true;
	return 0;
}

static int on_rest(struct slu_core *core, struct slu_core_client *client,
		   const struct slu_msg_rest *rest)
{
	struct slu_core_seat *seat = seat_at(client, rest->device);

	if (!seat)
		return SLU_CORE_E_UNKNOWN;
	seat->account.floor_bytes = SLU_MIN(rest->floor_bytes, seat->account.held_bytes);
	if (slu_epoch_is_none(rest->epoch) || !slu_epoch_equal(seat->epoch, rest->epoch))
		return 0;
	seat->phase = SLU_CORE_PHASE_NONE;
	seat->epoch = (struct slu_epoch){};
	set_runnable(core, seat, rest->is_runnable);
	return 0;
}

/* Parts of a unit count as well: a large one may take longer than the fill deadline. */
static void note_moved(struct slu_core *core, struct slu_core_seat *seat,
		       const struct slu_msg_facts *facts)
{
	struct slu_core_account *account = &seat->account;
	struct slu_core_group *group = account->client->group;

	if (facts->moved_in_bytes != seat->facts.moved_in_bytes) {
		slu_core_stall_end(group);
		if (group->state == SLU_CORE_FILLING)
			slu_core_turns_progress(core, group);
	}
	if (facts->moved_out_bytes == seat->facts.moved_out_bytes)
		return;
	if (account->is_stalled)
		slu_core_stall_end(group);
	if (account->held_bytes > account->limit_bytes)
		fills_progress(core, seat->device);
	slu_core_account_moved(account, core->now_ns);
}

static int on_facts(struct slu_core *core, struct slu_core_client *client,
		    const struct slu_msg_facts *facts)
{
	struct slu_core_seat *seat = seat_at(client, facts->device);

	if (!seat)
		return SLU_CORE_E_UNKNOWN;
	if (seat->mode == SLU_MODE_LAUNCH && facts->n_served != seat->facts.n_served)
		seat->is_served = true;
	note_moved(core, seat, facts);
	/* held bytes also grow before the driver is asked, and fall when it refuses */
	if (facts->mapped_bytes > seat->facts.mapped_bytes)
		client->pin_vain_ns = 0;
	seat->facts = *facts;
	slu_core_grow_note(core, seat);
	return 0;
}

int slu_core_message(struct slu_core *core, uint64_t now_ns, uint64_t client_id,
		     const struct slu_message *m)
{
	struct slu_core_client *client = slu_core_client_find(core, client_id);
	int r;

	slu_core_set_now(core, now_ns);
	if (!client || !slu_core_client_is_joined(client))
		return SLU_CORE_E_UNKNOWN;
	switch (m->header.type) {
	case SLU_MSG_SUMS:
		r = on_sums(core, client, &m->sums);
		break;
	case SLU_MSG_WANT:
		r = on_want(core, client, &m->want);
		break;
	case SLU_MSG_READY:
		r = on_turn(core, client, &m->turn, true);
		break;
	case SLU_MSG_IDLE:
		r = on_turn(core, client, &m->turn, false);
		break;
	case SLU_MSG_REST:
		r = on_rest(core, client, &m->rest);
		break;
	case SLU_MSG_FACTS:
		r = on_facts(core, client, &m->facts);
		break;
	default:
		return SLU_CORE_E_UNKNOWN;
	}
	if (!r)
		slu_core_turns_update(core, client->group);
	return r;
}
