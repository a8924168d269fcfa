/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The gate of one device. It opens when this client may run and every unit is in place. Before
 * that, single calls may pass (early.c). It is shut when the client may run no more, or when an
 * allocation or a mapped unit needs the program at rest. That takes time: from the action SHUT
 * until slu_peer_turn_drained() the gate is DRAINING, and no unit begins to move.
 *
 * Every CLOSE gets a REST of its own epoch (rule 24): for the present turn after the drain, for any
 * other turn at once.
 */

#include <assert.h>

#include "peer/internal.h"

bool slu_peer_turn_may_run(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	if (peer->is_alone)
		return true;
	return !slu_epoch_is_none(d->epoch) && !slu_epoch_equal(d->epoch, d->close_epoch);
}

bool slu_peer_turn_at_rest(const struct slu_peer_device *d)
{
	return d->gate == SLU_PEER_GATE_SHUT && !d->is_blocked;
}

bool slu_peer_turn_may_bring_in(const struct slu_peer_device *d)
{
	return slu_peer_turn_at_rest(d) || d->gate == SLU_PEER_GATE_PARTIAL ||
	       (d->gate == SLU_PEER_GATE_SHUT && d->is_early);
}

static void rest_push(struct slu_peer *peer, unsigned index, struct slu_epoch epoch)
{
	struct slu_peer_device *d = &peer->devices[index];
	struct slu_peer_record *r = slu_peer_push_message(peer, SLU_MSG_REST, index);

	if (!r)
		return;
	r->rest = (struct slu_msg_rest){
		.device = (uint8_t)index,
		.is_runnable = d->is_wanted || d->n_command > 0,
		.epoch = epoch,
		.floor_bytes = slu_peer_account_floor(peer, d),
	};
	d->account.reported_floor_bytes = r->rest.floor_bytes;
}

void slu_peer_turn_close(struct slu_peer *peer, uint64_t now_ns, const struct slu_msg_close *close)
{
	struct slu_peer_device *d = &peer->devices[close->device];

	if (!slu_epoch_equal(d->epoch, close->epoch)) {
		if (!slu_epoch_equal(d->close_epoch, close->epoch))
			rest_push(peer, close->device, close->epoch);
		return;
	}
	if (!d->late_until_ns &&
	    !slu_peer_boundary_wait(peer, now_ns, close->device, close->epoch, close->deadline_ns))
		d->close_epoch = close->epoch;
}

/* Answers the CLOSE. The grants of the turn end with it. */
static void turn_rest(struct slu_peer *peer, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];

	rest_push(peer, index, d->close_epoch);
	d->want.is_runnable = d->is_wanted || d->n_command > 0;
	if (slu_epoch_equal(d->epoch, d->close_epoch))
		d->epoch = (struct slu_epoch){ 0 };
	d->close_epoch = d->ready_epoch = (struct slu_epoch){ 0 };
	d->account.pace = SLU_PACE_NONE;
	d->account.is_due = true;
	d->want_is_current = false;
	d->wake_is_due = true;
}

static void gate_shut(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	slu_peer_working_shut(&peer->devices[index], now_ns);
	peer->devices[index].gate = SLU_PEER_GATE_DRAINING;
	slu_peer_push(peer, SLU_PEER_SHUT, index);
}

/*
 * Mode MAPPED: neither limit nor goal will ever hold the allocation, but pinned memory would, once
 * pinned copies yield. The daemon knows of it and had time to answer with more.
 */
static bool alloc_needs_rest(struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];
	const struct slu_unit *u = slu_peer_alloc_waiting(peer, index);
	uint64_t limit = SLU_MAX(d->account.limit_bytes, d->account.goal_bytes);

	return u && slu_peer_move_uses_map(peer, d) && d->account.held_bytes + u->bytes > limit &&
	       peer->pinned.held_bytes - peer->copies_bytes + u->bytes <=
		       peer->pinned.limit_bytes &&
	       !d->grows_until_ns && !slu_peer_want_grew(peer, index);
}

/*
 * Mode MAPPED: half or more of what is mapped fits on the device now, because a program that was
 * slow to leave has left. Mapped memory is so slow that a rest pays.
 */
static bool promotion_needs_rest(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t limit = SLU_MIN(d->account.limit_bytes, d->account.goal_bytes);
	uint64_t mapped = d->place_bytes[SLU_PLACE_MAPPED];

	return mapped && slu_sub_floor(limit, d->account.held_bytes) >= (mapped + 1) / 2 &&
	       slu_peer_move_promotable(peer, d);
}

/* Every unit that a command might touch is present, and waiting allocations have asked again. */
static bool device_is_complete(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	if (d->mode == SLU_MODE_LAUNCH)
		return true;
	return d->n_absent == 0 && !slu_peer_alloc_waiting(peer, index) &&
	       !slu_peer_move_promotable(peer, d) && slu_peer_paging_is_complete(peer, d);
}

