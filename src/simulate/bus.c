/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bus: in each direction one unit at a time, in the order in which the programs asked. Memory
 * of the device is taken when a move in begins, and given back when a move out ends.
 */

#include <stdlib.h>

#include "base/util.h"
#include "simulate/world.h"

static uint64_t copy_ns(const struct slu_world *w, unsigned way, uint64_t bytes)
{
	uint64_t rate = way == SLU_WAY_IN ? w->scenario->in_rate : w->scenario->out_rate;

	return (uint64_t)((unsigned __int128)bytes * SLU_NS_PER_S / SLU_MAX(rate, 1u));
}

/* What has no content, or the same as its host copy, takes no time. */
static uint64_t move_ns(const struct slu_world *w, const struct slu_unit *unit)
{
	if (unit->moving == SLU_MOVING_IN)
		return unit->host_version ? copy_ns(w, SLU_WAY_IN, unit->bytes) : 0;
	return slu_unit_is_clean(unit) ? 0 : copy_ns(w, SLU_WAY_OUT, unit->bytes);
}

static void move_end(struct slu_world *w, struct slu_moves *moves, struct slu_move *move,
		     enum slu_move_result result)
{
	struct slu_runner *runner = move->runner;
	struct slu_unit *unit = move->unit;
	bool is_in = unit->moving == SLU_MOVING_IN;

	TAILQ_REMOVE(moves, move, link);
	if (is_in && move->has_memory && result != SLU_MOVE_DONE)
		w->used_bytes -= unit->bytes;
	if (result == SLU_MOVE_DONE && is_in) {
		runner->outcome->in_bytes += unit->host_version ? unit->bytes : 0;
	} else if (result == SLU_MOVE_DONE) {
		w->used_bytes -= unit->bytes;
		runner->outcome->out_bytes += slu_unit_is_clean(unit) ? 0 : unit->bytes;
	}
	free(move);
	slu_peer_move_done(runner->peer, w->now_ns, unit, result);
	slu_runner_act(w, runner);
}

/* A copy of @ns begins now. */
static void copy_note(struct slu_world *w, unsigned way, size_t program, uint64_t ns)
{
	struct slu_simulate_result *result = w->result;
	size_t last = w->ways[way].last_copy;
	struct slu_simulate_copy *copy = last ? &result->copies[last - 1] : NULL;

	if (!ns)
		return;
	if (copy && copy->program == program && copy->end_ns == w->now_ns) {
		copy->end_ns += ns;
		return;
	}
	if (result->n_copies == result->n_copies_max) {
		size_t n = SLU_MAX(2 * result->n_copies_max, (size_t)64);
		struct slu_simulate_copy *list = reallocarray(result->copies, n, sizeof(*list));

		if (!list) {
			w->is_out_of_memory = true;
			return;
		}
		result->copies = list;
		result->n_copies_max = n;
	}
	result->copies[result->n_copies++] =
		(struct slu_simulate_copy){ program, w->now_ns, w->now_ns + ns, way == SLU_WAY_IN };
	w->ways[way].last_copy = result->n_copies;
}

static struct slu_moves *moves_of(struct slu_world *w, unsigned way)
{
	return &w->ways[way].moves;
}

/* Begins the first move of the direction, unless one runs; those that cannot begin end at once. */
static void bus_begin(struct slu_world *w, unsigned way)
{
	struct slu_move *move;

	/* the end of a move lets its program act, which may begin the next one */
	while (!w->ways[way].is_busy && (move = TAILQ_FIRST(moves_of(w, way)))) {
		struct slu_unit *unit = move->unit;

		if (unit->cancel) {
			move_end(w, moves_of(w, way), move, SLU_MOVE_CANCELLED);
			continue;
		}
		if (way == SLU_WAY_IN && w->used_bytes + unit->bytes > w->scenario->memory_bytes) {
			move_end(w, moves_of(w, way), move, SLU_MOVE_REFUSED);
			continue;
		}
		if (way == SLU_WAY_IN) {
			w->used_bytes += unit->bytes;
			move->has_memory = true;
		}
		w->ways[way].is_busy = true;
		copy_note(w, way, slu_runner_number(w, move->runner), move_ns(w, unit));
		slu_world_add(w, w->now_ns + move_ns(w, unit), SLU_EVENT_MOVED, way, NULL);
	}
}

void slu_bus_move(struct slu_world *w, struct slu_runner *runner, struct slu_unit *unit)
{
	unsigned way = unit->moving == SLU_MOVING_IN ? SLU_WAY_IN : SLU_WAY_OUT;
	struct slu_move *move = slu_world_alloc(w, sizeof(*move));

	if (!move)
		return;
	*move = (struct slu_move){ .runner = runner, .unit = unit };
	TAILQ_INSERT_TAIL(moves_of(w, way), move, link);
	bus_begin(w, way);
}

void slu_bus_moved(struct slu_world *w, unsigned way)
{
	struct slu_move *move = TAILQ_FIRST(moves_of(w, way));

	w->ways[way].is_busy = false;
	if (move->unit) {
		move_end(w, moves_of(w, way), move, SLU_MOVE_DONE);
	} else {
		TAILQ_REMOVE(moves_of(w, way), move, link);
		free(move);
	}
	bus_begin(w, way);
}

void slu_bus_drop(struct slu_world *w, struct slu_runner *runner)
{
	for (unsigned way = 0; way < _SLU_WAYS; way++) {
		struct slu_move *move = TAILQ_FIRST(moves_of(w, way)), *next;

		for (; move; move = next) {
			next = TAILQ_NEXT(move, link);
			if (move->runner != runner || !move->unit)
				continue;
			if (move->has_memory)
				w->used_bytes -= move->unit->bytes;
			slu_peer_move_done(runner->peer, w->now_ns, move->unit, SLU_MOVE_CANCELLED);
			move->unit = NULL;
			if (w->ways[way].is_busy && move == TAILQ_FIRST(moves_of(w, way)))
				continue;
			TAILQ_REMOVE(moves_of(w, way), move, link);
			free(move);
		}
	}
}

void slu_bus_free(struct slu_world *w)
{
	for (unsigned way = 0; way < _SLU_WAYS; way++) {
		struct slu_move *move;

		while ((move = TAILQ_FIRST(moves_of(w, way)))) {
			TAILQ_REMOVE(moves_of(w, way), move, link);
			free(move);
		}
	}
}
