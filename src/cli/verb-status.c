/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice status`: what is true now. Who runs, who waits and why in words, what is where, what
 * cannot be moved and why, and who else uses the device.
 */

#include <argp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "wire/message.h"

#define BAR_LENGTH 20
#define LABEL_MAX  (SLU_WIRE_NAME_MAX + 24)

struct options {
	struct slu_cli_where where;
	bool is_watch;
};

static const struct argp_option option_table[] = {
	{ "watch", 'w', NULL, 0,
	  "show it again every second until you press Ctrl-C; with --json a line each", 0 },
	{ 0 },
};

static const struct argp_child children[] = { { .argp = &slu_cli_ask_argp }, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->where;
		return 0;
	case 'w':
		o->is_watch = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.children = children,
	.doc = "Show who runs, who waits and why, and what is where.\v"
	       "STATE is running, waiting, filling, draining, idle or parked. MODE is what must be "
	       "on "
	       "the device during a turn: all, mapped (the rest is reached over the bus) or launch "
	       "(each command's own). LEVEL is the policy's: 0 is for programs that people talk "
	       "to. In "
	       "the bar █ is in use, ▓ by programs outside of Sluice.\n\nFor example: sluice "
	       "status --watch",
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

/* The part of the device that is in use, in characters; what outsiders hold is the last part of it.
 */
static void print_bar(FILE *out, uint64_t used, uint64_t outside, uint64_t total)
{
	size_t n_used = total ? (size_t)((double)used / (double)total * BAR_LENGTH + 0.5) : 0;
	size_t n_outside = total ? (size_t)((double)outside / (double)total * BAR_LENGTH + 0.5) : 0;

	n_used = SLU_MIN(n_used, (size_t)BAR_LENGTH);
	n_outside = SLU_MIN(n_outside, n_used);
	for (size_t i = 0; i < BAR_LENGTH; i++)
		fputs(i < n_used - n_outside ? "█" : i < n_used ? "▓" : "░", out);
}

/* How to call @name on a line without a column for the process. */
static const char *call(char buf[static LABEL_MAX], const json_t *programs, const char *name,
			uint64_t pid)
{
	if (!pid || !slu_reply_is_shared(programs, name, pid))
		return name;
	snprintf(buf, LABEL_MAX, "%s[%llu]", name, (unsigned long long)pid);
	return buf;
}

static void print_device(FILE *out, const json_t *device, const json_t *programs)
{
	char total[SLU_SIZE_STRING_MAX], used[SLU_SIZE_STRING_MAX], since[SLU_SIZE_STRING_MAX];
	const json_t *turn = json_object_get(device, "turn");
	char bytes[2 * SLU_SIZE_STRING_MAX + 8], now[256] = "", label[LABEL_MAX];
	size_t width = slu_terminal_width();

	snprintf(bytes, sizeof(bytes), "  %s of %s",
		 slu_size_format(used, slu_reply_number(device, "used_bytes")),
		 slu_size_format(total, slu_reply_number(device, "total_bytes")));
	if (json_is_object(turn))
		snprintf(now, sizeof(now), "  turn: %s (%s)",
			 call(label, programs, slu_reply_text(turn, "name"),
			      slu_reply_number(turn, "pid")),
			 slu_size_format_time(since,
					      slu_reply_number(turn, "since_ms") * SLU_NS_PER_MS));
	if (*slu_reply_text(device, "next"))
		snprintf(now + strlen(now), sizeof(now) - strlen(now), "  next: %s",
			 call(label, programs, slu_reply_text(device, "next"),
			      slu_reply_number(device, "next_pid")));

	fprintf(out, "GPU %d  %s\n  ", (int)slu_reply_number(device, "index"),
		slu_reply_text(device, "name"));
	print_bar(out, slu_reply_number(device, "used_bytes"),
		  slu_reply_number(device, "outsider_bytes"),
		  slu_reply_number(device, "total_bytes"));
	fprintf(out, "%s%s%s\n", bytes,
		width && 2 + BAR_LENGTH + strlen(bytes) + slu_terminal_length(now) > width ? "\n"
											   : "",
		now);
}

/* Why it is as it is, unless its state says that already. */
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

/* One in a pid namespace that cannot be seen from the daemon's has none. */
static void add_pid(struct slu_table *table, uint64_t pid)
{
	if (pid)
		slu_table_add(table, "%llu", (unsigned long long)pid);
	else
		slu_table_add(table, "–");
}

/* The rows of outsiders have no cells between their bytes and the words. */
enum column { NAME, PID, STATE, LEVEL, MODE, DEVICE, MAPPED, RAM, DISK, TURNS, WAITED, P99, WHY };

static void print_programs(FILE *out, const json_t *reply)
{
	static const char *const heads[] = {
		[NAME] = "PROGRAM", [PID] = "PID",	 [STATE] = "STATE",   [LEVEL] = "LEVEL",
		[MODE] = "MODE",    [DEVICE] = "DEVICE", [MAPPED] = "MAPPED", [RAM] = "RAM",
		[DISK] = "DISK",    [TURNS] = "TURNS",	 [WAITED] = "WAITED", [P99] = "P99",
		[WHY] = "WHY",
	};
	static const enum column spare[] = { P99, MODE, TURNS, WAITED, PID, LEVEL };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	const json_t *program, *device, *outsider;
	size_t i, j;

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	slu_table_align_right(table, PID);
	slu_table_hide_empty(table, LEVEL);
	for (i = 0; i < SLU_ARRAY_SIZE(spare); i++)
		slu_table_spare(table, spare[i]);
	for (unsigned column = DEVICE; column <= P99; column++) {
		slu_table_align_right(table, column);
		slu_table_hide_empty(table, column);
	}

	json_array_foreach (json_object_get(reply, "programs"), i, program) {
		slu_table_add(table, "%s", slu_reply_text(program, "name"));
		slu_table_add(table, "%llu", (unsigned long long)slu_reply_number(program, "pid"));
		slu_table_add(table, "%s%s",
			      json_is_true(json_object_get(program, "parked"))
				      ? "parked"
				      : slu_reply_text(program, "state"),
			      json_is_true(json_object_get(program, "stuck")) ? " (stuck)" : "");
		slu_table_add(table, "%llu",
			      (unsigned long long)slu_reply_number(program, "level"));
		slu_table_add(table, "%s", slu_reply_text(program, "mode"));
		add_bytes(table, slu_reply_number(program, "device_bytes"));
		add_bytes(table, slu_reply_number(program, "mapped_bytes"));
		add_bytes(table, slu_reply_number(program, "ram_bytes"));
		add_bytes(table, slu_reply_number(program, "disk_bytes"));
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

static void print_reply(FILE *out, const json_t *reply)
{
	const json_t *device;
	bool has_outsiders = false;
	size_t i;

	json_array_foreach (json_object_get(reply, "devices"), i, device) {
		print_device(out, device, json_object_get(reply, "programs"));
		has_outsiders |= json_array_size(json_object_get(device, "outsiders")) > 0;
	}
	if (json_array_size(json_object_get(reply, "programs")) || has_outsiders)
		print_programs(out, reply);
	else
		fputs("No program is running. Start one with: sluice run -- PROGRAM\n", out);
}

/* Who is asked, and when: a picture that is looked at for hours should say that it is alive. */
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

/*
 * Over the last screen without a flicker: home, each line and what was behind it cleared, then the
 * rest. Lines that the terminal has no room for are left out.
 */
static void repaint(const char *screen)
{
	size_t height = slu_terminal_height(), width = slu_terminal_width();

	fputs("\033[H", stdout);
	for (size_t line = 0; *screen && (!height || line + 1 < height); line++) {
		size_t n = strcspn(screen, "\n");
		size_t shown = width ? slu_terminal_cut(screen, width) : n;

		printf("%.*s\033[K\n", (int)SLU_MIN(n, shown), screen);
		screen += n + (screen[n] == '\n');
	}
	fputs("\033[J", stdout);
}

static int show(const struct options *o)
{
	char *screen = NULL;
	size_t size = 0;
	json_t *reply;
	FILE *out;
	int r = slu_cli_ask(&o->where, json_pack("{s:s}", "verb", "status"), &reply);

	if (r)
		return r;
	if (o->where.is_json) {
		slu_reply_print(reply, o->is_watch);
	} else if (!o->is_watch || !isatty(STDOUT_FILENO)) {
		print_reply(stdout, reply);
	} else if ((out = open_memstream(&screen, &size))) {
		print_title(out, reply);
		print_reply(out, reply);
		fclose(out);
		repaint(screen);
		free(screen);
	}
	fflush(stdout);
	json_decref(reply);
	return SLU_CLI_OK;
}

int slu_cli_status(int argc, char **argv)
{
	struct options o = { 0 };
	int r;

	argp_err_exit_status = SLU_CLI_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.is_watch && !o.where.is_json && isatty(STDOUT_FILENO))
		fputs("\033[2J", stdout);
	do {
		r = show(&o);
	} while (!r && o.is_watch && !ferror(stdout) && poll(NULL, 0, 1000) == 0);
	return r;
}
