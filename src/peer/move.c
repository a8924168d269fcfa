/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which moves begin. move-end.c has their end.
 *
 * Out: while more is held than allowed, at rest (mode LAUNCH: any unit that no command names). In
 * mode LAUNCH also for the command in front, inside its own window, or at another device. In: into
 * the free bytes below the limit, in a turn or when the daemon fills ahead, and only while no
 * command that might touch the unit can run. To MAPPED: in a turn, units that will not be on the
 * device in this turn (above the goal).
 *
 * A move that is no longer wanted is asked to stop at its next chunk; it may still end as done.
 */

#include "peer/internal.h"
#include "place/place.h"

/* Moves under way in one direction: at least this many, more while they are small. */
#define MOVES_MIN 2
#define N_CHUNKS  4 /* a mover pins two, and should find the next units ready */

bool slu_peer_move_uses_map(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return d->mode == SLU_MODE_MAPPED && peer->welcome.allow_mapped;
}

uint64_t slu_peer_move_limit(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return peer->is_alone ? d->alone_bytes : d->account.limit_bytes;
}

bool slu_peer_move_maps_none(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return !slu_peer_move_uses_map(peer, d) ||
	       (d->place_bytes[SLU_PLACE_MAPPED] == 0 && !d->account.goal_is_past &&
		d->owned_bytes <= d->account.goal_bytes);
}

static uint64_t free_bytes(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return slu_sub_floor(slu_peer_move_limit(peer, d), d->account.held_bytes);
}

/*
 * Mode MAPPED, in a turn: the bytes on the device that the daemon planned for it. After a refusal
 * they may be less than the limit: the rest is the reserve, which the driver needs itself.
 */
static bool has_share(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return slu_peer_move_uses_map(peer, d) && !peer->is_alone && slu_peer_turn_may_run(peer, d);
}

static uint64_t share_bytes(const struct slu_peer_device *d)
{
	return d->account.goal_is_past ? d->account.limit_bytes : d->account.goal_bytes;
}

/* The first unit that must be on the device itself and is away. */
static const struct slu_unit *awaited_unit(const struct slu_peer_device *d)
{
	const struct slu_unit *u;

	if (!d->device_only_bytes)
		return NULL;
	slu_peer_tally_note_scan(d);
	TAILQ_FOREACH (u, &d->units, link)
		if (u->device_only && slu_unit_is_away(u))
			return u;
	return NULL;
}

/*
 * The bytes that must be MAPPED instead, so that @held_bytes and the awaited unit are inside the
 * share. The daemon plans a share for it, or denies it.
 */
static uint64_t share_excess(const struct slu_peer *peer, const struct slu_peer_device *d,
			     uint64_t held_bytes)
{
	const struct slu_unit *u;

	if (!has_share(peer, d))
		return 0;
	u = awaited_unit(d);
	if (u && u->bytes <= share_bytes(d))
		held_bytes += u->bytes;
	return slu_sub_floor(held_bytes, share_bytes(d));
}

/* The bytes that may come in now. */
static uint64_t free_share(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t bytes = free_bytes(peer, d);

	if (has_share(peer, d))
		bytes = SLU_MIN(bytes, slu_sub_floor(share_bytes(d), d->account.held_bytes));
	return bytes;
}

struct slu_unit *slu_peer_move_promotable(const struct slu_peer *peer,
					  const struct slu_peer_device *d)
{
	uint64_t most = SLU_MIN(free_bytes(peer, d),
				slu_sub_floor(d->account.goal_bytes, d->account.held_bytes));
	struct slu_unit *u;

	/* absent units get the free bytes first; otherwise the device is never complete */
	if (!slu_peer_move_uses_map(peer, d) || peer->is_alone || most == 0 || d->n_absent ||
	    d->place_bytes[SLU_PLACE_MAPPED] == 0)
		return NULL;
	slu_peer_tally_note_scan(d);
	TAILQ_FOREACH (u, &d->units, link)
		if (u->place == SLU_PLACE_MAPPED && u->bytes <= most && slu_place_may_leave(u))
			return u;
	return NULL;
}

