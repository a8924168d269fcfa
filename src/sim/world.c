/* SPDX-License-Identifier: Apache-2.0 */

/* The loop of a world: draws the next step and the faults. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

#define FREES_MAX      65536
#define AFTER_STEPS    4000   /* after the last program, for late frees and the last messages */
#define DAEMON_SHARE   350000 /* of a million steps */
#define STOP_STEPS_MIN 100

const char *slu_sim_world_mutation_name(enum slu_sim_mutation mutation)
{
	static const char *const names[_SLU_SIM_MUTATION_MAX] = {
		[SLU_SIM_FAITHFUL] = "none",
		[SLU_SIM_DROP_REST] = "REST is lost",
		[SLU_SIM_DROP_WANT] = "no WANT after a rejoin",
		[SLU_SIM_KEEP_CREDIT] = "credit is kept over a new connection",
		[SLU_SIM_IGNORE_ROSTER] = "the roster is ignored",
		[SLU_SIM_ANY_REPORT] = "any report answers the last LIMIT",
		[SLU_SIM_IGNORE_GATE] = "the gate is ignored",
		[SLU_SIM_EARLY_DRAIN] = "the drain does not wait",
		[SLU_SIM_FORGET_DEATH] = "a death is not reported",
		[SLU_SIM_FORGET_UNIT] = "an early launch names too little",
	};

	return mutation < _SLU_SIM_MUTATION_MAX ? names[mutation] : "?";
}

uint64_t slu_sim_world_now_ns(const struct slu_sim_world *w)
{
	return (w->step + 1) * SLU_SIM_STEP_NS;
}

/* Only the first fault is kept: the others follow from it. */
void slu_sim_world_break(struct slu_sim_world *w, const char *format, ...)
{
	va_list args;

	if (w->fault[0])
		return;
	va_start(args, format);
	vsnprintf(w->fault, sizeof(w->fault), format, args);
	va_end(args);
}

int slu_sim_world_new(const struct slu_sim_config *config, struct slu_sim_world **ret_world)
{
	struct slu_sim_world *w = calloc(1, sizeof(*w));

	if (!w)
		return slu_error(-ENOMEM);
	w->config = *config;
	w->random = config->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (unsigned d = 0; d < config->n_devices; d++)
		w->board.capacity_bytes[d] = config->total_bytes[d] - config->hidden_bytes[d];
	w->board.late_steps = config->late_steps;
	w->pinned_bytes = w->pinned_most_bytes = config->pinned_bytes;
	w->board.n_allocated = FREES_MAX;
	w->board.frees = calloc(FREES_MAX, sizeof(*w->board.frees));
	if (!w->board.frees) {
		free(w);
		return slu_error(-ENOMEM);
	}
	*ret_world = w;
	return 0;
}

void slu_sim_world_free(struct slu_sim_world *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->n_clients; i++) {
		slu_sim_client_free(&w->clients[i]);
		slu_sim_queue_deinit(&w->sessions[i].inbox);
	}
	slu_core_free(w->core);
	free(w->board.frees);
	free(w);
}

static void change_budget(struct slu_sim_world *w, uint64_t bytes)
{
	slu_sim_invariant_before_daemon(w);
	slu_sim_daemon_budget(w, bytes);
	slu_sim_invariant_daemon(w);
}

static void world_befall(struct slu_sim_world *w)
{
	const struct slu_sim_faults *f = &w->config.faults;
	struct slu_sim_client *c;

	if (w->step >= f->until_step) {
		for (unsigned d = 0; d < w->config.n_devices; d++)
			w->board.outsider_bytes[d] = 0;
		if (w->pinned_bytes != w->config.pinned_bytes)
			change_budget(w, w->config.pinned_bytes);
		return;
	}
	c = &w->clients[slu_sim_between(&w->random, 0, w->n_clients - 1)];
	if (slu_sim_chance(&w->random, f->kill) && c->is_alive) {
		w->counts.n_kills++;
		slu_sim_client_kill(c);
	}
	if (slu_sim_chance(&w->random, f->stop)) {
		w->counts.n_stops++;
		c->stopped_until_step =
			w->step + slu_sim_between(&w->random, STOP_STEPS_MIN, SLU_SIM_STOP_MAX);
	}
	if (slu_sim_chance(&w->random, f->cut))
		slu_sim_daemon_cut(w, c->index);
	if (f->part && slu_sim_chance(&w->random, f->part)) {
		slu_sim_invariant_before_daemon(w);
		slu_sim_daemon_part(w, c->index);
		slu_sim_invariant_daemon(w);
	}
	if (f->budget && slu_sim_chance(&w->random, f->budget))
		change_budget(w, w->config.pinned_bytes * slu_sim_between(&w->random, 0, 4) / 4);
	if (slu_sim_chance(&w->random, f->outsider))
		slu_sim_board_outsider(w);
	if (slu_sim_chance(&w->random, f->restart) && w->core)
		slu_sim_daemon_die(w);
}

static void step_daemon(struct slu_sim_world *w)
{
	slu_sim_invariant_before_daemon(w);
	slu_sim_daemon_step(w);
	slu_sim_invariant_daemon(w);
}

int slu_sim_world_step(struct slu_sim_world *w)
{
	struct slu_sim_client *c;

	w->step++;
	w->counts.n_steps++;
	slu_sim_board_tick(&w->board, w->step);
	world_befall(w);
	if (slu_sim_chance(&w->random, DAEMON_SHARE)) {
		step_daemon(w);
	} else {
		c = &w->clients[slu_sim_between(&w->random, 0, w->n_clients - 1)];
		if (c->is_alive && w->step >= c->stopped_until_step)
			slu_sim_client_step(c);
		slu_sim_invariant_client(w, c);
	}
	return w->fault[0] ? SLU_SIM_E_BROKEN : 0;
}

static bool world_has_clients(const struct slu_sim_world *w)
{
	for (unsigned i = 0; i < w->n_clients; i++)
		if (w->clients[i].is_alive)
			return true;
	return false;
}

int slu_sim_world_run(struct slu_sim_world *w)
{
	if (!w->core && w->generation == 0 && slu_sim_daemon_start(w))
		slu_sim_world_break(w, "the daemon does not start");
	while (world_has_clients(w) && !w->fault[0]) {
		slu_sim_world_step(w);
		if (w->step > w->config.steps_max)
			slu_sim_world_break(w, "no end after %llu steps",
					    (unsigned long long)w->step);
	}
	for (unsigned i = 0; (i < AFTER_STEPS || !w->core) && !w->fault[0]; i++) {
		w->step++;
		slu_sim_board_tick(&w->board, w->step);
		step_daemon(w);
	}
	if (!w->fault[0])
		slu_sim_invariant_end(w);
	if (!w->fault[0])
		return 0;
	slu_sim_dump(w);
	return SLU_SIM_E_BROKEN;
}
