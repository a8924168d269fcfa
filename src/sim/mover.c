/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The model of a client's movers: a move takes some chunks, checks for a cancel between two of
 * them, may be refused memory and may fail. A move out in mode LAUNCH first waits for the commands
 * that name the unit, as the back end's drain_unit() does. A shift takes some chunks as well, at
 * the same time as moves, and so does an order to page memory.
 */

#include "sim/random.h"
#include "sim/world.h"

/* Mode LAUNCH: a unit in use that leaves for another one of its own program. */
static bool unit_is_exchanged(const struct slu_sim_client *c, const struct slu_unit *u)
{
	struct slu_peer_account_view view;

	if (u->moving != SLU_MOVING_OUT || !u->working)
		return false;
	slu_peer_view_account(c->peer, (struct slu_account){ SLU_TIER_DEVICE, u->device }, &view);
	return view.held_bytes <= view.limit_bytes;
}

void slu_sim_mover_take(struct slu_sim_client *c, struct slu_unit *u)
{
	struct slu_sim_move *m = &c->moves[c->n_moves++];
	bool is_quick = u->moving == SLU_MOVING_OUT && slu_unit_is_clean(u);

	if (u->moving == SLU_MOVING_OUT)
		slu_sim_invariant_move(c, u);
	if (unit_is_exchanged(c, u))
		c->exchanged_bytes += u->bytes;
	*m = (struct slu_sim_move){
		.unit = u,
		.remaining = is_quick ? 1 : c->slowness * slu_sim_between(&c->world->random, 1, 3),
		.is_ahead = slu_sim_guess_is_ahead(c, u),
	};
}

static void move_end(struct slu_sim_client *c, unsigned index, enum slu_move_result result)
{
	struct slu_unit *u = c->moves[index].unit;
	unsigned device = c->devices[u->device];
	bool on_board = c->moves[index].is_begun && u->moving == SLU_MOVING_IN;
	bool leaves = u->moving == SLU_MOVING_OUT && u->place == SLU_PLACE_DEVICE;

	if (on_board && result != SLU_MOVE_DONE)
		slu_sim_board_free(c->world, device, u->bytes);
	if (leaves && result == SLU_MOVE_DONE) {
		slu_sim_board_free(c->world, device, u->bytes);
		u->unproven = false;
		c->world->counts.moved_out_bytes += u->bytes;
		c->moved_out_bytes += u->bytes;
	}
	if (result == SLU_MOVE_DONE && u->moving == SLU_MOVING_IN) {
		c->moved_in_bytes += u->bytes;
		if (c->moves[index].is_ahead)
			slu_sim_guess_arrived(c, u);
	}
	if (result == SLU_MOVE_DONE && u->moving == SLU_MOVING_MAP)
		c->mapped_bytes += u->bytes;
	if (result == SLU_MOVE_REFUSED)
		c->world->counts.n_refused++;
	c->moves[index] = c->moves[--c->n_moves];
	slu_peer_move_done(c->peer, slu_sim_world_now_ns(c->world), u, result);
}

/* Whether a command in flight names the unit. */
static bool unit_is_named(const struct slu_sim_client *c, const struct slu_unit *u)
{
	for (unsigned k = 0; k < c->n_kernels[u->device]; k++)
		for (size_t i = 0; i < c->kernels[u->device][k].n_units; i++)
			if (c->kernels[u->device][k].units[i] == u)
				return true;
	return false;
}

/* Return: true when the move goes on now, false when it waits or has ended. */
static bool move_begin(struct slu_sim_client *c, unsigned index)
{
	struct slu_sim_move *m = &c->moves[index];
	struct slu_unit *u = m->unit;

	switch (u->moving) {
	case SLU_MOVING_IN:
		if (!slu_sim_board_create(&c->world->board, c->devices[u->device], u->bytes)) {
			move_end(c, index, SLU_MOVE_REFUSED);
			return false;
		}
		break;
	case SLU_MOVING_OUT:
		if (c->modes[u->device] == SLU_MODE_LAUNCH && unit_is_named(c, u)) {
			if (slu_sim_program_is_blocked(c, u->device))
				move_end(c, index, SLU_MOVE_BLOCKED);
			return false;
		}
		break;
	default:
		break;
	}
	m->is_begun = true;
	return true;
}

/* Between two moves: what may be pinned for copies, and must not be any more. */
static void adjust_staging(struct slu_sim_client *c)
{
	uint64_t now = slu_sim_world_now_ns(c->world), bytes = c->world->config.staging_bytes;

	if (c->staged_bytes && slu_peer_account_must_unstage(c->peer)) {
		c->staged_bytes = 0;
		c->world->counts.n_unstaged++;
		slu_peer_account_stage(c->peer, now, 0);
	} else if (!c->staged_bytes && bytes && !slu_peer_account_stage(c->peer, now, bytes)) {
		c->staged_bytes = bytes;
	}
}

void slu_sim_mover_shift(struct slu_sim_client *c, struct slu_unit *u)
{
	c->shift = (struct slu_sim_move){
		.unit = u,
		.remaining = c->slowness * slu_sim_between(&c->world->random, 1, 6),
	};
}

static void count_shift(struct slu_sim_world *w, enum slu_shift shift)
{
	if (shift == SLU_SHIFT_PIN)
		w->counts.n_pinned++;
	else if (shift != SLU_SHIFT_UNPIN)
		w->counts.n_shifts[shift == SLU_SHIFT_UP]++;
}

static void shift_step(struct slu_sim_client *c)
{
	struct slu_sim_world *w = c->world;
	enum slu_shift_result result = SLU_SHIFT_DONE;
	struct slu_unit *u = c->shift.unit;

	if (u->cancel)
		result = SLU_SHIFT_CANCELLED;
	else if ((u->shift == SLU_SHIFT_DOWN || u->shift == SLU_SHIFT_PIN) &&
		 slu_sim_chance(&w->random, w->config.faults.disk_full))
		result = SLU_SHIFT_REFUSED;
	else if (--c->shift.remaining)
		return;
	if (result == SLU_SHIFT_DONE)
		count_shift(w, u->shift);
	c->shift.unit = NULL;
	slu_peer_shift_done(c->peer, slu_sim_world_now_ns(w), u, result);
}

/* A newer order takes the place of the older one. */
void slu_sim_mover_page(struct slu_sim_client *c, unsigned device)
{
	c->paging[device] = c->slowness * slu_sim_between(&c->world->random, 1, 6);
}

void slu_sim_mover_step(struct slu_sim_client *c)
{
	struct slu_sim_world *w = c->world;
	struct slu_sim_move *m;
	unsigned index;

	adjust_staging(c);
	if (c->shift.unit)
		shift_step(c);
	for (unsigned d = 0; d < c->n_devices; d++)
		if (c->paging[d] && --c->paging[d] == 0)
			slu_peer_paging_done(c->peer, d);
	if (c->n_moves == 0)
		return;
	index = slu_sim_between(&w->random, 0, c->n_moves - 1);
	m = &c->moves[index];
	if (m->unit->cancel) {
		move_end(c, index, SLU_MOVE_CANCELLED);
		return;
	}
	if (!m->is_begun && !move_begin(c, index))
		return;
	if (w->step < w->config.faults.until_step &&
	    slu_sim_chance(&w->random, w->config.faults.move_fails)) {
		move_end(c, index, SLU_MOVE_FAILED);
		return;
	}
	if (--m->remaining == 0)
		move_end(c, index, SLU_MOVE_DONE);
}
