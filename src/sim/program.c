/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The model of a program: one thread that follows its script, and the device's queue of its
 * launches. The thread tests only the local word of the gate, as real threads do: it may still
 * launch between the peer's decision to shut and the helper's store.
 */

#include <assert.h>
#include <stdlib.h>

#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

/* of a million: allocations in mode LAUNCH without a proof, and those that the driver then refuses
 */
#define UNPROVEN     300000
#define REFUSED_LATE 300000
/* of a million: units that launches may use without naming them, where launches name units */
#define UNWATCHED 30000

static bool kernel_is_ready(const struct slu_sim_client *c, const struct slu_sim_kernel *k)
{
	const struct slu_sim_client *other = &c->world->clients[k->client];

	return !k->waits || other->n_launches >= k->n_launches || !other->is_alive;
}

bool slu_sim_program_is_blocked(const struct slu_sim_client *c, unsigned d)
{
	return c->n_kernels[d] && !kernel_is_ready(c, &c->kernels[d][0]);
}

/* The device works a piece at the first kernel of its queue. */
void slu_sim_program_work(struct slu_sim_client *c, unsigned d)
{
	struct slu_sim_kernel *k = &c->kernels[d][0];

	if (c->n_kernels[d] == 0 || !kernel_is_ready(c, k) || --k->remaining > 0)
		return;
	for (unsigned i = 1; i < c->n_kernels[d]; i++)
		c->kernels[d][i - 1] = c->kernels[d][i];
	c->n_kernels[d]--;
	if (c->n_kernels[d] == 0 && c->blocked[d]) {
		c->blocked[d] = false;
		slu_peer_turn_unblocked(c->peer, slu_sim_world_now_ns(c->world), d);
	}
}

static void op_next(struct slu_sim_client *c)
{
	c->next_op++;
	c->wait_from_step = 0;
}

static void op_denied(struct slu_sim_client *c)
{
	c->n_denied++;
	op_next(c);
}

static void op_alloc(struct slu_sim_client *c, const struct slu_sim_op *op)
{
	uint64_t now = slu_sim_world_now_ns(c->world);

	if (!c->alloc) {
		c->alloc = calloc(1, sizeof(*c->alloc));
		if (!c->alloc)
			abort();
		c->alloc->bytes = op->amount;
		c->alloc->device = (uint8_t)op->device;
		c->alloc->device_only = op->kind == SLU_SIM_HEADROOM;
	}
	switch (slu_peer_alloc(c->peer, now, c->alloc)) {
	case 0:
		if (c->world->config.faults.alloc_fails &&
		    c->world->step < c->world->config.faults.until_step &&
		    slu_sim_chance(&c->world->random, c->world->config.faults.alloc_fails)) {
			c->world->counts.n_failed_allocs++;
			slu_peer_alloc_failed(c->peer, now, c->alloc);
			return;
		}
		if (!slu_sim_board_create(&c->world->board, c->devices[op->device], op->amount)) {
			c->world->counts.n_refused++;
			slu_peer_alloc_refused(c->peer, now, c->alloc);
			return;
		}
		c->alloc->unproven = c->modes[op->device] == SLU_MODE_LAUNCH &&
				     slu_sim_chance(&c->world->random, UNPROVEN);
		c->alloc->device_version = !c->alloc->unproven;
		break;
	case SLU_PEER_E_IN_RAM:
		break;
	case SLU_PEER_E_RESERVE:
		if (slu_sim_chance(&c->world->random, c->world->config.faults.disk_full))
			slu_peer_alloc_no_extent(c->peer, now, c->alloc);
		return;
	case SLU_PEER_E_WAIT:
		return;
	default:
		free(c->alloc);
		c->alloc = NULL;
		op_denied(c);
		return;
	}
	if (op->kind == SLU_SIM_HEADROOM) {
		c->headroom = c->alloc;
	} else {
		if (c->early && !slu_sim_chance(&c->world->random, UNWATCHED))
			slu_peer_alloc_watch(c->peer, c->alloc);
		op_next(c);
	}
	c->alloc = NULL;
}

static void unit_release(struct slu_sim_client *c, struct slu_unit *u)
{
	uint64_t now = slu_sim_world_now_ns(c->world);

	if (u->place == SLU_PLACE_DEVICE)
		slu_sim_board_free(c->world, c->devices[u->device], u->bytes);
	slu_peer_alloc_released(c->peer, now, u);
	if (u->pinned)
		slu_peer_pinning_released(c->peer, now, u->bytes);
	free(u);
}

