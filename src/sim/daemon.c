/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The model of the daemon: sessions and a roster around the real core. It handles one message at a
 * time and steps the core after each, and at the core's own deadlines. It may die before any of its
 * actions; then only the roster remains.
 */

#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

#define LOOK_STEPS 40 /* between two looks for outsiders */

static uint64_t client_id(unsigned index)
{
	return index + 1;
}

static struct slu_core_config core_configure(const struct slu_sim_world *w)
{
	struct slu_core_config config;

	slu_core_config_default(&config);
	config.policy = w->config.policy ? w->config.policy : "rr";
	config.generation = w->generation;
	config.slice_ns = w->config.slice_steps ? w->config.slice_steps : SLU_SIM_SLICE;
	config.slice_ns *= SLU_SIM_STEP_NS;
	config.slice_min_switches = 1;
	config.age_ns = SLU_SIM_AGE * SLU_SIM_STEP_NS;
	config.close_deadline_ns = SLU_SIM_CLOSE_MAX * SLU_SIM_STEP_NS;
	config.limit_deadline_ns = 500 * SLU_SIM_STEP_NS;
	config.fill_deadline_ns = SLU_SIM_FILL_MAX * SLU_SIM_STEP_NS;
	config.rise_period_ns = 150 * SLU_SIM_STEP_NS;
	config.patience_ns = 9000 * SLU_SIM_STEP_NS;
	config.grace_ns = 300 * SLU_SIM_STEP_NS;
	config.need_window_ns = 100 * SLU_SIM_STEP_NS;
	config.round_trip_ns = 60 * SLU_SIM_STEP_NS;
	config.idle_ns = SLU_SIM_IDLE_STEPS * SLU_SIM_STEP_NS;
	config.pinned_bytes = w->pinned_bytes;
	config.backing_bytes = w->config.backing_bytes;
	config.disk_bytes = w->config.disk_bytes;
	config.staging_bytes = w->config.staging_bytes;
	return config;
}

int slu_sim_daemon_start(struct slu_sim_world *w)
{
	struct slu_core_config config;
	uint64_t now = slu_sim_world_now_ns(w);
	int r;

	w->generation++;
	config = core_configure(w);
	r = slu_core_new(&config, now, &w->core);
	if (r)
		return slu_fold(r);
	for (unsigned d = 0; d < w->config.n_devices; d++) {
		uint64_t total = w->config.total_bytes[d];
		uint64_t reserve = w->config.reserve_parts ? total / w->config.reserve_parts : 0;

		r = slu_core_device_add(w->core, now, "model", total - reserve, reserve);
		if (r < 0)
			return slu_fold(r);
	}
	for (unsigned i = 0; i < w->n_clients; i++) {
		struct slu_sim_session *s = &w->sessions[i];

		if (w->config.mutation == SLU_SIM_IGNORE_ROSTER || !w->clients[i].is_alive)
			s->on_roster = false;
		s->group = s->on_roster ? s->line.group : w->clients[i].group;
		if (!s->on_roster)
			continue;
		r = slu_core_orphan(w->core, now, &s->line);
		if (r)
			return slu_fold(r);
	}
	return 0;
}

void slu_sim_daemon_die(struct slu_sim_world *w)
{
	slu_core_free(w->core);
	w->core = NULL;
	w->counts.n_restarts++;
	w->up_at_step = w->step + slu_sim_between(&w->random, 1, 200);
	for (unsigned i = 0; i < w->n_clients; i++) {
		w->sessions[i].is_joined = false;
		slu_sim_queue_clear(&w->sessions[i].inbox);
		slu_sim_client_end_connection(&w->clients[i]);
	}
}

/* The connection of a client breaks while both ends live. */
void slu_sim_daemon_cut(struct slu_sim_world *w, unsigned client)
{
	struct slu_sim_client *c = &w->clients[client];

	if (!c->is_alive || !c->is_connected || !w->core)
		return;
	for (unsigned i = 0; i < c->inbox.n; i++)
		if (c->inbox.packets[(c->inbox.first + i) % SLU_SIM_QUEUE_MAX].is_end)
			return;
	w->counts.n_cuts++;
	slu_sim_client_end_connection(c);
	slu_sim_queue_put(&w->sessions[client].inbox, NULL);
	/* what the daemon still says goes nowhere */
	w->sessions[client].connection = 0;
}

