/* SPDX-License-Identifier: Apache-2.0 */
/* A part of answer.h: the verbs that change nothing: status, history, settings, ping. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "daemon/answer.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"

void slu_verb_status(struct slu_answer *answer)
{
	slu_server_look(answer->view.server);
	slu_run_sweep(answer->view.server);
	slu_answer_with(answer, slu_status_make(&answer->view));
}

/*
 * Whether the daemon serves, without looking at anything. With a protocol "version" also whether it
 * would admit a program that speaks it and starts now.
 */
void slu_verb_ping(struct slu_answer *answer)
{
	const json_t *version = json_object_get(answer->request, "version");
	char why[192];
	int r, status;

	json_object_set_new(answer->reply, "pid", json_integer(getpid()));
	if (!version)
		return;
	if (!slu_session_serves_version((uint32_t)json_integer_value(version), why, sizeof(why))) {
		slu_answer_no(answer, EPROTONOSUPPORT, NULL, "%s", why);
		return;
	}
	r = slu_program_may_join(answer->view.server, answer->view.uid, &status, why, sizeof(why));
	if (r == SLU_PROGRAM_E_REFUSED)
		slu_answer_no(answer, status,
			      "'sluice status' lists them; end one, or raise the "
			      "limit in sluiced.conf(5).",
			      "%s", why);
	else if (r)
		slu_answer_no(answer, -r, NULL, "%s", strerror(-r));
}

void slu_verb_history(struct slu_answer *answer)
{
	const json_t *last = json_object_get(answer->request, "last");

	if (last && (!json_is_integer(last) || json_integer_value(last) < 0)) {
		slu_answer_no(answer, EINVAL, NULL, "last: expected a number of records");
		return;
	}
	slu_answer_with(answer,
			slu_history_make(&answer->view,
					 last ? (size_t)json_integer_value(last) : SIZE_MAX));
}

void slu_verb_settings(struct slu_answer *answer)
{
	const char *program = json_string_value(json_object_get(answer->request, "program"));

	if (program && strlen(program) >= SLU_WIRE_NAME_MAX) {
		slu_answer_no(answer, EINVAL, NULL,
			      "program: expected a name of at most %d characters",
			      SLU_WIRE_NAME_MAX - 1);
		return;
	}
	slu_answer_with(answer, slu_settings_make(&answer->view, program));
}
