/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One client process: its peer, its connection and its helper thread. Actions of the peer that are
 * quick in reality (send, open) happen at once, the others later: a shut waits for its own step,
 * the drain for the device, moves for their chunks.
 */

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

#define RETRIES	     5
#define ANSWER_STEPS 200
#define GRACE_STEPS  100

int slu_sim_client_add(struct slu_sim_world *w, uint64_t group, unsigned n_devices,
		       const unsigned *devices, const enum slu_mode *modes)
{
	struct slu_peer_config config = {
		.program = "program",
		.group = group,
		.refusal_retries = RETRIES,
		.refusal_pause_ns = SLU_SIM_STEP_NS,
		.idle_ns = SLU_SIM_IDLE_STEPS * SLU_SIM_STEP_NS,
		.answer_ns = ANSWER_STEPS * SLU_SIM_STEP_NS,
	};
	struct slu_sim_client *c = &w->clients[w->n_clients];
	int r;

	assert(w->n_clients < SLU_SIM_CLIENTS_MAX);
	r = slu_peer_new(&config, &c->peer);
	if (r)
		return slu_fold(r);
	r = slu_sim_queue_init(&c->inbox);
	if (!r)
		r = slu_sim_queue_init(&w->sessions[w->n_clients].inbox);
	if (r)
		return slu_fold(r);
	c->world = w;
	c->index = w->n_clients;
	c->group = group;
	c->n_devices = n_devices;
	c->is_alive = true;
	c->slowness = 1;
	c->working_percent = 100;
	c->command_percent = 50;
	for (unsigned i = 0; i < n_devices; i++) {
		struct slu_hello_device identity = { .name = "model" };

		identity.uuid[0] = (uint8_t)(devices[i] + 1);
		identity.total_bytes = w->config.total_bytes[devices[i]];
		identity.pins_copies = 1;
		c->devices[i] = devices[i];
		c->modes[i] = modes[i];
		r = slu_peer_device_add(c->peer, &identity, modes[i]);
		if (r < 0)
			return slu_fold(r);
	}
	return (int)w->n_clients++;
}

void slu_sim_client_do(struct slu_sim_world *w, unsigned client, enum slu_sim_op_kind kind,
		       unsigned device, uint64_t amount)
{
	struct slu_sim_client *c = &w->clients[client];

	assert(c->n_ops < SLU_SIM_OPS_MAX);
	c->ops[c->n_ops++] = (struct slu_sim_op){ kind, device, amount, 0 };
}

/* The process is gone: its device memory is freed, and no message is sent. */
void slu_sim_client_kill(struct slu_sim_client *c)
{
	if (!c->is_alive)
		return;
	c->is_alive = false;
	c->is_connected = false;
	c->ended_step = c->world->step;
	slu_sim_queue_clear(&c->inbox);
	if (c->alloc) {
		slu_peer_alloc_cancel(c->peer, 0, c->alloc);
		free(c->alloc);
		c->alloc = NULL;
	}
	c->headroom = NULL; /* one of its units */
	for (unsigned d = 0; d < c->n_devices; d++)
		c->n_kernels[d] = 0;
	while (c->n_moves) {
		struct slu_sim_move *m = &c->moves[--c->n_moves];

		if (m->is_begun && m->unit->moving == SLU_MOVING_IN)
			slu_sim_board_free(c->world, c->devices[m->unit->device], m->unit->bytes);
		slu_peer_move_done(c->peer, 0, m->unit, SLU_MOVE_CANCELLED);
	}
	if (c->shift.unit)
		slu_peer_shift_done(c->peer, 0, c->shift.unit, SLU_SHIFT_CANCELLED);
	c->shift.unit = NULL;
	for (unsigned d = 0; d < c->n_devices; d++) {
		struct slu_unit *u;

		c->paging[d] = 0;
		while ((u = TAILQ_FIRST(slu_peer_view_units(c->peer, d)))) {
			if (u->place == SLU_PLACE_DEVICE)
				slu_sim_board_free(c->world, c->devices[d], u->bytes);
			u->n_named = 0;
			slu_peer_alloc_released(c->peer, 0, u);
			if (u->pinned)
				slu_peer_pinning_released(c->peer, 0, u->bytes);
			free(u);
		}
	}
	c->world->counts.longest_wait_steps =
		SLU_MAX(c->world->counts.longest_wait_steps, c->longest_wait_steps);
	c->world->counts.n_denied += c->n_denied;
}

void slu_sim_client_free(struct slu_sim_client *c)
{
	slu_sim_client_kill(c);
	slu_peer_free(c->peer);
	slu_sim_queue_deinit(&c->inbox);
}

bool slu_sim_client_hears(struct slu_sim_client *c, const struct slu_message *m)
{
	return slu_sim_queue_put(&c->inbox, m);
}

/* The other end is gone; what was sent before is still read first. */
void slu_sim_client_end_connection(struct slu_sim_client *c)
{
	if (c->is_alive && c->is_connected && !slu_sim_queue_put(&c->inbox, NULL))
		slu_sim_world_break(c->world, "client %u: its inbox is full", c->index);
}

