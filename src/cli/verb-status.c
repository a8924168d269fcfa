/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice status`: the present state. Which programs run, which wait and why, where their memory
 * is, what cannot be moved and why, and which other processes use the device.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/screen.h"
#include "cli/status-devices.h"
#include "cli/table.h"
#include "cli/terminal.h"

#define PERIOD_MS 1000
#define NAME_MIN  12 /* names are cut to this before a column is left out */

struct options {
	struct slu_cli_where where;
	bool is_watch;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "watch",
	  .key = 'w',
	  .doc = "show it again every second until you press Ctrl-C; with --json a line each",
	  .at = offsetof(struct options, is_watch) },
	{ 0 },
};

static void add_bytes(struct slu_table *table, uint64_t bytes)
{
	char buf[SLU_SIZE_STRING_MAX];

	slu_table_add(table, "%s", bytes ? slu_size_format(buf, bytes) : "–");
}

static void add_time(struct slu_table *table, uint64_t ms)
{
	char buf[SLU_SIZE_STRING_MAX];

	slu_table_add(table, "%s", ms ? slu_size_format_time(buf, ms * SLU_NS_PER_MS) : "–");
}

/* The reason for its state, unless the state says that already. */
static const char *reason_of(const json_t *program)
{
	const char *reason = slu_reply_text(program, "reason");

	return strcmp(reason, "parked") ? reason : "";
}

static void add_unmoved(char *words, size_t size, const json_t *list, const char *verb)
{
	char buf[SLU_SIZE_STRING_MAX];
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry) {
		size_t n = strlen(words);
		int wrote = snprintf(words + n, size - n, "%s%s %s (%s)", n ? "; " : "",
				     slu_size_format(buf, slu_reply_number(entry, "bytes")), verb,
				     slu_reply_text(entry, "reason"));

		if (wrote < 0 || n + (size_t)wrote >= size) {
			words[n] = '\0';
			return;
		}
	}
}

static void add_why(struct slu_table *table, const json_t *program)
{
	char words[1024];

	snprintf(words, sizeof(words), "%s", reason_of(program));
	add_unmoved(words, sizeof(words), json_object_get(program, "unmovable"), "cannot move");
	add_unmoved(words, sizeof(words), json_object_get(program, "yielding"), "yield");
	slu_table_add(table, "%s", words);
}

/* A process in a pid namespace that the daemon cannot see has none. */
static void add_pid(struct slu_table *table, uint64_t pid)
{
	if (pid)
		slu_table_add(table, "%llu", (unsigned long long)pid);
	else
		slu_table_add(table, "–");
}

static void add_state(struct slu_table *table, const json_t *program)
{
	const char *state = slu_reply_text(program, "state"), *more = "";

	if (json_is_true(json_object_get(program, "parked")) && strcmp(state, "suspended"))
		state = "parked";
	if (json_is_true(json_object_get(program, "stuck")))
		more = " (stuck)";
	if (json_is_true(json_object_get(program, "stopped")))
		more = " (stopped)";
	slu_table_add(table, "%s%s", state, more);
}

/* Green has the device, yellow wants it, red keeps it from others. */
static void colour_state(struct slu_table *table, const json_t *program)
{
	const char *state = slu_reply_text(program, "state");

	if (json_is_true(json_object_get(program, "stuck")) ||
	    json_is_true(json_object_get(program, "stopped")))
		slu_table_colour(table, "31");
	else if (!strcmp(state, "running"))
		slu_table_colour(table, "32");
	else if (!strcmp(state, "waiting"))
		slu_table_colour(table, "33");
}

/* The devices it uses: "0", or "0,2". */
static void add_devices(struct slu_table *table, const json_t *devices)
{
	char words[64] = "";
	const json_t *device;
	size_t i, n = 0;

	json_array_foreach (devices, i, device)
		if (n + 5 < sizeof(words))
			n += (size_t)sprintf(words + n, "%s%u", n ? "," : "",
					     (unsigned)slu_reply_number(device, "index") % 1000);
	slu_table_add(table, "%s", words);
}

/* The rows of outsiders have no cells between their bytes and the words. */
enum column {
	NAME,
	PID,
	GPU,
	STATE,
	LEVEL,
	MODE,
	DEVICE,
	MAPPED,
	RAM,
	DISK,
	PINNED,
	TURNS,
	WAITED,
	P99,
	WHY
};

static void print_programs(FILE *out, const json_t *reply, size_t lines_max)
{
	static const char *const heads[] = {
		[NAME] = "PROGRAM",  [PID] = "PID",   [GPU] = "GPU",	   [STATE] = "STATE",
		[LEVEL] = "LEVEL",   [MODE] = "MODE", [DEVICE] = "DEVICE", [MAPPED] = "MAPPED",
		[RAM] = "RAM",	     [DISK] = "DISK", [PINNED] = "PINNED", [TURNS] = "TURNS",
		[WAITED] = "WAITED", [P99] = "P99",   [WHY] = "WHY",
	};
	/* where memory is goes last: on a narrow terminal names and states matter most */
	static const enum column spare[] = { PINNED, P99, MODE, TURNS,	WAITED, PID,
					     LEVEL,  GPU, DISK, MAPPED, RAM,	DEVICE };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	const json_t *program, *device, *outsider;
	bool has_twins = json_array_size(json_object_get(reply, "devices")) > 1;
	size_t i, j;

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	slu_table_align_right(table, PID);
	if (!has_twins)
		slu_table_hide(table, GPU);
	slu_table_hide_empty(table, LEVEL);
	slu_table_shrink(table, NAME, NAME_MIN);
	slu_table_limit(table, lines_max);
	for (i = 0; i < SLU_ARRAY_SIZE(spare); i++)
		slu_table_spare(table, spare[i]);
	for (unsigned column = DEVICE; column <= P99; column++) {
		slu_table_align_right(table, column);
		slu_table_hide_empty(table, column);
	}

	json_array_foreach (json_object_get(reply, "programs"), i, program) {
		slu_table_add(table, "%s", slu_reply_text(program, "name"));
		slu_table_add(table, "%llu", (unsigned long long)slu_reply_number(program, "pid"));
		add_devices(table, json_object_get(program, "devices"));
		add_state(table, program);
		colour_state(table, program);
		slu_table_add(table, "%llu",
			      (unsigned long long)slu_reply_number(program, "level"));
		slu_table_add(table, "%s", slu_reply_text(program, "mode"));
		add_bytes(table, slu_reply_number(program, "device_bytes"));
		add_bytes(table, slu_reply_number(program, "mapped_bytes"));
		add_bytes(table, slu_reply_number(program, "ram_bytes"));
		add_bytes(table, slu_reply_number(program, "disk_bytes"));
		add_bytes(table, slu_reply_number(program, "pinned_held_bytes"));
		slu_table_add(table, "%llu",
			      (unsigned long long)slu_reply_number(program, "turns"));
		add_time(table, slu_reply_number(program, "waited_ms"));
		add_time(table, slu_reply_number(program, "wait_p99_ms"));
		add_why(table, program);
	}
	json_array_foreach (json_object_get(reply, "devices"), i, device) {
		json_array_foreach (json_object_get(device, "outsiders"), j, outsider) {
			slu_table_add(table, "(%s)", slu_reply_text(outsider, "name"));
			add_pid(table, slu_reply_number(outsider, "pid"));
			slu_table_add(table, "%u", (unsigned)slu_reply_number(device, "index"));
			for (unsigned column = STATE; column <= MODE; column++)
				slu_table_add(table, "%s", "");
			add_bytes(table, slu_reply_number(outsider, "bytes"));
			for (unsigned column = MAPPED; column <= P99; column++)
				slu_table_add(table, "%s", "");
			slu_table_add(table, "%s", "not started with sluice run");
		}
	}
	slu_table_print(table, out, "  ", slu_terminal_width());
	slu_table_free(table);
}

/* @lines_max: 0 for all of them. */
static void print_rows(FILE *out, const json_t *reply, size_t lines_max)
{
	bool has_outsiders = false, is_managed = false;
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(reply, "devices"), i, device) {
		has_outsiders |= json_array_size(json_object_get(device, "outsiders")) > 0;
		is_managed |= json_is_true(json_object_get(device, "managed"));
	}
	if (json_array_size(json_object_get(reply, "programs")) || has_outsiders)
		print_programs(out, reply, lines_max);
	else
		fprintf(out, "No program%s is running. Start one with: sluice run -- PROGRAM\n",
			is_managed ? " of yours" : "");
}

/* A title with the time: a picture that is watched for hours should show that it is alive. */
static void print_title(FILE *out, const json_t *reply)
{
	const json_t *daemon = json_object_get(reply, "daemon");
	char up[SLU_SIZE_STRING_MAX], clock[16];
	time_t now = time(NULL);
	struct tm parts;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &parts));
	fprintf(out, "sluice  %s  policy %s  %zu programs  up %s  (Ctrl-C ends this)\n\n", clock,
		slu_reply_text(daemon, "policy"),
		json_array_size(json_object_get(reply, "programs")),
		slu_size_format_time(up,
				     slu_reply_number(daemon, "uptime_ms") / 1000 * SLU_NS_PER_S));
}

/* As many programs as fit; the last line always shows how many there are. */
static void paint(const json_t *reply)
{
	size_t size = 0, lines = slu_screen_lines(), used = 0;
	char *text = NULL, *end;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	print_title(out, reply);
	slu_status_devices_print(out, reply);
	fflush(out);
	for (end = text; used + 1 < lines && *end; used++)
		end += strcspn(end, "\n") + 1;
	fseek(out, end - text, SEEK_SET);
	print_rows(out, reply, lines - used);
	fclose(out);
	slu_screen_paint(text);
	free(text);
}

static int show(const struct options *o, bool has_screen)
{
	struct slu_cli_peer peer;
	json_t *reply;
	int r = slu_cli_try(&o->where, json_pack("{s:s}", "verb", "status"), &peer, &reply);

	if (r) {
		slu_screen_close();
		return r < 0 ? slu_cli_no_daemon(&o->where, &peer, r) : slu_cli_refused(reply);
	}
	if (o->where.is_json) {
		slu_reply_print(reply, o->is_watch);
	} else if (has_screen) {
		paint(reply);
	} else {
		slu_status_devices_print(stdout, reply);
		print_rows(stdout, reply, 0);
	}
	fflush(stdout);
	json_decref(reply);
	return SLU_CLI_OK;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	bool has_screen;
	int r;

	slu_cli_parse(&slu_cli_status, argc, argv, &o);
	has_screen = o.is_watch && !o.where.is_json && isatty(STDOUT_FILENO);
	if (has_screen)
		slu_screen_open();
	while (!(r = show(&o, has_screen)) && o.is_watch && !ferror(stdout))
		slu_screen_wait(PERIOD_MS);
	slu_screen_close();
	return r;
}

const struct slu_cli_verb slu_cli_status = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_FACTS,
	.doc = "Show who runs, who waits and why, and what is where.\v"
	       "STATE is running, waiting, filling, draining, idle, parked or suspended. MODE is "
	       "what must be "
	       "on "
	       "the device during a turn: all, mapped (the rest is reached over the bus) or launch "
	       "(each command's own). LEVEL is the policy's: 0 is for programs that people talk "
	       "to. In "
	       "the bar █ is in use, ▓ by programs outside of Sluice.\n\nFor example: sluice "
	       "status --watch",
	.run = run,
};