/* -- cancelling ------------------------------------------------------------------------------ */

bool slu_peer_move_may_fill(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return slu_peer_turn_may_run(peer, d) ||
	       (peer->is_connected && d->account.pace == SLU_PACE_AHEAD);
}

bool slu_peer_move_serves_command(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return d->mode == SLU_MODE_LAUNCH && d->n_command && d->gate == SLU_PEER_GATE_OPEN &&
	       slu_peer_turn_may_run(peer, d);
}

static bool move_is_void(const struct slu_peer *peer, const struct slu_peer_device *d,
			 const struct slu_unit *u)
{
	const struct slu_peer_account *a = &d->account;

	if (peer->is_alone)
		return false;
	switch (u->moving) {
	case SLU_MOVING_IN:
		return a->held_bytes > a->limit_bytes || !slu_peer_move_may_fill(peer, d) ||
		       slu_peer_crossing_claims(peer, u);
	case SLU_MOVING_OUT:
		return u->place == SLU_PLACE_DEVICE && a->held_bytes <= a->limit_bytes &&
		       !share_excess(peer, d, a->held_bytes) &&
		       !slu_peer_crossing_claims(peer, u) &&
		       !slu_peer_move_serves_command(peer, d) && !slu_peer_ahead_is_active(peer, d);
	default:
		return peer->pinned.held_bytes - peer->copies_bytes > peer->pinned.limit_bytes;
	}
}

static void move_cancel_void(struct slu_peer *peer, struct slu_peer_device *d)
{
	for (unsigned way = 0; way < _DIRECTION_MAX; way++)
		for (unsigned k = 0; k < SLU_PEER_MOVES_MAX && d->n_moving[way]; k++) {
			struct slu_unit *u = d->moving[way][k];

			if (u && move_is_void(peer, d, u))
				u->cancel = true;
		}
}

/* -- choosing -------------------------------------------------------------------------------- */

/* Bytes of the command in front that are not coming in yet. */
static uint64_t command_missing_bytes(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < d->n_command; i++)
		if (slu_unit_is_away(d->command[i]) ||
		    slu_peer_crossing_is_elsewhere(peer, d, d->command[i]))
			bytes += d->command[i]->bytes;
	return bytes;
}

/*
 * Mode LAUNCH: the window in which commands are served. While the daemon still raises it, its
 * future size: units that leave for each other in a small window would come back into the large one
 * a moment later. The daemon gives what WANT asked for, inside the goal.
 */
static uint64_t window_bytes(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t limit = slu_peer_move_limit(peer, d), wished = slu_peer_want_window_bytes(d);

	if (peer->is_alone || !d->grows_until_ns)
		return limit;
	wished = SLU_MIN(wished, d->account.goal_bytes);
	return SLU_MAX(limit, wished);
}

/* The bytes that must leave for the command in front; 0 if the window is too small for it. */
static uint64_t command_shortfall(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t missing;

	if (!slu_peer_move_serves_command(peer, d) ||
	    slu_peer_command_need(d) > slu_peer_move_limit(peer, d))
		return 0;
	missing = command_missing_bytes(peer, d);
	if (missing == 0)
		return 0;
	return slu_sub_floor(d->account.held_bytes - d->leaving_bytes + missing,
			     window_bytes(peer, d));
}

static struct slu_unit *unit_next_in(const struct slu_peer_device *d, uint64_t free_bytes,
				     enum slu_place_in which)
{
	if (free_bytes == 0)
		return NULL;
	slu_peer_tally_note_scan(d);
	return slu_place_next_in(&d->units, free_bytes, which, &d->foresight);
}

static struct slu_unit *unit_next_out(const struct slu_peer_device *d, enum slu_place from,
				      uint64_t shortfall_bytes)
{
	if (shortfall_bytes == 0 || d->place_bytes[from] == 0)
		return NULL;
	slu_peer_tally_note_scan(d);
	return slu_place_next_out(&d->units, from, shortfall_bytes, &d->foresight);
}

