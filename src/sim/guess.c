/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bytes that came ahead, seen from outside: a unit that comes in while its client has no turn
 * is a guess. It was right if the next turn on the device is that of the client's group, and wrong
 * if it is another one's. I12 of docs/protocol.md bounds the bytes of wrong guesses: the device,
 * and an eighth of it for each turn. Each start of a daemon begins anew.
 */

#include "base/util.h"
#include "sim/world.h"

#define TURN_PARTS 8

bool slu_sim_guess_is_ahead(const struct slu_sim_client *c, const struct slu_unit *u)
{
	const struct slu_sim_session *s = &c->world->sessions[c->index];

	return u->moving == SLU_MOVING_IN && c->world->core && c->is_connected && s->is_joined &&
	       s->connection == c->connection && !c->was_alone &&
	       slu_epoch_is_none(s->turn[u->device]);
}

void slu_sim_guess_arrived(struct slu_sim_client *c, const struct slu_unit *u)
{
	c->ahead_bytes[u->device] += u->bytes;
	c->world->counts.ahead_bytes += u->bytes;
}

/* What came ahead there for others than those of @group was for nothing; then all begin anew. */
static void guesses_judge(struct slu_sim_world *w, unsigned device, uint64_t group)
{
	for (unsigned i = 0; i < w->n_clients; i++) {
		struct slu_sim_client *c = &w->clients[i];

		for (unsigned d = 0; d < c->n_devices; d++) {
			if (c->devices[d] != device)
				continue;
			if (w->sessions[i].group != group)
				w->wrong_bytes[device] += c->ahead_bytes[d];
			c->ahead_bytes[d] = 0;
		}
	}
}

void slu_sim_guess_turn(struct slu_sim_world *w, unsigned client, const struct slu_msg_turn *turn)
{
	unsigned device = w->clients[client].devices[turn->device];
	struct slu_core_device_view view;
	uint64_t most;

	if (slu_epoch_equal(turn->epoch, w->last_turn[device]))
		return;
	w->last_turn[device] = turn->epoch;
	w->n_turns[device]++;
	guesses_judge(w, device, w->sessions[client].group);
	slu_core_view_device(w->core, device, &view);
	most = view.usable_bytes * (1 + w->counts.n_restarts) +
	       w->n_turns[device] * (view.usable_bytes / TURN_PARTS);
	w->counts.wrong_bytes = w->wrong_bytes[0] + w->wrong_bytes[1];
	if (w->wrong_bytes[device] > most)
		slu_sim_world_break(w, "I12: device %u: %llu bytes came ahead for nothing", device,
				    (unsigned long long)w->wrong_bytes[device]);
}