static void gate_open(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];

	if (d->gate == SLU_PEER_GATE_SHUT)
		slu_peer_working_opened(d, now_ns);
	d->gate = SLU_PEER_GATE_OPEN;
	d->is_early = false;
	d->is_wanted = false;
	d->idle_is_reported = false;
	d->busy_ns = now_ns;
	d->denied_until_ns = 0;
	d->wake_is_due = true;
	slu_peer_push(peer, SLU_PEER_OPEN, index);
}

/* Whether the program must come to rest although it has units to run with. */
static bool turn_needs_rest(struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	switch (d->gate) {
	case SLU_PEER_GATE_PARTIAL:
		return !slu_peer_turn_may_run(peer, d) || !slu_peer_early_is_possible(peer, index);
	case SLU_PEER_GATE_OPEN:
		return !slu_peer_turn_may_run(peer, d) || alloc_needs_rest(peer, index) ||
		       promotion_needs_rest(peer, d);
	default:
		return false;
	}
}

static bool gate_may_open(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	return (d->gate == SLU_PEER_GATE_SHUT || d->gate == SLU_PEER_GATE_PARTIAL) &&
	       slu_peer_turn_may_run(peer, d) && device_is_complete(peer, index);
}

void slu_peer_turn_step(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];

	if (turn_needs_rest(peer, index))
		gate_shut(peer, now_ns, index);
	if (d->gate == SLU_PEER_GATE_SHUT && !slu_epoch_is_none(d->close_epoch))
		turn_rest(peer, index);
	if (gate_may_open(peer, index))
		gate_open(peer, now_ns, index);
	if (d->gate == SLU_PEER_GATE_OPEN && peer->is_connected && !slu_epoch_is_none(d->epoch) &&
	    !slu_epoch_equal(d->epoch, d->ready_epoch)) {
		struct slu_peer_record *r = slu_peer_push_message(peer, SLU_MSG_READY, index);

		r->turn = (struct slu_msg_turn){ .device = (uint8_t)index, .epoch = d->epoch };
		d->ready_epoch = d->epoch;
	}
}

int slu_peer_turn_want_open(struct slu_peer *peer, uint64_t now_ns, unsigned device)
{
	struct slu_peer_device *d = &peer->devices[device];

	if (d->gate == SLU_PEER_GATE_OPEN)
		return 0;
	if (now_ns < d->denied_until_ns) {
		d->is_wanted = false;
		return SLU_PEER_E_DENIED;
	}
	d->is_wanted = true;
	return SLU_PEER_E_WAIT;
}

void slu_peer_turn_progress(struct slu_peer *peer, uint64_t now_ns, unsigned device, bool busy)
{
	struct slu_peer_device *d = &peer->devices[device];
	struct slu_peer_record *r;

	if (d->gate != SLU_PEER_GATE_OPEN)
		return;
	if (busy) {
		d->busy_ns = now_ns;
		/* a WANT takes the hint back */
		if (d->idle_is_reported) {
			d->idle_is_reported = false;
			d->want_is_due = d->want_ends_idle = true;
		}
		return;
	}
	/* a program that waits for the daemon or for its units is not idle: the daemon would forget
	 * it */
	if (d->idle_is_reported || slu_epoch_is_none(d->epoch) ||
	    slu_peer_want_is_unmet(peer, device) || d->n_command ||
	    now_ns - d->busy_ns < peer->config.idle_ns)
		return;
	r = slu_peer_push_message(peer, SLU_MSG_IDLE, device);
	if (!r)
		return;
	r->turn = (struct slu_msg_turn){ .device = (uint8_t)device, .epoch = d->epoch };
	d->idle_is_reported = true;
	d->want.is_runnable = 0;
	peer->n_reports++;
}

static void units_clear_blocked(struct slu_peer_device *d)
{
	struct slu_unit *u;

	d->is_blocked = d->is_early = false;
	if (!d->has_blocked)
		return;
	d->has_blocked = false;
	slu_peer_tally_note_scan(d);
	TAILQ_FOREACH (u, &d->units, link)
		u->blocked = false;
}

void slu_peer_turn_drained(struct slu_peer *peer, uint64_t now_ns, unsigned device, bool blocked)
{
	struct slu_peer_device *d = &peer->devices[device];

	assert(d->gate == SLU_PEER_GATE_DRAINING);
	d->gate = SLU_PEER_GATE_SHUT;
	if (blocked)
		d->is_blocked = d->has_blocked = true;
	else
		units_clear_blocked(d);
	d->account.is_due = true;
	d->account.final_is_reported = false;
	if (slu_peer_move_uses_map(peer, d))
		peer->pinned.is_due = true;
	d->wake_is_due = true;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_turn_unblocked_unit(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	u->blocked = false;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_turn_unblocked(struct slu_peer *peer, uint64_t now_ns, unsigned device)
{
	struct slu_peer_device *d = &peer->devices[device];

	units_clear_blocked(d);
	d->account.is_due = true;
	d->account.final_is_reported = false;
	if (slu_peer_move_uses_map(peer, d))
		peer->pinned.is_due = true;
	slu_peer_reports_touch(peer, now_ns);
}