/* The mapped bytes beyond what pinned memory may hold when nothing is staged any more. */
static uint64_t mapped_excess_bytes(const struct slu_peer *peer)
{
	const struct slu_peer_account *a = &peer->pinned;

	return slu_sub_floor(a->held_bytes - peer->staged_bytes - peer->copies_bytes -
				     peer->unmapping_bytes,
			     a->limit_bytes);
}

static struct slu_unit *move_choose_out(const struct slu_peer *peer,
					const struct slu_peer_device *d)
{
	struct slu_unit *u = NULL;

	if (d->mode != SLU_MODE_LAUNCH && !slu_peer_turn_at_rest(d))
		return NULL;
	u = slu_peer_crossing_next_claimed(peer, d);
	if (u)
		return u;
	if (!peer->is_alone) {
		uint64_t held = d->account.held_bytes - d->leaving_bytes;

		u = unit_next_out(d, SLU_PLACE_DEVICE, slu_sub_floor(held, d->account.limit_bytes));
		if (!u)
			u = unit_next_out(d, SLU_PLACE_DEVICE, share_excess(peer, d, held));
		if (!u)
			u = unit_next_out(d, SLU_PLACE_MAPPED, mapped_excess_bytes(peer));
		if (!u && slu_peer_turn_may_run(peer, d))
			u = slu_peer_move_promotable(peer, d);
	}
	if (peer->is_alone && d->alone_gives)
		return unit_next_out(d, SLU_PLACE_DEVICE, d->account.held_bytes - d->leaving_bytes);
	if (!u) {
		u = unit_next_out(d, SLU_PLACE_DEVICE, command_shortfall(peer, d));
		if (u && u->wanted)
			u = NULL;
	}
	if (!u && !(slu_peer_move_serves_command(peer, d) && command_missing_bytes(peer, d)))
		u = slu_peer_ahead_next_out(peer, d);
	return u;
}

/* Ahead, or behind the command in front: without a request nothing moves in a turn. */
static bool fetches_working_set(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	if (peer->is_alone || d->n_working_absent == 0)
		return false;
	return slu_peer_turn_may_run(peer, d) ? slu_peer_move_serves_command(peer, d)
					      : slu_peer_move_may_fill(peer, d);
}

/* In a turn: a unit that is away and fits neither the device now nor the goal is to be mapped. */
static bool device_maps(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	if (!slu_peer_move_uses_map(peer, d) || !slu_peer_turn_may_run(peer, d) || peer->is_alone ||
	    d->account.goal_is_past)
		return false;
	/* a unit that still fits the goal waits until the limit reaches it */
	return !unit_next_in(d, slu_sub_floor(d->account.goal_bytes, d->account.held_bytes),
			     SLU_PLACE_IN_ANY);
}

/* The next unit that may be mapped with the credit of pinned memory. */
static struct slu_unit *unit_next_map(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	slu_peer_tally_note_scan(d);
	return slu_place_next_map(&d->units,
				  slu_sub_floor(peer->pinned.limit_bytes, peer->pinned.held_bytes));
}

bool slu_peer_move_wants_map(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return d->mode == SLU_MODE_MAPPED && slu_peer_turn_at_rest(d) && d->n_absent &&
	       !d->n_moving[IN] && !unit_next_in(d, free_share(peer, d), SLU_PLACE_IN_ANY) &&
	       device_maps(peer, d) && !unit_next_map(peer, d);
}

static struct slu_unit *move_choose_in(const struct slu_peer *peer, const struct slu_peer_device *d,
				       enum slu_moving *ret_moving)
{
	struct slu_unit *u;

	*ret_moving = SLU_MOVING_IN;
	if (d->mode == SLU_MODE_LAUNCH) {
		if (slu_peer_move_serves_command(peer, d) && command_missing_bytes(peer, d))
			return unit_next_in(d, free_bytes(peer, d), SLU_PLACE_IN_WANTED);
		u = fetches_working_set(peer, d)
			    ? unit_next_in(d, free_bytes(peer, d), SLU_PLACE_IN_WORKING)
			    : NULL;
		if (!u)
			u = slu_peer_ahead_next(peer, d);
		return u && u->bytes <= free_bytes(peer, d) ? u : NULL;
	}
	if (!slu_peer_turn_may_bring_in(d) || !slu_peer_move_may_fill(peer, d) || d->n_absent == 0)
		return NULL;
	u = unit_next_in(d, free_share(peer, d), SLU_PLACE_IN_ANY);
	if (u || !device_maps(peer, d))
		return u;
	*ret_moving = SLU_MOVING_MAP;
	return unit_next_map(peer, d);
}

