/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice history`: which program had the device when, as far back as the daemon remembers: a
 * picture, tables of the last turns with the reason why each ended, of the moves, and of the
 * out-of-memory answers, or JSON.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/picture.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/terminal.h"

#define TURNS_SHOWN  20
#define SPAN_SHOWN_S 60
#define WIDTH_USUAL  80
#define NAME_MIN     12 /* names are cut to this on a narrow terminal */

struct options {
	struct slu_cli_where where;
	bool wants_picture, wants_table; /* neither: both of them */
	uint64_t span_ns;
	unsigned long n_turns;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "draw",
	  .doc = "the picture alone",
	  .at = offsetof(struct options, wants_picture) },
	{ .name = "table", .doc = "the tables alone", .at = offsetof(struct options, wants_table) },
	{ .name = "last",
	  .key = 'l',
	  .arg = "TIME",
	  .doc = "how far back the picture goes (60s)",
	  .at = offsetof(struct options, span_ns),
	  .kind = SLU_CLI_TIME },
	{ .name = "turns",
	  .key = 'n',
	  .arg = "N",
	  .doc = "so many turns, programs and denials in the tables (20)",
	  .at = offsetof(struct options, n_turns),
	  .kind = SLU_CLI_COUNT },
	{ 0 },
};

static void print_turns(const json_t *reply, size_t n_turns)
{
	static const char *const heads[] = { "AGO", "LASTED", "GPU", "PROGRAM", "WHY IT ENDED" };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	json_int_t now = json_integer_value(json_object_get(reply, "now_ms"));
	size_t n = json_array_size(json_object_get(reply, "turns"));
	const json_t *turn;
	size_t i;

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	slu_table_align_right(table, 0);
	slu_table_align_right(table, 1);
	slu_table_shrink(table, 3, NAME_MIN);
	slu_table_spare(table, 2);
	slu_table_spare(table, 1);
	json_array_foreach (json_object_get(reply, "turns"), i, turn) {
		json_int_t begin = json_integer_value(json_object_get(turn, "begin_ms"));
		json_int_t end = json_integer_value(json_object_get(turn, "end_ms"));
		const char *name = json_string_value(json_object_get(turn, "name"));
		const char *why = json_string_value(json_object_get(turn, "reason"));
		char ago[SLU_SIZE_STRING_MAX], lasted[SLU_SIZE_STRING_MAX];

		if (i + n_turns < n)
			continue;
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
	slu_table_print(table, stdout, "", slu_terminal_width());
	slu_table_free(table);
}

/* Adds up the turns and moves of one program on one device into an entry of @sums. */
static json_t *sum_of(json_t *sums, const json_t *record)
{
	char key[48];
	json_t *sum;

	snprintf(key, sizeof(key), "%llu %llu", (unsigned long long)slu_reply_number(record, "pid"),
		 (unsigned long long)slu_reply_number(record, "device"));
	sum = json_object_get(sums, key);
	if (sum)
		return sum;
	sum = json_pack("{s:O, s:O}", "name", json_object_get(record, "name"), "device",
			json_object_get(record, "device"));
	json_object_set_new(sums, key, sum);
	return sum;
}

static void add(json_t *sum, const char *key, uint64_t n)
{
	json_object_set_new(sum, key, json_integer((json_int_t)(slu_reply_number(sum, key) + n)));
}

static bool has_moved(const json_t *sum)
{
	return slu_reply_number(sum, "in") || slu_reply_number(sum, "out");
}

/* What Sluice moved for the last programs, by device, as far back as the daemon remembers. */
static void print_moves(const json_t *reply, size_t n_shown)
{
	static const char *const heads[] = {
		"PROGRAM", "GPU", "TURNS", "TO DEVICE", "TO HOST", ""
	};
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	json_t *sums = json_object(), *sum;
	const json_t *record;
	const char *key;
	size_t i, n = 0;

	json_array_foreach (json_object_get(reply, "turns"), i, record)
		add(sum_of(sums, record), "turns", 1);
	json_array_foreach (json_object_get(reply, "moves"), i, record) {
		sum = sum_of(sums, record);
		add(sum, "in", slu_reply_number(record, "in_bytes"));
		add(sum, "out", slu_reply_number(record, "out_bytes"));
	}
	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	for (unsigned column = 2; column < 5; column++)
		slu_table_align_right(table, column);
	slu_table_shrink(table, 0, NAME_MIN);
	slu_table_spare(table, 2);
	slu_table_spare(table, 1);
	json_object_foreach (sums, key, sum)
		n += has_moved(sum);
	json_object_foreach (sums, key, sum) {
		char in[SLU_SIZE_STRING_MAX], out[SLU_SIZE_STRING_MAX];

		if (!has_moved(sum) || n-- > n_shown)
			continue;
		slu_table_add(table, "%s", slu_reply_text(sum, "name"));
		slu_table_add(table, "%d", (int)slu_reply_number(sum, "device"));
		slu_table_add(table, "%d", (int)slu_reply_number(sum, "turns"));
		slu_table_add(table, "%s", slu_size_format(in, slu_reply_number(sum, "in")));
		slu_table_add(table, "%s", slu_size_format(out, slu_reply_number(sum, "out")));
		slu_table_add(table, "%s", "");
	}
	slu_table_print(table, stdout, "", slu_terminal_width());
	slu_table_free(table);
	json_decref(sums);
}

/* Which programs got out-of-memory, and why; for the last one also what to do. */
static void print_denials(const json_t *reply, size_t n_shown)
{
	static const char *const heads[] = { "AGO", "OUT OF MEMORY", "WHY" };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	json_int_t now = json_integer_value(json_object_get(reply, "now_ms"));
	const json_t *list = json_object_get(reply, "denials"), *denial;
	size_t i, n = json_array_size(list);

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	slu_table_align_right(table, 0);
	json_array_foreach (list, i, denial) {
		json_int_t at = json_integer_value(json_object_get(denial, "at_ms"));
		char ago[SLU_SIZE_STRING_MAX];

		if (i + n_shown < n)
			continue;
		slu_table_add(table, "%s",
			      slu_size_format_time(ago, (uint64_t)(now - at) * SLU_NS_PER_MS));
		slu_table_add(table, "%s", slu_reply_text(denial, "name"));
		slu_table_add(table, "%s", slu_reply_text(denial, "reason"));
	}
	slu_table_print(table, stdout, "", slu_terminal_width());
	slu_table_free(table);
	denial = json_array_get(list, n - 1);
	if (*slu_reply_text(denial, "hint")) {
		slu_terminal_wrap(stdout, slu_reply_text(denial, "hint"), slu_terminal_width(), 0);
		putchar('\n');
	}
}

static void print_reply(json_t *reply, const struct options *o)
{
	json_t *turns = json_object_get(reply, "turns"),
	       *denials = json_object_get(reply, "denials");
	size_t width = slu_terminal_width();

	slu_reply_tell_apart(turns);
	slu_reply_tell_apart(json_object_get(reply, "moves"));
	slu_reply_tell_apart(denials);
	if (!json_array_size(turns)) {
		puts("Nobody had a turn yet.");
	} else {
		if (o->wants_picture)
			slu_picture_print(reply, o->span_ns / SLU_NS_PER_MS,
					  width ? width : WIDTH_USUAL, stdout);
		if (o->wants_picture && o->wants_table)
			putchar('\n');
		if (o->wants_table) {
			print_turns(reply, o->n_turns);
			if (json_array_size(json_object_get(reply, "moves"))) {
				putchar('\n');
				print_moves(reply, o->n_turns);
			}
		}
	}
	if (o->wants_table && json_array_size(denials)) {
		putchar('\n');
		print_denials(reply, o->n_turns);
	}
}

static int run(int argc, char **argv)
{
	struct options o = { .span_ns = SPAN_SHOWN_S * SLU_NS_PER_S, .n_turns = TURNS_SHOWN };
	json_t *reply;
	int r;

	slu_cli_parse(&slu_cli_history, argc, argv, &o);
	if (!o.wants_picture && !o.wants_table)
		o.wants_picture = o.wants_table = true;
	r = slu_cli_ask(&o.where, json_pack("{s:s}", "verb", "history"), &reply);
	if (r)
		return r;
	if (o.where.is_json)
		slu_reply_print(reply, false);
	else
		print_reply(reply, &o);
	json_decref(reply);
	return SLU_CLI_OK;
}

const struct slu_cli_verb slu_cli_history = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_FACTS,
	.doc = "Show the last turns: who had the device, from when, for how long, and what "
	       "moved.\v"
	       "In the picture █ is a program that runs, ▒ one whose bytes come in, ░ one that "
	       "comes "
	       "to rest; the number is the share of the time in which it ran.\n\n"
	       "For example:\n"
	       "  sluice history --last 10s\n"
	       "  sluice history --json > turns.json",
	.run = run,
};
