/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "simulate/world.h"

#define STUCK_NS (24 * 3600 * SLU_NS_PER_S) /* without a launch */

void slu_simulate_scenario_default(struct slu_simulate_scenario *ret_scenario)
{
	*ret_scenario = (struct slu_simulate_scenario){
		.memory_bytes = 16 * SLU_GIB,
		.reserve_percent = 3,
		.in_rate = UINT64_C(12000000000),
		.out_rate = UINT64_C(12000000000),
		.unit_bytes = 128 * SLU_MIB,
		.latency_ns = 50 * SLU_NS_PER_US,
		.until_ns = SLU_SIMULATE_NEVER,
	};
	slu_core_config_default(&ret_scenario->core);
	/* host memory is not what is asked about */
	ret_scenario->core.backing_bytes = 1024 * 1024 * SLU_GIB;
}

void slu_world_add(struct slu_world *w, uint64_t at_ns, enum slu_event_kind kind, size_t program,
		   void *message)
{
	if (slu_events_add(&w->events, at_ns, kind, program, message))
		w->is_out_of_memory = true;
}

void *slu_world_alloc(struct slu_world *w, size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		w->is_out_of_memory = true;
	return p;
}

void slu_world_send(struct slu_world *w, enum slu_event_kind kind, size_t program,
		    const struct slu_message *message)
{
	size_t size = sizeof(message->header) + message->header.size;
	void *copy = slu_world_alloc(w, size);

	if (!copy)
		return;
	memcpy(copy, message, size);
	slu_world_add(w, w->now_ns + w->scenario->latency_ns, kind, program, copy);
}

static void event_handle(struct slu_world *w, const struct slu_event *event)
{
	struct slu_runner *r = &w->runners[event->program];

	switch (event->kind) {
	case SLU_EVENT_ARRIVE:
		slu_runner_arrive(w, r);
		break;
	case SLU_EVENT_REQUEST:
		slu_runner_request(w, r);
		break;
	case SLU_EVENT_CONTINUE:
		slu_runner_continue(w, r);
		break;
	case SLU_EVENT_LAUNCHED:
		slu_runner_launched(w, r);
		break;
	case SLU_EVENT_IDLE:
		slu_runner_look(w, r);
		break;
	case SLU_EVENT_PEER:
		r->deadline_ns = SLU_SIMULATE_NEVER;
		if (r->peer)
			slu_runner_act(w, r);
		break;
	case SLU_EVENT_TO_PEER:
		slu_runner_hear(w, r, event->message);
		break;
	case SLU_EVENT_TO_DAEMON:
		slu_simulate_daemon_hear(w, event->program, event->message);
		break;
	case SLU_EVENT_DEATH:
		slu_simulate_daemon_death(w, event->program);
		break;
	case SLU_EVENT_STEP:
		slu_simulate_daemon_step(w);
		break;
	case SLU_EVENT_MOVED:
		slu_bus_moved(w, (unsigned)event->program);
		break;
	}
}

static int world_begin(struct slu_world *w)
{
	const struct slu_simulate_scenario *s = w->scenario;

	TAILQ_INIT(&w->launches);
	for (unsigned way = 0; way < _SLU_WAYS; way++)
		TAILQ_INIT(&w->ways[way].moves);
	w->n_runners = w->result->n_outcomes = s->n_programs;
	w->runners = calloc(SLU_MAX(s->n_programs, (size_t)1), sizeof(*w->runners));
	w->result->outcomes =
		calloc(SLU_MAX(s->n_programs, (size_t)1), sizeof(*w->result->outcomes));
	if (!w->runners || !w->result->outcomes)
		return slu_error(-ENOMEM);
	for (size_t i = 0; i < s->n_programs; i++) {
		const struct slu_simulate_program *p = &s->programs[i];

		w->runners[i].program = p;
		w->runners[i].outcome = &w->result->outcomes[i];
		w->result->outcomes[i].first_ns = SLU_SIMULATE_NEVER;
		w->result->outcomes[i].end_ns = SLU_SIMULATE_NEVER;
		w->n_finite += slu_simulate_program_is_finite(p);
		slu_world_add(w, p->arrive_ns, SLU_EVENT_ARRIVE, i, NULL);
	}
	return slu_fold(slu_simulate_daemon_start(w));
}

static int world_run(struct slu_world *w)
{
	bool is_finite = w->n_finite > 0;
	struct slu_event event;

	while (slu_events_take(&w->events, &event)) {
		if (event.at_ns >= w->scenario->until_ns) {
			w->now_ns = w->scenario->until_ns;
			free(event.message);
			return 0;
		}
		w->now_ns = event.at_ns;
		w->result->n_events++;
		event_handle(w, &event);
		free(event.message);
		if (w->is_out_of_memory)
			return slu_error(-ENOMEM);
		if (w->scenario->watch)
			w->scenario->watch(w->scenario->watcher, w);
		if (is_finite && !w->n_finite)
			return 0;
		if (w->now_ns > w->progress_ns + STUCK_NS)
			return SLU_SIMULATE_E_STUCK;
	}
	return is_finite ? SLU_SIMULATE_E_STUCK : 0;
}

int slu_simulate_run(const struct slu_simulate_scenario *scenario,
		     struct slu_simulate_result *ret_result)
{
	struct slu_world w = { .scenario = scenario };
	int r;

	*ret_result = (struct slu_simulate_result){};
	w.result = ret_result;
	r = world_begin(&w);
	if (!r)
		r = world_run(&w);
	ret_result->end_ns = w.now_ns;
	for (size_t i = 0; w.runners && i < w.n_runners; i++)
		slu_runner_free(&w, &w.runners[i]);
	slu_bus_free(&w);
	slu_core_free(w.core);
	slu_events_deinit(&w.events);
	free(w.runners);
	if (r < 0) {
		slu_simulate_result_deinit(ret_result);
		return slu_fold(r);
	}
	return r;
}

void slu_simulate_result_deinit(struct slu_simulate_result *result)
{
	for (size_t i = 0; i < result->n_outcomes && result->outcomes; i++)
		free(result->outcomes[i].latencies_ns);
	free(result->outcomes);
	free(result->turns);
	free(result->copies);
	*result = (struct slu_simulate_result){};
}