static void move_begin(struct slu_peer *peer, unsigned index, struct slu_unit *u, unsigned way,
		       unsigned slot, enum slu_moving moving)
{
	struct slu_peer_device *d = &peer->devices[index];

	u->cancel = false;
	u->copied_bytes = 0;
	u->patient = u->ran_at == d->n_launches + 1;
	slu_peer_tally_set_place(d, u, u->place, moving);
	d->moving[way][slot] = u;
	d->n_moving[way]++;
	d->moving_bytes[way] += u->bytes;
	if (moving == SLU_MOVING_IN) {
		slu_peer_account_hold(&d->account, u->bytes);
		slu_peer_ahead_begin(d, u);
	} else if (moving == SLU_MOVING_MAP)
		slu_peer_account_hold(&peer->pinned, u->bytes);
	else if (u->place == SLU_PLACE_DEVICE)
		d->leaving_bytes += u->bytes;
	else
		peer->unmapping_bytes += u->bytes;
	slu_peer_push(peer, SLU_PEER_MOVE, index)->unit = u;
}

/*
 * A unit would leave only because the window is too small for the command in front or for headroom,
 * or be mapped only because it is above the goal. If the daemon does not know the need yet, WANT is
 * sent and the daemon has a moment to answer with more. Otherwise a program that fits would move
 * bytes to and fro inside a window that is about to grow.
 */
static bool move_waits_for_window(struct slu_peer *peer, uint64_t now_ns, unsigned index,
				  unsigned way, enum slu_moving moving)
{
	struct slu_peer_device *d = &peer->devices[index];

	if (!peer->is_connected || peer->is_alone)
		return false;
	if (way == OUT && ((!d->n_command && !awaited_unit(d)) ||
			   d->account.held_bytes - d->leaving_bytes > d->account.limit_bytes))
		return false;
	if (way == IN && moving != SLU_MOVING_MAP)
		return false;
	if (!slu_peer_want_grew(peer, index))
		return false;
	d->want_is_due = true;
	d->retry_ns[way] = now_ns + peer->config.answer_ns;
	return true;
}

/* The bus must stay busy between two units, and moves must be cancelled quickly. */
static bool move_may_begin(const struct slu_peer *peer, const struct slu_peer_device *d,
			   unsigned way)
{
	uint64_t chunk = slu_peer_connection_chunk_bytes(peer);

	if (d->retry_ns[way] || d->n_moving[way] == SLU_PEER_MOVES_MAX)
		return false;
	return d->n_moving[way] < MOVES_MIN || d->moving_bytes[way] < N_CHUNKS * chunk;
}

static unsigned move_free_slot(const struct slu_peer_device *d, unsigned way)
{
	unsigned k = 0;

	while (d->moving[way][k])
		k++;
	return k;
}

void slu_peer_move_step(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];

	if (peer->is_alone)
		slu_peer_alone_step(peer, d, now_ns);
	move_cancel_void(peer, d);
	for (unsigned way = 0; way < _DIRECTION_MAX; way++) {
		while (move_may_begin(peer, d, way)) {
			enum slu_moving moving = SLU_MOVING_OUT;
			struct slu_unit *u;

			u = way == IN ? move_choose_in(peer, d, &moving) : move_choose_out(peer, d);
			if (!u || (!slu_peer_crossing_claims(peer, u) &&
				   move_waits_for_window(peer, now_ns, index, way, moving)))
				break;
			move_begin(peer, index, u, way, move_free_slot(d, way), moving);
		}
	}
	/* without a daemon the limit follows what the driver granted */
	if (peer->is_alone)
		d->account.limit_bytes = d->account.held_bytes;
}
