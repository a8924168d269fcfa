/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program and its peer. The program has one thread: it allocates, then launches and waits for
 * each launch. What the client library does with threads happens here at once: the gate shuts when
 * the peer says so, and the drain ends with the launch that is under way.
 */

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "simulate/world.h"

#define RETRIES	  5
#define PAUSE_NS  SLU_NS_PER_MS
#define ANSWER_NS (200 * SLU_NS_PER_MS)

static const struct slu_hello_device *device_identity(const struct slu_world *w)
{
	static struct slu_hello_device identity;

	identity = (struct slu_hello_device){
		.uuid = { 1 },
		.name = "device",
		.total_bytes = w->scenario->memory_bytes,
		.never_pins = 1,
	};
	return &identity;
}

void slu_runner_arrive(struct slu_world *w, struct slu_runner *r)
{
	struct slu_peer_config config = {
		.group = 0,
		.refusal_retries = RETRIES,
		.refusal_pause_ns = PAUSE_NS,
		.idle_ns = w->scenario->core.idle_ns,
		.answer_ns = ANSWER_NS,
		.seed = slu_runner_number(w, r) + 1,
	};

	memcpy(config.program, r->program->name, sizeof(config.program));
	w->progress_ns = w->now_ns;
	r->remaining_bytes = r->program->bytes;
	r->deadline_ns = SLU_SIMULATE_NEVER;
	if (slu_peer_new(&config, &r->peer) ||
	    slu_peer_device_add(r->peer, device_identity(w), SLU_MODE_ALL) < 0) {
		w->is_out_of_memory = true;
		return;
	}
	slu_peer_connection_made(r->peer, w->now_ns);
	slu_world_add(w, w->now_ns + r->program->startup_ns, SLU_EVENT_CONTINUE,
		      slu_runner_number(w, r), NULL);
	slu_runner_act(w, r);
}

/* -- the program ----------------------------------------------------------------------------- */

static bool request_is_last(const struct slu_runner *r, uint64_t n)
{
	uint64_t n_requests = r->program->n_bursts ? r->program->n_bursts : r->program->n_requests;

	return n_requests && n >= n_requests;
}

static void request_begin(struct slu_runner *r)
{
	const struct slu_simulate_program *p = r->program;

	if (p->n_bursts)
		r->n_remaining =
			SLU_MAX(p->bursts[r->n_done].device_ns / p->iteration_ns, UINT64_C(1));
	else
		r->n_remaining = p->n_iterations ? p->n_iterations : UINT64_MAX;
	r->work = SLU_WORK_GATE;
}

/* After the rest of the next burst, if there is one; else now. */
static void request_expect(struct slu_world *w, struct slu_runner *r)
{
	uint64_t rest_ns = r->program->n_bursts ? r->program->bursts[r->n_came].rest_ns : 0;

	slu_world_add(w, w->now_ns + rest_ns, SLU_EVENT_REQUEST, slu_runner_number(w, r), NULL);
}

void slu_runner_request(struct slu_world *w, struct slu_runner *r)
{
	if (!r->peer)
		return;
	if (r->n_came++ == r->n_done)
		r->came_ns = w->now_ns;
	if (r->program->period_ns && !request_is_last(r, r->n_came))
		slu_world_add(w, w->now_ns + r->program->period_ns, SLU_EVENT_REQUEST,
			      slu_runner_number(w, r), NULL);
	if (r->is_loaded && r->work == SLU_WORK_NONE && !r->n_remaining)
		request_begin(r);
	slu_runner_act(w, r);
}

static void latency_note(struct slu_world *w, struct slu_simulate_outcome *outcome,
			 uint64_t latency_ns)
{
	if (outcome->n_latencies == outcome->n_latencies_max) {
		size_t n = SLU_MAX(2 * outcome->n_latencies_max, (size_t)4);
		uint64_t *list = reallocarray(outcome->latencies_ns, n, sizeof(*list));

		if (!list) {
			w->is_out_of_memory = true;
			return;
		}
		outcome->latencies_ns = list;
		outcome->n_latencies_max = n;
	}
	outcome->latencies_ns[outcome->n_latencies++] = latency_ns;
}

