/* SPDX-License-Identifier: Apache-2.0 */
/* A part of answer.h: the request of `sluice run` with --expect, --memory or --wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "daemon/answer.h"
#include "daemon/run.h"
#include "daemon/server.h"

#define MS_MAX (UINT64_C(1) << 40) /* 34 years; keeps sums from wrapping */

/* Return: whether the number is there and in range; one that is missing is 0. */
static bool take_number(const struct slu_answer *answer, const char *key, uint64_t max,
			uint64_t *ret_number)
{
	const json_t *value = json_object_get(answer->request, key);
	json_int_t number = json_integer_value(value);

	if (value && (!json_is_integer(value) || number < 0 || (uint64_t)number > max))
		return false;
	*ret_number = (uint64_t)number;
	return true;
}

static bool take_wish(const struct slu_answer *answer, struct slu_run_wish *ret_wish)
{
	const char *group = json_string_value(json_object_get(answer->request, "group"));
	const char *name = json_string_value(json_object_get(answer->request, "name"));
	uint64_t expect_ms;
	char *end = NULL;

	*ret_wish = (struct slu_run_wish){
		.wire = group ? strtoull(group, &end, 16) : 0,
		.uid = answer->view.uid,
		.pid = answer->view.pid,
		.name = name ? name : "",
		.waits = json_is_true(json_object_get(answer->request, "waits")),
	};
	if (!ret_wish->wire || strlen(group) != 16 || *end ||
	    !take_number(answer, "expect_ms", MS_MAX, &expect_ms) ||
	    !take_number(answer, "memory_bytes", SLU_SERVER_BYTES_MAX, &ret_wish->memory_bytes))
		return false;
	ret_wish->expect_ns = expect_ms * SLU_NS_PER_MS;
	return true;
}

void slu_verb_enter(struct slu_answer *answer)
{
	struct slu_server *server = answer->view.server;
	const struct slu_run *run;
	struct slu_run_wish wish;
	unsigned place, n;
	int r;

	if (!take_wish(answer, &wish)) {
		slu_answer_no(answer, EINVAL, NULL,
			      "expected a \"group\" of 16 hex digits, and numbers in range");
		return;
	}
	r = slu_run_enter(server, &wish, &run);
	if (r == SLU_RUN_E_GONE)
		slu_answer_no(answer, ESRCH, NULL, "the process that asks has ended");
	else if (r == SLU_RUN_E_MANY)
		slu_answer_no(answer, EUSERS, "End one, or raise daemon.user_groups_max.",
			      "you have too many runs in the daemon");
	else if (r == SLU_RUN_E_LARGE)
		slu_answer_no(answer, ENOSPC, "Ask for less with --memory.",
			      "no device of this daemon has as much memory as the program needs");
	else if (r)
		slu_answer_no(answer, -r, NULL, "%s", strerror(-r));
	if (r)
		return;
	place = slu_run_place(server, run, &n);
	json_object_set_new(answer->reply, "admitted", json_boolean(!run->is_waiting));
	json_object_set_new(answer->reply, "place", json_integer(run->is_waiting ? place : 0));
	json_object_set_new(answer->reply, "waiting", json_integer(n));
	json_object_set_new(answer->reply, "reason",
			    json_string(run->is_waiting ? run->reason : ""));
}