static void client_say(struct slu_sim_client *c, const struct slu_message *m)
{
	enum slu_sim_mutation mutation = c->world->config.mutation;
	const char *fault =
		slu_message_fault(m, sizeof(m->header) + m->header.size, SLU_MESSAGE_FROM_CLIENT);
	struct slu_message forged = *m;

	if (fault)
		slu_sim_world_break(c->world, "client %u sends %s: %s", c->index,
				    slu_message_name(m->header.type), fault);
	if (mutation == SLU_SIM_DROP_REST && m->header.type == SLU_MSG_REST)
		return;
	if (mutation == SLU_SIM_DROP_WANT && c->connection > 1) {
		if (m->header.type == SLU_MSG_WANT)
			return;
		if (m->header.type == SLU_MSG_HELLO)
			for (unsigned d = 0; d < c->n_devices; d++)
				forged.hello.devices[d].is_runnable = 0;
	}
	slu_sim_daemon_hears(c->world, c->index, &forged);
}

static void client_act(struct slu_sim_client *c)
{
	struct slu_peer_action a;

	slu_peer_step(c->peer, slu_sim_world_now_ns(c->world));
	while (slu_peer_take_action(c->peer, &a) > 0) {
		switch (a.kind) {
		case SLU_PEER_SEND:
			client_say(c, &a.message);
			break;
		case SLU_PEER_MOVE:
			slu_sim_mover_take(c, a.unit);
			break;
		case SLU_PEER_OPEN:
			c->gate[a.device] = true;
			break;
		case SLU_PEER_SHUT:
			c->shutting[a.device] = true;
			break;
		case SLU_PEER_SHIFT:
			slu_sim_mover_shift(c, a.unit);
			break;
		case SLU_PEER_PAGE:
			slu_sim_mover_page(c, a.device);
			break;
		case SLU_PEER_START:
		case SLU_PEER_WAKE:
			break;
		}
	}
	slu_peer_check(c->peer);
}

static void client_connect(struct slu_sim_client *c)
{
	struct slu_message old = { 0 };

	c->is_connected = true;
	c->connection++;
	if (c->world->config.mutation == SLU_SIM_KEEP_CREDIT) {
		struct slu_peer_account_view view;

		slu_peer_view_account(c->peer, (struct slu_account){ SLU_TIER_PAGEABLE, 0 }, &view);
		old.limit.account.tier = SLU_TIER_PAGEABLE;
		old.limit.limit_bytes = view.held_bytes + 8 * SLU_SIM_UNIT;
	}
	slu_peer_connection_made(c->peer, slu_sim_world_now_ns(c->world));
	if (c->world->config.mutation == SLU_SIM_KEEP_CREDIT && c->connection > 1) {
		slu_message_stamp(&old, SLU_MSG_LIMIT);
		slu_peer_connection_receive(c->peer, slu_sim_world_now_ns(c->world), &old);
	}
}

static void client_lose(struct slu_sim_client *c)
{
	c->is_connected = false;
	c->lost_step = c->world->step;
	slu_peer_connection_lost(c->peer, slu_sim_world_now_ns(c->world));
}

static void client_receive(struct slu_sim_client *c)
{
	struct slu_sim_packet p;

	if (!slu_sim_queue_take(&c->inbox, &p))
		return;
	if (p.is_end)
		client_lose(c);
	else
		slu_peer_connection_receive(c->peer, slu_sim_world_now_ns(c->world), &p.message);
}

/* The helper: shuts the word, and reports the drain when the device has ended or is blocked. */
static void client_help(struct slu_sim_client *c, unsigned d)
{
	bool is_early = c->world->config.mutation == SLU_SIM_EARLY_DRAIN;
	uint64_t now = slu_sim_world_now_ns(c->world);

	if (!c->shutting[d]) {
		if (c->gate[d])
			slu_peer_turn_progress(c->peer, now, d,
					       c->n_kernels[d] &&
						       !slu_sim_program_is_blocked(c, d));
		return;
	}
	c->gate[d] = false;
	if (c->n_kernels[d] && !slu_sim_program_is_blocked(c, d) && !is_early)
		return;
	c->shutting[d] = false;
	c->blocked[d] = c->n_kernels[d] > 0 && !is_early;
	if (c->blocked[d] && c->modes[d] == SLU_MODE_LAUNCH)
		for (unsigned k = 0; k < c->n_kernels[d]; k++)
			for (size_t i = 0; i < c->kernels[d][k].n_units; i++)
				c->kernels[d][k].units[i]->blocked = true;
	slu_peer_turn_drained(c->peer, now, d, c->blocked[d]);
}

void slu_sim_client_step(struct slu_sim_client *c)
{
	struct slu_sim_world *w = c->world;
	unsigned choice = slu_sim_between(&w->random, 0, 5);

	if (choice <= 1) {
		if (c->inbox.n)
			client_receive(c);
		else if (!c->is_connected && w->core)
			client_connect(c);
		else
			choice = 2;
	}
	if (choice == 2)
		slu_sim_program_step(c);
	if (!c->is_alive)
		return;
	if (choice == 3)
		slu_sim_mover_step(c);
	for (unsigned d = 0; d < c->n_devices; d++) {
		if (choice == 4)
			slu_sim_program_work(c, d);
		if (choice == 5)
			client_help(c, d);
	}
	if (!c->is_connected && c->runs_without_daemon && c->connection > 0 &&
	    w->step - c->lost_step > GRACE_STEPS && !c->was_alone) {
		c->was_alone = true;
		slu_peer_alone_run(c->peer, slu_sim_world_now_ns(w), true);
	}
	client_act(c);
}