/* Return: whether the program ends with it. */
static bool request_end(struct slu_world *w, struct slu_runner *r)
{
	latency_note(w, r->outcome, w->now_ns - r->came_ns);
	r->n_done++;
	if (request_is_last(r, r->n_done))
		return true;
	if (r->program->n_bursts) {
		r->work = SLU_WORK_NONE;
		request_expect(w, r);
		return false;
	}
	r->came_ns = r->program->period_ns ? r->came_ns + r->program->period_ns : w->now_ns;
	if (!r->program->period_ns)
		r->n_came++;
	if (r->n_came > r->n_done)
		request_begin(r);
	else
		r->work = SLU_WORK_NONE;
	return false;
}

/* The program cannot have its memory. It ends with the next event, because its peer acts now. */
static void program_deny(struct slu_world *w, struct slu_runner *r)
{
	r->is_denied = true;
	r->work = SLU_WORK_NONE;
	slu_world_add(w, w->now_ns, SLU_EVENT_CONTINUE, slu_runner_number(w, r), NULL);
}

/* Return: whether the program can go on: it has a unit more, or all of them. */
static bool alloc_try(struct slu_world *w, struct slu_runner *r)
{
	if (!r->alloc) {
		r->alloc = slu_world_alloc(w, sizeof(*r->alloc));
		if (!r->alloc)
			return false;
		r->alloc->bytes = SLU_MIN(r->remaining_bytes, w->scenario->unit_bytes);
	}
	switch (slu_peer_alloc(r->peer, w->now_ns, r->alloc)) {
	case 0:
		if (w->used_bytes + r->alloc->bytes > w->scenario->memory_bytes) {
			slu_peer_alloc_refused(r->peer, w->now_ns, r->alloc);
			return false;
		}
		w->used_bytes += r->alloc->bytes;
		r->alloc->device_version = 1;
		break;
	case SLU_PEER_E_IN_RAM:
		r->alloc->host_version = 1; /* it loads its data there */
		break;
	case SLU_PEER_E_DENIED:
		free(r->alloc);
		r->alloc = NULL;
		program_deny(w, r);
		return false;
	default:
		return false;
	}
	r->remaining_bytes -= r->alloc->bytes;
	r->alloc = NULL;
	if (r->remaining_bytes)
		return true;
	r->is_loaded = true;
	r->work = SLU_WORK_NONE;
	request_expect(w, r);
	return true;
}

static void launch_begin(struct slu_world *w)
{
	struct slu_runner *r = TAILQ_FIRST(&w->launches);

	if (!r)
		return;
	r->outcome->first_ns = SLU_MIN(r->outcome->first_ns, w->now_ns);
	slu_world_add(w, w->now_ns + r->program->iteration_ns, SLU_EVENT_LAUNCHED,
		      slu_runner_number(w, r), NULL);
}

/* The first launch of a turn writes what the program changes in it. */
static void units_write(struct slu_runner *r)
{
	uint64_t bytes = r->program->bytes / 100 * r->program->written_percent, done = 0;
	struct slu_unit *unit;

	r->has_written = true;
	TAILQ_FOREACH (unit, slu_peer_view_units(r->peer, 0), link) {
		if (done >= bytes)
			return;
		done += unit->bytes;
		unit->device_version = unit->host_version + 1;
	}
}

static void launch_try(struct slu_world *w, struct slu_runner *r)
{
	bool is_first = TAILQ_EMPTY(&w->launches);

	if (!r->is_open) {
		if (slu_peer_turn_want_open(r->peer, w->now_ns, 0) == SLU_PEER_E_DENIED)
			program_deny(w, r);
		return;
	}
	if (!r->has_written)
		units_write(r);
	slu_peer_turn_progress(r->peer, w->now_ns, 0, true);
	r->work = SLU_WORK_FLIGHT;
	TAILQ_INSERT_TAIL(&w->launches, r, launch_link);
	if (is_first)
		launch_begin(w);
}

