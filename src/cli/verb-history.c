/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice history`: who had the device when, and what moved, as far back as the daemon remembers.
 */

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/table.h"

struct options {
	struct slu_cli_where where;
	int is_json;
};

enum { OPTION_JSON = 256 };

static const struct argp_option option_table[] = {
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
	.doc = "Show the last turns: who had the device, from when, for how long.\v"
	       "For example: sluice history --json > turns.json",
};

static void print_turns(const json_t *reply)
{
	static const char *const heads[] = { "AGO", "LASTED", "GPU", "PROGRAM", "WHY IT ENDED" };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	json_int_t now = json_integer_value(json_object_get(reply, "now_ms"));
	const json_t *turn;
	size_t i;

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	slu_table_align_right(table, 0);
	slu_table_align_right(table, 1);
	json_array_foreach (json_object_get(reply, "turns"), i, turn) {
		json_int_t begin = json_integer_value(json_object_get(turn, "begin_ms"));
		json_int_t end = json_integer_value(json_object_get(turn, "end_ms"));
		const char *name = json_string_value(json_object_get(turn, "name"));
		const char *why = json_string_value(json_object_get(turn, "reason"));
		char ago[SLU_SIZE_STRING_MAX], lasted[SLU_SIZE_STRING_MAX];

		slu_table_add(table, "%s",
			      slu_size_format_time(ago, (uint64_t)(now - begin) * SLU_NS_PER_MS));
		slu_table_add(table, "%s",
			      slu_size_format_time(lasted, (uint64_t)((end ? end : now) - begin) *
								   SLU_NS_PER_MS));
		slu_table_add(table, "%d",
			      (int)json_integer_value(json_object_get(turn, "device")));
		slu_table_add(table, "%s", name ? name : "?");
		slu_table_add(table, "%s", end ? (why ? why : "") : "it still lasts");
	}
	slu_table_print(table, stdout, "");
	slu_table_free(table);
}

int slu_cli_history(int argc, char **argv)
{
	struct options o = { 0 };
	json_t *reply;
	int r;

	argp_err_exit_status = SLU_CLI_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	r = slu_cli_ask(&o.where, json_pack("{s:s}", "verb", "history"), &reply);
	if (r)
		return r;
	if (o.is_json) {
		json_dumpf(reply, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
		putchar('\n');
	} else if (json_array_size(json_object_get(reply, "turns"))) {
		print_turns(reply);
	} else {
		puts("Nobody had a turn yet.");
	}
	json_decref(reply);
	return SLU_CLI_OK;
}
