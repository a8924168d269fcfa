/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/enter.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"

#define ASK_NS	 (100 * SLU_NS_PER_MS)
#define QUIET_NS SLU_NS_PER_S

static json_t *request_make(const struct slu_enter *enter)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "verb", "enter", "group", enter->group,
			 "name", enter->name, "expect_ms",
			 (json_int_t)(enter->expect_ns / SLU_NS_PER_MS), "memory_bytes",
			 (json_int_t)enter->memory_bytes, "waits", enter->wait_ns > 0);
}

static const char *reason_of(const json_t *reply)
{
	const char *reason = json_string_value(json_object_get(reply, "reason"));

	return reason ? reason : "";
}

static int place_of(const json_t *reply, const char *key)
{
	return (int)json_integer_value(json_object_get(reply, key));
}

/* What it waits for, on a terminal, once. */
static void say_waiting(const json_t *reply)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "sluice: waits, place %d of %d: %s.\n", place_of(reply, "place"),
			place_of(reply, "waiting"), reason_of(reply));
}

static int time_over(const struct slu_enter *enter, const json_t *reply)
{
	char span[SLU_SIZE_STRING_MAX];

	slu_cli_complain("'sluice status' lists the programs; end one, or wait for longer.",
			 "'%s' was not started within %s, place %d of %d: %s.", enter->name,
			 slu_size_format_time(span, enter->wait_ns), place_of(reply, "place"),
			 place_of(reply, "waiting"), reason_of(reply));
	return SLU_CLI_WAITED;
}

int slu_enter_wait(const struct slu_enter *enter)
{
	const struct slu_cli_where where = { .socket = enter->socket };
	const struct timespec pause = { .tv_nsec = ASK_NS };
	uint64_t began_ns = slu_clock_now_ns(), waited_ns = 0;
	bool is_said = false, was_served = false;

	for (;;) {
		struct slu_cli_peer peer;
		json_t *reply = NULL;
		bool is_admitted;
		int r = slu_cli_try(&where, request_make(enter), &peer, &reply);

		if (r == SLU_CLI_E_REFUSED)
			return slu_cli_refused(reply);
		waited_ns = slu_clock_now_ns() - began_ns;
		if (r < 0 && was_served && waited_ns < enter->wait_ns) {
			/* a daemon that is started again has a place for it */
			nanosleep(&pause, NULL);
			continue;
		}
		if (r < 0)
			return slu_cli_no_daemon(&where, &peer, r);
		was_served = true;
		is_admitted = json_is_true(json_object_get(reply, "admitted"));
		if (!is_admitted && waited_ns >= enter->wait_ns)
			r = time_over(enter, reply);
		if (!is_admitted && !is_said && waited_ns >= QUIET_NS) {
			say_waiting(reply);
			is_said = true;
		}
		json_decref(reply);
		if (is_admitted || r)
			return r;
		nanosleep(&pause, NULL);
	}
}
