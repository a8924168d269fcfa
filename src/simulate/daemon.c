/* SPDX-License-Identifier: Apache-2.0 */

/* The daemon around the core: messages in, a step after those of one moment, actions out. */

#include <errno.h>

#include "base/error.h"
#include "base/util.h"
#include "simulate/world.h"

static uint64_t client_id(size_t program)
{
	return program + 1;
}

static void step_soon(struct slu_world *w, uint64_t at_ns)
{
	if (at_ns >= w->step_ns)
		return;
	w->step_ns = at_ns;
	slu_world_add(w, at_ns, SLU_EVENT_STEP, 0, NULL);
}

int slu_simulate_daemon_start(struct slu_world *w)
{
	const struct slu_simulate_scenario *s = w->scenario;
	uint64_t reserve_bytes = s->memory_bytes / 100 * s->reserve_percent;
	int r;

	w->step_ns = SLU_SIMULATE_NEVER;
	r = slu_core_new(&s->core, 0, &w->core);
	if (r)
		return slu_fold(r);
	r = slu_core_device_add(w->core, 0, "device", s->memory_bytes - reserve_bytes,
				reserve_bytes);
	return r < 0 ? slu_fold(r) : 0;
}

static void join(struct slu_world *w, size_t program, const struct slu_message *message)
{
	const struct slu_simulate_program *p = w->runners[program].program;
	struct slu_core_join join = {
		.client = client_id(program),
		.group = client_id(program),
		.name = p->name,
		.hello = &message->hello,
		.priority = p->priority,
		.expect_ns = p->expect_ns,
	};
	struct slu_message welcome = { .welcome = { .version = SLU_WIRE_VERSION,
						    .generation = 1 } };

	slu_message_stamp(&welcome, SLU_MSG_WELCOME);
	slu_world_send(w, SLU_EVENT_TO_PEER, program, &welcome);
	if (slu_core_hello(w->core, w->now_ns, &join))
		w->is_out_of_memory = true;
}

void slu_simulate_daemon_hear(struct slu_world *w, size_t program,
			      const struct slu_message *message)
{
	if (message->header.type == SLU_MSG_HELLO)
		join(w, program, message);
	else
		(void)slu_core_message(w->core, w->now_ns, client_id(program), message);
	/* of FACTS the core takes what no program here does: nothing changes that needs a step */
	if (message->header.type != SLU_MSG_FACTS)
		step_soon(w, w->now_ns);
}

void slu_simulate_daemon_death(struct slu_world *w, size_t program)
{
	slu_core_dead(w->core, w->now_ns, client_id(program));
	step_soon(w, w->now_ns);
}

void slu_simulate_daemon_step(struct slu_world *w)
{
	struct slu_core_action action;
	int r;

	if (w->now_ns < w->step_ns)
		return; /* an earlier step did this one's work */
	w->step_ns = SLU_SIMULATE_NEVER;
	w->result->n_steps++;
	slu_core_step(w->core, w->now_ns);
	while ((r = slu_core_take_action(w->core, &action)) > 0)
		if (action.kind == SLU_CORE_SEND)
			slu_world_send(w, SLU_EVENT_TO_PEER, (size_t)(action.client - 1),
				       &action.message);
	if (r < 0)
		w->is_out_of_memory = true;
	/* a moment later at least, so that time goes on */
	if (slu_core_deadline_ns(w->core) != SLU_CORE_NEVER)
		step_soon(w, SLU_MAX(slu_core_deadline_ns(w->core), w->now_ns + 1));
}
