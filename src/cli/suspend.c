/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suspend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/drivers.h"
#include "cli/probe.h"
#include "cli/reply.h"
#include "selftest/suspender.h"

#define LOCK_MS	    10000u		/* for work that was submitted */
#define PATIENCE_S  600			/* for the driver: it copies all of a program's memory */
#define REST_NS	    (10 * SLU_NS_PER_S) /* for the program to move what it can */
#define PLACE_NS    (30 * SLU_NS_PER_S) /* for others to give up memory */
#define INTERVAL_NS (20 * SLU_NS_PER_MS)

/* An act of the driver on one process, and what came of it. */
struct act {
	char driver[PATH_MAX];
	int pid;
	bool is_back;
	/* as the child reports; no report: is_known is false */
	bool is_known;
	int error;
	char step[64], why[160];
};

static void act_run(void *data, FILE *parent)
{
	const struct act *act = data;
	struct slu_suspender_outcome o;

	if (act->is_back)
		slu_suspender_resume(act->driver, act->pid, &o);
	else
		slu_suspender_suspend(act->driver, act->pid, LOCK_MS, &o);
	fprintf(parent, "%d\t%s\t%s\n", o.error, o.step ? o.step : "", o.why ? o.why : "");
}

static void act_take(void *data, char *line)
{
	struct act *act = data;
	const char *fields[3];

	for (size_t i = 0; i < SLU_ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&line, "\t");
	if (!fields[2])
		return;
	act->is_known = true;
	act->error = atoi(fields[0]);
	snprintf(act->step, sizeof(act->step), "%s", fields[1]);
	snprintf(act->why, sizeof(act->why), "%s", fields[2]);
}

/* Return: whether the driver did it. */
static bool act_do(struct act *act)
{
	const struct slu_probe probe = { PATIENCE_S, act_run, act_take, act };
	struct slu_install install;
	struct slu_drivers *drivers;
	int signal = 0;

	slu_install_find(&install);
	drivers = slu_drivers_find(&install);
	if (drivers && drivers->n)
		snprintf(act->driver, sizeof(act->driver), "%s", drivers->paths[0]);
	free(drivers);
	if (!act->driver[0]) {
		snprintf(act->why, sizeof(act->why), "no CUDA driver (libcuda.so.1) was found");
		return false;
	}
	if (slu_cli_is_stopped(act->pid)) {
		snprintf(act->why, sizeof(act->why),
			 "a signal stopped it, and 'kill -CONT %d' lets it go on", act->pid);
		act->is_known = true;
		return false;
	}
	if (slu_probe_run(&probe, &signal) || !act->is_known) {
		snprintf(act->why, sizeof(act->why), "the driver did not come to an end");
		act->error = -1;
	}
	return !act->error && act->is_known;
}

static void act_complain(const struct act *act, const char *name, const char *hint)
{
	char call[96] = "";

	if (act->step[0])
		snprintf(call, sizeof(call), " (%s: error %d)", act->step, act->error);
	slu_cli_complain(hint, "%s (pid %d) was not %s: %s%s", name, act->pid,
			 act->is_back ? "brought back" : "suspended", act->why, call);
}

/* Whether the process may have its memory on the device again, although the act failed. */
static bool act_may_have_restored(const struct act *act)
{
	return act->driver[0] && (!act->is_known || !strcmp(act->step, SLU_SUSPENDER_UNLOCK));
}

/* -- with the daemon -------------------------------------------------------------------------- */

static json_t *make_request(const char *step, const char *program, bool all)
{
	return json_pack("{s:s, s:s, s:s*, s:b}", "verb", "suspend", "step", step, "program",
			 program, "all", all);
}

static int tell(const struct slu_cli_where *where, const char *step, int pid, bool unparks)
{
	char word[16];
	json_t *request, *reply;
	int r;

	snprintf(word, sizeof(word), "%d", pid);
	request = make_request(step, word, false);
	json_object_set_new(request, "unpark", json_boolean(unparks));
	r = slu_cli_ask(where, request, &reply);
	if (!r)
		json_decref(reply);
	return r;
}

static bool all_are_ready(const json_t *reply)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(reply, "programs"), i, line)
		if (!json_is_true(json_object_get(line, "ready")))
			return false;
	return true;
}

static void interval_wait(void)
{
	const struct timespec t = slu_clock_timespec(INTERVAL_NS);

	nanosleep(&t, NULL);
}

/*
 * Asks for @step until all programs are ready, or for @patience_ns. Of the first answer stays who
 * was parked before.
 */
