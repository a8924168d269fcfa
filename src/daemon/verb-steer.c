/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs that steer programs: park, unpark, kick. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/suggest.h"
#include "daemon/answer.h"
#include "daemon/group.h"
#include "daemon/program.h"
#include "daemon/server.h"

static bool is_meant(const struct slu_program *program, const char *who)
{
	char *end;
	unsigned long long number;

	if (!strcmp(program->name, who))
		return true;
	number = strtoull(who, &end, 10);
	if (who[0] && !*end && number == (unsigned long long)program->pid)
		return true;
	number = strtoull(who, &end, 16);
	return strlen(who) == 16 && !*end && number &&
	       (number == program->group->id || number == program->group->wire);
}

/* Calls @act for each program that is meant and may be steered. Return: how many. */
static unsigned each_meant(struct slu_answer *answer,
			   int (*act)(struct slu_answer *answer, struct slu_program *program))
{
	const char *who = json_string_value(json_object_get(answer->request, "program"));
	bool all = json_is_true(json_object_get(answer->request, "all"));
	struct slu_server *server = answer->view.server;
	char hint[SLU_WIRE_NAME_MAX + 80];
	json_t *done = json_array();
	struct slu_suggest suggest = { .word = who ? who : "" };
	struct slu_program *program;
	unsigned n = 0;

	if (!who && !all) {
		json_decref(done);
		slu_answer_no(answer, EINVAL, NULL,
			      "expected \"program\" (a name, a pid or a group) or \"all\"");
		return 0;
	}
	LIST_FOREACH (program, &server->programs, entry) {
		int r;

		if (!slu_control_may_see(&answer->view, program->uid))
			continue;
		slu_suggest_offer(&suggest, program->name);
		if (!all && !is_meant(program, who))
			continue;
		r = act(answer, program);
		if (r) {
			json_decref(done);
			slu_answer_no(answer, -r, NULL, "%s (pid %d): %s", program->name,
				      (int)program->pid, strerror(-r));
			return 0;
		}
		json_array_append_new(done, json_pack("{s:s, s:i}", "name", program->name, "pid",
						      (int)program->pid));
		n++;
	}
	if (!n && !all) {
		json_decref(done);
		snprintf(hint, sizeof(hint), "%s%s%s'sluice status' lists your programs.",
			 suggest.best ? "Did you mean '" : "", suggest.best ? suggest.best : "",
			 suggest.best ? "'? " : "");
		slu_answer_no(answer, ENOENT, hint,
			      "no program of yours is called '%.64s', nor has that pid", who);
		return 0;
	}
	json_object_set_new(answer->reply, "programs", done);
	return n;
}

static void say_done(struct slu_answer *answer, const char *what, unsigned n)
{
	const json_t *first = json_array_get(json_object_get(answer->reply, "programs"), 0);
	char words[SLU_ANSWER_WORDS_MAX];

	if (answer->status)
		return;
	if (n == 1)
		snprintf(words, sizeof(words), "%s %s (pid %d).", what,
			 json_string_value(json_object_get(first, "name")),
			 (int)json_integer_value(json_object_get(first, "pid")));
	else
		snprintf(words, sizeof(words), "%s %u programs.", what, n);
	slu_answer_say(answer, words);
}

static int park(struct slu_answer *answer, struct slu_program *program)
{
	int r = slu_group_park(answer->view.server, program->group, true);

	slu_server_wake(answer->view.server);
	return r < 0 ? slu_fold(r) : 0;
}

static int unpark(struct slu_answer *answer, struct slu_program *program)
{
	int r = slu_group_park(answer->view.server, program->group, false);

	slu_server_wake(answer->view.server);
	return r < 0 ? slu_fold(r) : 0;
}

static int kick(struct slu_answer *answer, struct slu_program *program)
{
	(void)answer;
	if (syscall(SYS_pidfd_send_signal, program->pidfd, SIGKILL, NULL, 0) < 0)
		return slu_error(-errno);
	slu_log(NOTICE, "kicked program=%s pid=%d", program->name, (int)program->pid);
	return 0;
}

void slu_verb_park(struct slu_answer *answer)
{
	say_done(answer, "Parked", each_meant(answer, park));
}

void slu_verb_unpark(struct slu_answer *answer)
{
	say_done(answer, "Let go on:", each_meant(answer, unpark));
}

void slu_verb_kick(struct slu_answer *answer)
{
	say_done(answer, "Ended", each_meant(answer, kick));
}