void slu_sim_daemon_hears(struct slu_sim_world *w, unsigned client, const struct slu_message *m)
{
	unsigned n_sent = w->config.socket_packets ? w->config.socket_packets : SLU_SIM_QUEUE_MAX;

	w->counts.n_messages++;
	if (w->core && !slu_sim_queue_put_newest(&w->sessions[client].inbox, m, n_sent))
		slu_sim_world_break(w, "the queue of client %u is full", client);
}

static void message_send(struct slu_sim_world *w, unsigned client, const struct slu_message *m)
{
	struct slu_sim_session *s = &w->sessions[client];
	struct slu_sim_client *c = &w->clients[client];

	slu_sim_traffic_sent(w, client, m);
	w->counts.n_messages++;
	if (!c->is_alive || !c->is_connected || s->connection != c->connection)
		return;
	if (!slu_sim_client_hears(c, m))
		slu_sim_world_break(w, "the inbox of client %u is full", client);
}

static void client_welcome(struct slu_sim_world *w, unsigned client)
{
	struct slu_message m = { .welcome = {
					 .version = SLU_WIRE_VERSION,
					 .generation = w->generation,
					 .allow_mapped = 1,
				 } };

	slu_message_stamp(&m, SLU_MSG_WELCOME);
	message_send(w, client, &m);
}

static void client_join(struct slu_sim_world *w, unsigned client, const struct slu_message *m)
{
	struct slu_sim_client *c = &w->clients[client];
	struct slu_sim_session *s = &w->sessions[client];
	struct slu_core_join j = {
		.client = client_id(client),
		.group = s->group,
		.name = "program",
		.hello = &m->hello,
		.maps_if_larger = c->maps_if_larger,
	};
	int r;

	for (unsigned d = 0; d < c->n_devices; d++)
		j.devices[d] = c->devices[d];
	s->is_joined = true;
	s->connection = c->connection;
	w->alone_joined = c->was_alone;
	slu_sim_traffic_heard(w, client, m);
	client_welcome(w, client);
	r = slu_core_hello(w->core, slu_sim_world_now_ns(w), &j);
	if (r)
		slu_sim_world_break(w, "the core does not let client %u join: %d", client, r);
}

static void forge_seq(struct slu_sim_world *w, unsigned client, struct slu_message *m)
{
	const struct slu_sim_session *s = &w->sessions[client];

	m->sums.seq = s->seq_sent[slu_sim_invariant_account_number(m->sums.account)];
}

static void message_handle(struct slu_sim_world *w, unsigned client, struct slu_sim_packet *p)
{
	struct slu_sim_session *s = &w->sessions[client];
	uint64_t now = slu_sim_world_now_ns(w);

	if (p->is_end) {
		s->is_joined = false;
		slu_core_lost(w->core, now, client_id(client));
		return;
	}
	if (p->message.header.type == SLU_MSG_HELLO) {
		client_join(w, client, &p->message);
		return;
	}
	if (!s->is_joined)
		return;
	if (w->config.mutation == SLU_SIM_ANY_REPORT && p->message.header.type == SLU_MSG_SUMS)
		forge_seq(w, client, &p->message);
	slu_sim_traffic_message(w, client, &p->message);
	slu_sim_traffic_heard(w, client, &p->message);
}

static void client_drop(struct slu_sim_world *w, unsigned client)
{
	struct slu_sim_session *s = &w->sessions[client];

	slu_sim_queue_clear(&s->inbox);
	s->is_joined = false;
	w->clients[client].death_is_reported = true;
	if (w->config.mutation != SLU_SIM_FORGET_DEATH)
		slu_core_dead(w->core, slu_sim_world_now_ns(w), client_id(client));
}