/* Return: whether something changed, so that the peer may have more to do. */
static bool program_try(struct slu_world *w, struct slu_runner *r)
{
	enum slu_work before = r->work;

	if (r->work == SLU_WORK_ALLOC)
		return alloc_try(w, r);
	if (r->work == SLU_WORK_GATE)
		launch_try(w, r);
	return r->work != before;
}

static void program_end(struct slu_world *w, struct slu_runner *r)
{
	r->outcome->end_ns = r->is_denied ? SLU_SIMULATE_NEVER : w->now_ns;
	if (slu_simulate_program_is_finite(r->program))
		w->n_finite--;
	slu_world_add(w, w->now_ns + w->scenario->latency_ns, SLU_EVENT_DEATH,
		      slu_runner_number(w, r), NULL);
	slu_runner_free(w, r);
}

void slu_runner_continue(struct slu_world *w, struct slu_runner *r)
{
	if (!r->peer)
		return;
	if (r->is_denied) {
		program_end(w, r);
		return;
	}
	if (!r->is_loaded)
		r->work = SLU_WORK_ALLOC;
	else if (r->n_remaining)
		r->work = SLU_WORK_GATE;
	slu_runner_act(w, r);
}

static void turn_note(struct slu_world *w, const struct slu_runner *r)
{
	struct slu_simulate_result *result = w->result;

	if (result->n_turns == result->n_turns_max) {
		size_t n = SLU_MAX(2 * result->n_turns_max, (size_t)64);
		struct slu_simulate_turn *turns = reallocarray(result->turns, n, sizeof(*turns));

		if (!turns) {
			w->is_out_of_memory = true;
			return;
		}
		result->turns = turns;
		result->n_turns_max = n;
	}
	result->turns[result->n_turns++] =
		(struct slu_simulate_turn){ slu_runner_number(w, r), r->open_ns, w->now_ns };
}

static void drained(struct slu_world *w, struct slu_runner *r)
{
	r->is_shutting = false;
	turn_note(w, r);
	slu_peer_turn_drained(r->peer, w->now_ns, 0, false);
}

static void look_later(struct slu_world *w, struct slu_runner *r)
{
	slu_world_add(w, w->now_ns + w->scenario->core.idle_ns, SLU_EVENT_IDLE,
		      slu_runner_number(w, r), NULL);
}

void slu_runner_launched(struct slu_world *w, struct slu_runner *r)
{
	TAILQ_REMOVE(&w->launches, r, launch_link);
	launch_begin(w);
	w->result->busy_ns += r->program->iteration_ns;
	r->outcome->device_ns += r->program->iteration_ns;
	r->outcome->n_iterations++;
	r->launch_ns = w->progress_ns = w->now_ns;
	r->work = SLU_WORK_GATE;
	slu_peer_turn_progress(r->peer, w->now_ns, 0, true);
	if (r->n_remaining != UINT64_MAX)
		r->n_remaining--;
	if (!r->n_remaining && request_end(w, r)) {
		if (r->is_open || r->is_shutting)
			turn_note(w, r);
		program_end(w, r);
		return;
	}
	if (r->work == SLU_WORK_GATE && r->program->pause_ns) {
		r->work = SLU_WORK_NONE;
		slu_world_add(w, w->now_ns + r->program->pause_ns, SLU_EVENT_CONTINUE,
			      slu_runner_number(w, r), NULL);
	}
	if (r->work == SLU_WORK_NONE)
		look_later(w, r);
	if (r->is_shutting)
		drained(w, r);
	slu_runner_act(w, r);
}