static int ask_until_ready(const struct slu_cli_where *where, const char *step, const char *program,
			   bool all, uint64_t patience_ns, json_t **ret_first, bool *ret_is_ready)
{
	uint64_t until_ns = slu_clock_now_ns() + patience_ns;
	json_t *first = NULL;

	for (;;) {
		json_t *reply;
		int r = slu_cli_ask(where, make_request(step, program, all), &reply);

		if (r) {
			json_decref(first);
			return r;
		}
		*ret_is_ready = all_are_ready(reply);
		if (!first)
			first = reply;
		else
			json_decref(reply);
		if (*ret_is_ready || slu_clock_now_ns() >= until_ns)
			break;
		interval_wait();
	}
	*ret_first = first;
	return 0;
}

static void say_done(const struct slu_cli_where *where, const char *done, const char *name, int pid,
		     json_t *list)
{
	if (where->is_json)
		json_array_append_new(list, json_pack("{s:s, s:i}", "name", name, "pid", pid));
	else
		printf("%s %s (pid %d).\n", done, name, pid);
}

static void print_json(const struct slu_cli_where *where, json_t *list)
{
	json_t *all = json_pack("{s:o}", "programs", list);

	if (where->is_json)
		slu_reply_print(all, false);
	json_decref(all);
}

int slu_suspend_programs(const struct slu_cli_where *where, const char *program, bool all)
{
	json_t *first, *list = json_array();
	const json_t *line;
	bool is_ready;
	size_t i;
	int r = ask_until_ready(where, "begin", program, all, REST_NS, &first, &is_ready);

	if (r) {
		json_decref(list);
		return r;
	}
	json_array_foreach (json_object_get(first, "programs"), i, line) {
		const char *name = json_string_value(json_object_get(line, "name"));
		bool was_parked = json_is_true(json_object_get(line, "parked"));
		struct act act = { .pid = (int)json_integer_value(json_object_get(line, "pid")) };
		int told;

		if (act_do(&act)) {
			told = tell(where, "done", act.pid, false);
			if (!told)
				say_done(where, "Suspended", name, act.pid, list);
		} else if (act.driver[0] && !act.is_known) {
			/* it may be suspended: the daemon has it as one that is about to be */
			act_complain(&act, name, "'sluice unpark' brings it back.");
			told = r = SLU_CLI_FAILED;
		} else {
			act_complain(&act, name,
				     "It goes on as before; 'sluice park' without --deep puts it "
				     "aside.");
			told = tell(where, "failed", act.pid, !was_parked);
			r = SLU_CLI_FAILED;
		}
		r = r ? r : told;
	}
	print_json(where, list);
	json_decref(first);
	return r;
}

static int bring_one_back(const struct slu_cli_where *where, const char *name, int pid,
			  json_t *list)
{
	struct act act = { .pid = pid, .is_back = true };
	char word[16];
	json_t *first;
	bool is_ready;
	int r;

	snprintf(word, sizeof(word), "%d", pid);
	r = ask_until_ready(where, "resume", word, false, PLACE_NS, &first, &is_ready);
	if (r)
		return r;
	json_decref(first);
	if (!is_ready) {
		snprintf(act.why, sizeof(act.why), "others do not give up the memory it needs");
	} else if (act_do(&act)) {
		r = tell(where, "resumed", pid, false);
		if (!r)
			say_done(where, "Brought back", name, pid, list);
		return r;
	}
	if (act_may_have_restored(&act)) {
		/* the daemon goes on counting its bytes */
		act_complain(&act, name, "Its memory may be back: try again.");
		return SLU_CLI_FAILED;
	}
	act_complain(&act, name, "It stays suspended: 'sluice park' others, and try again.");
	tell(where, "done", pid, false);
	return SLU_CLI_FAILED;
}

int slu_suspend_bring_back(const struct slu_cli_where *where, const json_t *suspended)
{
	json_t *list = json_array();
	const json_t *line;
	int worst = 0;
	size_t i;

	json_array_foreach (suspended, i, line) {
		int r = bring_one_back(where, json_string_value(json_object_get(line, "name")),
				       (int)json_integer_value(json_object_get(line, "pid")), list);

		worst = r ? r : worst;
	}
	print_json(where, list);
	return worst;
}

/* -- without it ------------------------------------------------------------------------------- */

int slu_suspend_process(const struct slu_cli_where *where, int pid, bool is_back)
{
	struct act act = { .pid = pid, .is_back = is_back };
	json_t *list;

	if (!act_do(&act)) {
		act_complain(&act, "the program",
			     is_back ? "It stays suspended: free memory of the device, and try "
				       "again."
				     : "It goes on as before.");
		return SLU_CLI_FAILED;
	}
	list = json_array();
	say_done(where, is_back ? "Brought back" : "Suspended", "the program", pid, list);
	print_json(where, list);
	return SLU_CLI_OK;
}