static void write_line(struct slu_sim_world *w, unsigned client, const struct slu_core_orphan *line)
{
	struct slu_sim_session *s = &w->sessions[client];
	struct slu_sim_client *c = &w->clients[client];

	s->on_roster = true;
	s->line = *line;
	s->line.name = "program";
	/* from here on even a new daemon knows what it took while it was alone */
	if (s->is_joined && c->is_connected && s->connection == c->connection)
		c->was_alone = false;
}

/* Return: false if the daemon died in the middle. */
static bool actions_carry_out(struct slu_sim_world *w)
{
	struct slu_core_action a;
	int r;

	slu_core_step(w->core, slu_sim_world_now_ns(w));
	while ((r = slu_core_take_action(w->core, &a)) > 0) {
		unsigned client = (unsigned)(a.client - 1);

		if ((w->step < w->config.faults.until_step &&
		     slu_sim_chance(&w->random, w->config.faults.restart)) ||
		    (w->dies_before && w->dies_before(w, &a))) {
			slu_sim_daemon_die(w);
			return false;
		}
		switch (a.kind) {
		case SLU_CORE_SEND:
			if (a.message.header.type == SLU_MSG_TURN)
				w->counts.n_switches++;
			message_send(w, client, &a.message);
			break;
		case SLU_CORE_ROSTER_PUT:
			write_line(w, client, &a.line);
			break;
		case SLU_CORE_ROSTER_DROP:
			w->sessions[client].on_roster = false;
			break;
		case SLU_CORE_SPLIT:
			w->sessions[client].group = a.group;
			if (a.group == w->clients[client].group)
				w->counts.n_unions++;
			else
				w->counts.n_parts++;
			break;
		case SLU_CORE_REPORT:
			break;
		}
	}
	if (r < 0)
		slu_sim_world_break(w, "the core lost an action: %d", r);
	return true;
}

/* Drawn at random: the core is asked between two of its steps. */
void slu_sim_daemon_part(struct slu_sim_world *w, unsigned client)
{
	if (w->core && slu_core_split(w->core, slu_sim_world_now_ns(w), client_id(client)) == 0) {
		w->counts.n_asked_parts++;
		actions_carry_out(w);
	}
}

/* The setting changes. */
void slu_sim_daemon_budget(struct slu_sim_world *w, uint64_t pinned_bytes)
{
	struct slu_core_config config;

	w->counts.n_budgets++;
	w->pinned_bytes = pinned_bytes;
	w->pinned_most_bytes = SLU_MAX(w->pinned_most_bytes, pinned_bytes);
	if (!w->core)
		return;
	config = core_configure(w);
	if (slu_core_configure(w->core, slu_sim_world_now_ns(w), &config))
		slu_sim_world_break(w, "the core does not take a smaller budget");
	actions_carry_out(w);
}

static void look_at_outsiders(struct slu_sim_world *w)
{
	w->look_at_step = w->step + LOOK_STEPS;
	for (unsigned d = 0; d < w->config.n_devices; d++)
		slu_core_outsiders(w->core, slu_sim_world_now_ns(w), d, w->board.outsider_bytes[d]);
	actions_carry_out(w);
}

void slu_sim_daemon_step(struct slu_sim_world *w)
{
	struct slu_sim_packet p;
	unsigned start;

	if (!w->core) {
		if (w->step >= w->up_at_step && slu_sim_daemon_start(w))
			slu_sim_world_break(w, "the daemon does not start");
		return;
	}
	if (w->config.sees_outsiders && w->step >= w->look_at_step) {
		look_at_outsiders(w);
		return;
	}
	start = slu_sim_between(&w->random, 0, w->n_clients - 1);
	for (unsigned k = 0; k < w->n_clients; k++) {
		unsigned i = (start + k) % w->n_clients;

		if (!w->clients[i].is_alive && !w->clients[i].death_is_reported) {
			client_drop(w, i);
			actions_carry_out(w);
			return;
		}
		if (slu_sim_queue_take(&w->sessions[i].inbox, &p)) {
			message_handle(w, i, &p);
			actions_carry_out(w);
			return;
		}
	}
	if (slu_sim_world_now_ns(w) >= slu_core_deadline_ns(w->core))
		actions_carry_out(w);
}
