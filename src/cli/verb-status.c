/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice status`: what is true now. Who runs, who waits and why in words, what is where, what
 * cannot be moved and why, and who else uses the device.
 */

#include <argp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/table.h"

struct options {
	struct slu_cli_where where;
	int is_json, is_watch;
};

enum { OPTION_JSON = 256 };

static const struct argp_option option_table[] = {
	{ "watch", 'w', NULL, 0, "show it again every second until you press Ctrl-C", 0 },
	{ "json", OPTION_JSON, NULL, 0, "for machines; the keys are documented in sluice(1)", 0 },
	{ 0 },
};

static const struct argp_child children[] = { { .argp = &slu_cli_where_argp }, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->where;
		return 0;
	case 'w':
		o->is_watch = 1;
		return 0;
	case OPTION_JSON:
		o->is_json = 1;
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
	       "(each command's own).\n\nFor example: sluice status --watch",
};

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

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

static void print_device(const json_t *device)
{
	char total[SLU_SIZE_STRING_MAX], used[SLU_SIZE_STRING_MAX], since[SLU_SIZE_STRING_MAX];
	const json_t *turn = json_object_get(device, "turn");

	printf("GPU %d  %s   %s   %s in use", (int)number(device, "index"), text(device, "name"),
	       slu_size_format(total, number(device, "total_bytes")),
	       slu_size_format(used, number(device, "used_bytes")));
	if (json_is_object(turn))
		printf("   turn: %s (%s)", text(turn, "name"),
		       slu_size_format_time(since, number(turn, "since_ms") * SLU_NS_PER_MS));
	if (*text(device, "next"))
		printf("   next: %s", text(device, "next"));
	putchar('\n');
}

static void add_unmovable(struct slu_table *table, const json_t *program)
{
	const json_t *list = json_object_get(program, "unmovable"), *entry;
	char all[256] = "", buf[SLU_SIZE_STRING_MAX];
	size_t i, n = 0;

	json_array_foreach (list, i, entry) {
		int wrote = snprintf(all + n, sizeof(all) - n, "%s%s cannot move (%s)",
				     n || *text(program, "reason") ? "; " : "",
				     slu_size_format(buf, number(entry, "bytes")),
				     text(entry, "reason"));

		if (wrote < 0 || n + (size_t)wrote >= sizeof(all))
			break;
		n += (size_t)wrote;
	}
	slu_table_add(table, "%s%s", text(program, "reason"), all);
}

static void print_programs(const json_t *reply)
{
	static const char *const heads[] = { "PROGRAM", "PID",	  "STATE", "MODE",
					     "DEVICE",	"MAPPED", "RAM",   "DISK",
					     "TURNS",	"WAITED", "P99",   "WHY" };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	const json_t *program, *device, *outsider;
	size_t i, j;

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	for (unsigned column = 4; column <= 10; column++)
		slu_table_align_right(table, column);
	slu_table_align_right(table, 1);

	json_array_foreach (json_object_get(reply, "programs"), i, program) {
		slu_table_add(table, "%s", text(program, "name"));
		slu_table_add(table, "%llu", (unsigned long long)number(program, "pid"));
		slu_table_add(table, "%s%s",
			      json_is_true(json_object_get(program, "parked"))
				      ? "parked"
				      : text(program, "state"),
			      json_is_true(json_object_get(program, "stuck")) ? " (stuck)" : "");
		slu_table_add(table, "%s", text(program, "mode"));
		add_bytes(table, number(program, "device_bytes"));
		add_bytes(table, number(program, "mapped_bytes"));
		add_bytes(table, number(program, "ram_bytes"));
		add_bytes(table, number(program, "disk_bytes"));
		slu_table_add(table, "%llu", (unsigned long long)number(program, "turns"));
		add_time(table, number(program, "waited_ms"));
		add_time(table, number(program, "wait_p99_ms"));
		add_unmovable(table, program);
	}
	json_array_foreach (json_object_get(reply, "devices"), i, device) {
		json_array_foreach (json_object_get(device, "outsiders"), j, outsider) {
			slu_table_add(table, "(outside) %s", text(outsider, "name"));
			slu_table_add(table, "%llu", (unsigned long long)number(outsider, "pid"));
			slu_table_add(table, "%s", "");
			slu_table_add(table, "%s", "");
			add_bytes(table, number(outsider, "bytes"));
			for (unsigned column = 5; column <= 10; column++)
				slu_table_add(table, "%s", "");
			slu_table_add(table, "%s", "not started with sluice run");
		}
	}
	slu_table_print(table, stdout, "  ");
	slu_table_free(table);
}

static void print_reply(const json_t *reply, const struct options *o)
{
	const json_t *device;
	size_t i;

	if (o->is_json) {
		json_dumpf(reply, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
		putchar('\n');
		return;
	}
	json_array_foreach (json_object_get(reply, "devices"), i, device)
		print_device(device);
	if (json_array_size(json_object_get(reply, "programs")))
		print_programs(reply);
	else
		puts("No program is running. Start one with: sluice run -- PROGRAM");
}

static int show(const struct options *o)
{
	json_t *reply;
	int r = slu_cli_ask(&o->where, json_pack("{s:s}", "verb", "status"), &reply);

	if (r)
		return r;
	/* one write a screen: home, the text, and clear what is left of the last one */
	if (o->is_watch && !o->is_json && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	print_reply(reply, o);
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
	do {
		r = show(&o);
	} while (!r && o.is_watch && !ferror(stdout) && poll(NULL, 0, 1000) == 0);
	return r;
}
