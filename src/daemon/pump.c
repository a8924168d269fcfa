/* SPDX-License-Identifier: Apache-2.0 */
/* A part of server.h: the pump steps the core, carries out its actions and arms its deadline. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "daemon/group.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"

#define DEADLINE_MIN_USEC 100 /* a deadline that stays in the past must not spin a core */

void slu_server_wake(struct slu_server *server)
{
	sd_event_source_set_enabled(server->pump, SD_EVENT_ONESHOT);
}

static void send_action(struct slu_server *server, uint64_t now_ns,
			const struct slu_core_action *action)
{
	struct slu_program *program = slu_program_find(server, action->client);

	if (!program || !program->session)
		return;
	/* a program is about to fail: log it even at a low log level */
	if (action->message.header.type == SLU_MSG_DENY)
		slu_log(NOTICE, "DENY program=%s pid=%d, out of memory: %s", program->name,
			(int)program->pid, action->reason);
	else
		slu_log(INFO, "%s program=%s pid=%d: %s",
			slu_message_name(action->message.header.type), program->name,
			(int)program->pid, action->reason);
	slu_program_note(program, now_ns, &action->message, action->reason);
	slu_session_send(program->session, &action->message, -1);
}

static int carry_out(struct slu_server *server, uint64_t now_ns,
		     const struct slu_core_action *action)
{
	struct slu_program *program;

	switch (action->kind) {
	case SLU_CORE_SEND:
		send_action(server, now_ns, action);
		return 0;
	case SLU_CORE_ROSTER_PUT:
		program = slu_program_find(server, action->client);
		return program ? slu_fold(slu_program_write(program, &action->line)) : 0;
	case SLU_CORE_ROSTER_DROP:
		/* a dead program's line went with it */
		program = slu_program_find(server, action->client);
		if (program)
			slu_roster_drop(server->roster, program->slot);
		return 0;
	case SLU_CORE_SPLIT:
		slu_log(INFO, "%s", action->reason);
		program = slu_program_find(server, action->client);
		return program ? slu_fold(slu_program_change_group(program, action->group)) : 0;
	case SLU_CORE_REPORT:
		slu_log(INFO, "%s", action->reason);
		return 0;
	}
	return 0;
}

static void observe_groups(struct slu_server *server, uint64_t now_ns)
{
	enum slu_core_state state;
	struct slu_group *group;
	uint64_t id;

	while (slu_core_take_changed(server->core, &id, &state)) {
		group = slu_group_find(server, id);
		if (group)
			slu_group_observe(group, now_ns, state);
	}
}

static int arm_deadline(struct slu_server *server, uint64_t now_ns)
{
	uint64_t due_ns = slu_core_deadline_ns(server->core), usec;
	int r;

	if (due_ns == SLU_CORE_NEVER)
		return sd_event_source_set_enabled(server->deadline, SD_EVENT_OFF);
	usec = SLU_MAX(due_ns / SLU_NS_PER_US + 1, now_ns / SLU_NS_PER_US + DEADLINE_MIN_USEC);
	r = sd_event_source_set_time(server->deadline, usec);
	return r < 0 ? r : sd_event_source_set_enabled(server->deadline, SD_EVENT_ONESHOT);
}

static int on_pump(sd_event_source *source, void *data)
{
	struct slu_server *server = data;
	uint64_t now_ns = slu_clock_now_ns();
	struct slu_core_action action;
	struct slu_session *session;
	int r;

	(void)source;
	if (server->has_lost) {
		server->has_lost = false;
		slu_program_sweep(server);
	}
	slu_core_step(server->core, now_ns);
	while ((r = slu_core_take_action(server->core, &action)) > 0) {
		r = carry_out(server, now_ns, &action);
		if (r < 0)
			break;
	}
	if (r < 0) {
		/* the roster keeps what was promised; the next daemon continues from there */
		slu_log(CRIT, "the core cannot go on: %s", strerror(-r));
		return sd_event_exit(server->event, r);
	}
	slu_meter_spend(&server->meter, server->payer, now_ns, slu_clock_now_ns() - now_ns);
	observe_groups(server, now_ns);
	while ((session = LIST_FIRST(&server->closed)))
		slu_session_free(session);
	r = arm_deadline(server, now_ns);
	return r < 0 ? slu_fold(r) : 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *data)
{
	(void)source;
	(void)usec;
	slu_server_wake(data);
	return 0;
}

int slu_server_add_pump(struct slu_server *server)
{
	int r = sd_event_add_defer(server->event, &server->pump, on_pump, server);

	return r < 0 ? slu_error(r)
		     : slu_fold(slu_server_add_timer(server, on_deadline, &server->deadline));
}
