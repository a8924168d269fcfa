/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of answer.h: the request by which a command tells how far it is with suspending programs
 * by the driver (program.h has the states). The command calls the driver, as the user who asks; the
 * daemon makes the program rest before, and makes place for it afterwards.
 *
 *   {"verb": "suspend", "step": STEP, "program": NAME}, or "all": true
 *
 *   begin    parks; "ready" tells of each program whether it is at rest and has moved what can move
 *   done     nothing of it is on a device any more
 *   failed   it runs as before; "unpark": it was not parked before
 *   resume   unparks; "ready" tells whether the devices have what it needs
 *   resumed  it is back
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "daemon/answer.h"
#include "daemon/group.h"
#include "daemon/program.h"
#include "daemon/server.h"

static uint64_t used_of(const struct slu_device *device)
{
	return device->used_bytes + device->overhead_bytes;
}

static bool is_at_rest(const struct slu_program *program)
{
	struct slu_core_client_view c = {};
	struct slu_core_group_view g = {};

	slu_core_view_client_of(program->server->core, program->id, &c);
	slu_core_view_group_of(program->server->core, program->group->id, &g);
	if (g.state != SLU_CORE_IDLE && g.state != SLU_CORE_WAITING)
		return false;
	for (unsigned d = 0; d < c.n_devices; d++)
		if (c.device_accounts[d].is_pending ||
		    c.device_accounts[d].held_bytes > c.device_accounts[d].floor_bytes)
			return false;
	return true;
}

static bool step_begin(struct slu_program *program)
{
	if (program->suspension == SLU_SUSPENSION_AWAY)
		return true;
	slu_group_park(program->server, program->group, true);
	slu_program_suspend(program, SLU_SUSPENSION_GOING);
	for (unsigned d = 0; d < program->n_devices; d++)
		program->devices[d].used_bytes = used_of(program->devices[d].device);
	return is_at_rest(program);
}

static bool step_done(struct slu_program *program)
{
	for (unsigned d = 0; d < program->n_devices; d++) {
		struct slu_program_device *own = &program->devices[d];

		if (program->suspension == SLU_SUSPENSION_GOING)
			own->away_bytes = slu_sub_floor(own->used_bytes, used_of(own->device));
	}
	slu_group_park(program->server, program->group, true);
	slu_program_suspend(program, SLU_SUSPENSION_AWAY);
	slu_log(NOTICE, "suspended program=%s pid=%d", program->name, (int)program->pid);
	return true;
}

static bool step_failed(struct slu_program *program)
{
	slu_program_suspend(program, SLU_SUSPENSION_NONE);
	return true;
}

/*
 * A WANT in the program's name, because it cannot send one: others rest and give up bytes only for
 * a program that wants to run. Its next own WANT takes the place of this one.
 */
static void want_turn(const struct slu_program *program)
{
	struct slu_core_client_view c = {};

	slu_core_view_client_of(program->server->core, program->id, &c);
	for (unsigned d = 0; d < c.n_devices; d++) {
		struct slu_message m = { .header.type = SLU_MSG_WANT, .want = c.wants[d] };

		m.want.account =
			(struct slu_account){ .tier = SLU_TIER_DEVICE, .device = (uint8_t)d };
		m.want.is_runnable = 1;
		(void)slu_core_message(program->server->core, slu_clock_now_ns(), program->id, &m);
	}
}

/* Whether the devices have free what it left; of a card without a board nobody knows. */
static bool step_resume(struct slu_program *program)
{
	bool is_first = program->suspension != SLU_SUSPENSION_COMING;

	slu_program_suspend(program, SLU_SUSPENSION_COMING);
	slu_group_park(program->server, program->group, false);
	if (is_first)
		want_turn(program);
	for (unsigned d = 0; d < program->n_devices; d++) {
		const struct slu_device *device = program->devices[d].device;

		if (slu_sub_floor(device->total_bytes, used_of(device)) <
		    program->devices[d].away_bytes)
			return false;
	}
	return true;
}

static bool step_resumed(struct slu_program *program)
{
	slu_program_suspend(program, SLU_SUSPENSION_NONE);
	slu_group_park(program->server, program->group, false);
	slu_log(NOTICE, "resumed program=%s pid=%d", program->name, (int)program->pid);
	return true;
}

static const struct step {
	const char *name;
	bool (*act)(struct slu_program *program); /* Return: whether it is ready for the next one */
	unsigned from; /* a set bit: a suspension in which the step has a meaning */
} steps[] = {
#define FROM(state) (1u << SLU_SUSPENSION_##state)
	{ "begin", step_begin, FROM(NONE) | FROM(GOING) | FROM(AWAY) },
	{ "done", step_done, FROM(GOING) | FROM(AWAY) | FROM(COMING) },
	{ "failed", step_failed, FROM(GOING) },
	{ "resume", step_resume, FROM(GOING) | FROM(AWAY) | FROM(COMING) },
	{ "resumed", step_resumed, FROM(GOING) | FROM(AWAY) | FROM(COMING) },
#undef FROM
};

static const struct step *step_find(const char *name)
{
	for (size_t i = 0; name && i < SLU_ARRAY_SIZE(steps); i++)
		if (!strcmp(steps[i].name, name))
			return &steps[i];
	return NULL;
}

static json_t *make_line(const struct slu_program *program, bool was_parked, bool is_ready)
{
	return json_pack("{s:s, s:i, s:b, s:b}", "name", program->name, "pid", (int)program->pid,
			 "parked", was_parked, "ready", is_ready);
}

void slu_verb_suspend(struct slu_answer *answer)
{
	const char *who = json_string_value(json_object_get(answer->request, "program"));
	const struct step *step =
		step_find(json_string_value(json_object_get(answer->request, "step")));
	bool is_all = json_is_true(json_object_get(answer->request, "all"));
	bool unparks = json_is_true(json_object_get(answer->request, "unpark"));
	json_t *list = json_array();
	struct slu_program *program;

	if (step)
		slu_server_look(answer->view.server);
	LIST_FOREACH (program, &answer->view.server->programs, entry) {
		bool was_parked = program->group->is_parked;

		if (!step || (!who && !is_all) || !slu_verb_means(answer, program, who) ||
		    !(step->from >> program->suspension & 1))
			continue;
		json_array_append_new(list, make_line(program, was_parked, step->act(program)));
		if (unparks)
			slu_group_park(program->server, program->group, false);
	}
	if (!step || (!who && !is_all))
		slu_answer_no(answer, EINVAL, NULL,
			      "expected \"step\", and \"program\" or \"all\"");
	else if (!json_array_size(list))
		slu_answer_no(answer, ENOENT, "'sluice status' lists your programs.",
			      "no program of yours that this can be done with is called '%.64s', "
			      "nor has that pid",
			      who ? who : "");
	else
		json_object_set(answer->reply, "programs", list);
	json_decref(list);
}

void slu_verb_list_suspended(struct slu_answer *answer, const char *who)
{
	const struct slu_program *program;
	json_t *list = json_array();

	LIST_FOREACH (program, &answer->view.server->programs, entry)
		if (program->suspension && slu_verb_means(answer, program, who))
			json_array_append_new(list, make_line(program, true, false));
	if (json_array_size(list))
		json_object_set(answer->reply, "suspended", list);
	json_decref(list);
}