void slu_runner_look(struct slu_world *w, struct slu_runner *r)
{
	if (!r->peer || r->work != SLU_WORK_NONE ||
	    w->now_ns - r->launch_ns < w->scenario->core.idle_ns)
		return;
	slu_peer_turn_progress(r->peer, w->now_ns, 0, false);
	slu_runner_act(w, r);
}

/* -- the peer -------------------------------------------------------------------------------- */

void slu_runner_hear(struct slu_world *w, struct slu_runner *r, const struct slu_message *message)
{
	if (!r->peer)
		return;
	slu_peer_connection_receive(r->peer, w->now_ns, message);
	slu_runner_act(w, r);
}

static void carry_out(struct slu_world *w, struct slu_runner *r, const struct slu_peer_action *a)
{
	switch (a->kind) {
	case SLU_PEER_SEND:
		slu_world_send(w, SLU_EVENT_TO_DAEMON, slu_runner_number(w, r), &a->message);
		break;
	case SLU_PEER_MOVE:
		slu_bus_move(w, r, a->unit);
		break;
	case SLU_PEER_SHIFT:
		slu_peer_shift_done(r->peer, w->now_ns, a->unit, SLU_SHIFT_DONE);
		break;
	case SLU_PEER_OPEN:
		r->is_open = true;
		r->has_written = false;
		r->open_ns = w->now_ns;
		r->outcome->n_turns++;
		if (r->work == SLU_WORK_NONE)
			look_later(w, r);
		break;
	case SLU_PEER_SHUT:
		r->is_open = false;
		r->is_shutting = true;
		if (r->work != SLU_WORK_FLIGHT)
			drained(w, r);
		break;
	case SLU_PEER_PAGE: /* no program here has memory that the driver pages */
		slu_peer_paging_done(r->peer, a->device);
		break;
	case SLU_PEER_START:
	case SLU_PEER_WAKE:
		break;
	}
}

static void deadline_note(struct slu_world *w, struct slu_runner *r)
{
	uint64_t at_ns = slu_peer_deadline_ns(r->peer);

	if (at_ns == SLU_PEER_NEVER || at_ns >= r->deadline_ns)
		return;
	r->deadline_ns = SLU_MAX(at_ns, w->now_ns + 1);
	slu_world_add(w, r->deadline_ns, SLU_EVENT_PEER, slu_runner_number(w, r), NULL);
}

void slu_runner_act(struct slu_world *w, struct slu_runner *r)
{
	struct slu_peer_action action;
	bool goes_on = true;

	/* a move that ends while another one begins acts already */
	if (r->is_acting) {
		r->acts_again = true;
		return;
	}
	r->is_acting = true;
	while (goes_on) {
		r->acts_again = false;
		slu_peer_step(r->peer, w->now_ns);
		while (slu_peer_take_action(r->peer, &action) > 0)
			carry_out(w, r, &action);
		goes_on = program_try(w, r) || r->acts_again;
		/* what the program asked for just now: the peer says it */
		if (!goes_on) {
			slu_peer_step(r->peer, w->now_ns);
			while (slu_peer_take_action(r->peer, &action) > 0) {
				carry_out(w, r, &action);
				goes_on = true;
			}
		}
	}
	r->is_acting = false;
	deadline_note(w, r);
}

void slu_runner_free(struct slu_world *w, struct slu_runner *r)
{
	struct slu_unit *unit;

	if (!r->peer)
		return;
	slu_bus_drop(w, r);
	if (r->alloc) {
		slu_peer_alloc_cancel(r->peer, w->now_ns, r->alloc);
		free(r->alloc);
		r->alloc = NULL;
	}
	while ((unit = TAILQ_FIRST(slu_peer_view_units(r->peer, 0)))) {
		if (unit->place == SLU_PLACE_DEVICE)
			w->used_bytes -= unit->bytes;
		slu_peer_alloc_released(r->peer, w->now_ns, unit);
		free(unit);
	}
	slu_peer_free(r->peer);
	r->peer = NULL;
	r->is_open = false;
	r->work = SLU_WORK_NONE;
}