/* When the gate is open the unit is on the device: it goes, and the call finds its memory free. */
static void op_headroom(struct slu_sim_client *c, const struct slu_sim_op *op)
{
	struct slu_unit *u = c->headroom;
	bool is_open = c->gate[op->device];

	if (!u) {
		op_alloc(c, op);
		return;
	}
	if (!is_open && slu_peer_turn_want_open(c->peer, slu_sim_world_now_ns(c->world),
						op->device) != SLU_PEER_E_DENIED)
		return;
	if (u->moving != SLU_MOVING_NO || u->shift != SLU_SHIFT_NO)
		return;
	if (is_open && !c->shutting[op->device] && u->place != SLU_PLACE_DEVICE)
		slu_sim_world_break(c->world, "client %u: the gate is open without its headroom",
				    c->index);
	c->headroom = NULL;
	c->world->counts.n_headroom += is_open;
	unit_release(c, u);
	if (is_open)
		op_next(c);
	else
		op_denied(c);
}

static void op_free(struct slu_sim_client *c, const struct slu_sim_op *op)
{
	const struct slu_unit_list *list = slu_peer_view_units(c->peer, op->device);
	struct slu_unit *u, *picked = NULL;
	unsigned n = 0;

	if (c->n_kernels[op->device])
		return;
	TAILQ_FOREACH (u, list, link)
		if (u->moving == SLU_MOVING_NO && u->shift == SLU_SHIFT_NO && u->n_named == 0 &&
		    slu_sim_between(&c->world->random, 0, n++) == 0)
			picked = u;
	op_next(c);
	if (!picked)
		return;
	for (size_t i = 0; i < c->n_command; i++)
		if (c->command[i] == picked)
			c->n_command = 0;
	unit_release(c, picked);
}

/* Some of the units that this program works with, in random order. */
static void choose_command(struct slu_sim_client *c, unsigned d)
{
	struct slu_unit *u;
	size_t n = 0, part;

	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d), link)
		if (n < SLU_SIM_UNITS_MAX)
			c->command[n++] = u;
	n = (n * c->working_percent + 99) / 100;
	for (size_t i = n; i > 1; i--) {
		size_t j = slu_sim_between(&c->world->random, 0, (unsigned)i - 1);

		u = c->command[i - 1];
		c->command[i - 1] = c->command[j];
		c->command[j] = u;
	}
	part = SLU_MAX(n * c->command_percent / 100, (size_t)1);
	c->n_command = SLU_MIN(n, part);
}

/*
 * The driver may have no memory after all for what was made without a proof. The command is not
 * submitted then, and begins again. Return: whether it took them all.
 */
static bool units_prove(struct slu_sim_client *c, unsigned d)
{
	bool is_refused = false;

	for (size_t i = 0; i < c->n_command; i++) {
		struct slu_unit *u = c->command[i];

		if (!u->unproven)
			continue;
		/* what must stay has no way back */
		is_refused = is_refused || (u->frozen == SLU_FROZEN_NO &&
					    slu_sim_chance(&c->world->random, REFUSED_LATE));
		u->unproven = is_refused && u->frozen == SLU_FROZEN_NO;
	}
	if (!is_refused)
		return true;
	slu_peer_command_unname(c->peer, c->command, c->n_command);
	for (size_t i = 0; i < c->n_command; i++) {
		struct slu_unit *u = c->command[i];

		if (!u->unproven)
			continue;
		u->unproven = false;
		slu_peer_move_unmake(c->peer, u);
		slu_sim_board_free(c->world, c->devices[d], u->bytes);
		slu_peer_move_unmade(c->peer, slu_sim_world_now_ns(c->world), u);
		c->world->counts.n_unmade++;
	}
	return false;
}

static void kernel_add_units(struct slu_sim_client *c, unsigned d, struct slu_sim_kernel *k,
			     bool is_early)
{
	struct slu_unit *u;

	for (size_t i = 0; is_early && i < c->n_command; i++)
		k->units[k->n_units++] = c->command[i];
	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d), link)
		if (k->n_units < SLU_SIM_UNITS_MAX && !(is_early && u->watched))
			k->units[k->n_units++] = u;
}

static void command_submit(struct slu_sim_client *c, const struct slu_sim_op *op, bool is_early)
{
	unsigned d = op->device;
	struct slu_sim_kernel *k = &c->kernels[d][c->n_kernels[d]++];
	struct slu_sim_world *w = c->world;

	k->waits = op->kind == SLU_SIM_AWAIT;
	k->remaining = k->waits ? 2 : (unsigned)op->amount;
	k->client = op->client;
	k->n_launches = op->amount;
	k->n_units = 0;
	if (c->modes[d] == SLU_MODE_LAUNCH) {
		for (size_t i = 0; i < c->n_command; i++)
			k->units[k->n_units++] = c->command[i];
		slu_peer_command_unname(c->peer, c->command, c->n_command);
	} else {
		kernel_add_units(c, d, k, is_early);
	}
	c->last_mapped_bytes = 0;
	for (size_t i = 0; i < k->n_units; i++) {
		if (slu_sim_chance(&w->random, 700000))
			k->units[i]->device_version = k->units[i]->host_version + 1;
		if (k->units[i]->place == SLU_PLACE_MAPPED)
			c->last_mapped_bytes += k->units[i]->bytes;
	}
	c->n_command = 0;
	c->longest_wait_steps = SLU_MAX(c->longest_wait_steps, w->step - c->wait_from_step);
	c->n_launches++;
	w->counts.n_launches++;
	w->counts.n_early += is_early;
	op_next(c);
}

/* The gate is shut: a launch that names its units may pass before it opens. */
static int early_enter(struct slu_sim_client *c, unsigned d)
{
	uint64_t now = slu_sim_world_now_ns(c->world);
	bool forgets = c->world->config.mutation == SLU_SIM_FORGET_UNIT;

	if (!c->n_command && c->early && slu_sim_chance(&c->world->random, c->early))
		choose_command(c, d);
	if (!c->n_command)
		return slu_peer_turn_want_open(c->peer, now, d);
	return slu_peer_early_enter(c->peer, now, d, c->command, c->n_command - forgets);
}

static void op_launch(struct slu_sim_client *c, const struct slu_sim_op *op)
{
	struct slu_sim_world *w = c->world;
	uint64_t now = slu_sim_world_now_ns(w);
	unsigned d = op->device;
	bool is_early = false;
	int r;

	if (c->n_kernels[d] == SLU_SIM_KERNELS_MAX)
		return;
	if (c->wait_from_step == 0)
		c->wait_from_step = w->step;
	if (c->modes[d] == SLU_MODE_LAUNCH) {
		if (c->n_command == 0)
			choose_command(c, d);
		r = c->gate[d] || c->n_command
			    ? slu_peer_command_name(c->peer, now, d, c->command, c->n_command)
			    : slu_peer_turn_want_open(c->peer, now, d);
	} else if (c->gate[d] || w->config.mutation == SLU_SIM_IGNORE_GATE) {
		r = 0;
	} else {
		r = early_enter(c, d);
		is_early = slu_peer_view_gate_is_partial(c->peer, d);
		/* open in the peer, but the helper has not written the word yet */
		if (r == 0 && !is_early)
			return;
	}
	if (r == 0) {
		if (c->modes[d] != SLU_MODE_LAUNCH || units_prove(c, d))
			command_submit(c, op, is_early);
	} else if (r == SLU_PEER_E_DENIED) {
		c->n_command = 0;
		op_denied(c);
	}
}

static void op_freeze(struct slu_sim_client *c, const struct slu_sim_op *op)
{
	struct slu_unit *u;

	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, op->device), link)
		if (u->place == SLU_PLACE_DEVICE && u->moving == SLU_MOVING_NO)
			slu_peer_alloc_freeze(c->peer, slu_sim_world_now_ns(c->world), u,
					      SLU_FROZEN_IMAGE);
	op_next(c);
}

static void op_thaw(struct slu_sim_client *c, const struct slu_sim_op *op)
{
	struct slu_unit *u;

	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, op->device), link)
		if (u->frozen == SLU_FROZEN_IMAGE)
			slu_peer_alloc_freeze(c->peer, slu_sim_world_now_ns(c->world), u,
					      SLU_FROZEN_NO);
	op_next(c);
}

static void program_finish(struct slu_sim_client *c)
{
	for (unsigned d = 0; d < c->n_devices; d++)
		if (c->n_kernels[d])
			return;
	if (c->n_moves == 0)
		slu_sim_client_kill(c);
}

void slu_sim_program_step(struct slu_sim_client *c)
{
	const struct slu_sim_op *op = &c->ops[c->next_op];

	if (c->next_op == c->n_ops) {
		program_finish(c);
		return;
	}
	switch (op->kind) {
	case SLU_SIM_ALLOC:
		op_alloc(c, op);
		break;
	case SLU_SIM_FREE:
		op_free(c, op);
		break;
	case SLU_SIM_LAUNCH:
	case SLU_SIM_AWAIT:
		op_launch(c, op);
		break;
	case SLU_SIM_PAUSE:
		if (++c->pause >= op->amount) {
			c->pause = 0;
			op_next(c);
		}
		break;
	case SLU_SIM_PAGE:
		slu_peer_reports_set_paged(c->peer, slu_sim_world_now_ns(c->world), op->device,
					   op->amount);
		op_next(c);
		break;
	case SLU_SIM_SYNC:
		if (c->n_kernels[op->device] == 0)
			op_next(c);
		break;
	case SLU_SIM_FREEZE:
		op_freeze(c, op);
		break;
	case SLU_SIM_THAW:
		op_thaw(c, op);
		break;
	case SLU_SIM_HEADROOM:
		op_headroom(c, op);
		break;
	}
}
