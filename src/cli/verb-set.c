/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice set`: changes a setting of the running daemon; without a value it shows the present one.
 * The daemon decides whether this user may, and says which values it accepts.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "wire/message.h"

struct options {
	struct slu_cli_where where;
	const char *program;
	const char *words[2]; /* the setting, the value */
	unsigned n_words;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "program",
	  .key = 'p',
	  .arg = "NAME",
	  .doc = "of programs of this name only (a shell pattern)",
	  .at = offsetof(struct options, program),
	  .kind = SLU_CLI_NAME,
	  .offers = SLU_CLI_OFFERS_PROGRAMS },
	{ 0 },
};

static void take_word(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	if (o->n_words == SLU_ARRAY_SIZE(o->words))
		argp_error(state, "a setting and a value: '%s' is one word too many", word);
	o->words[o->n_words++] = word;
}

/* "slice" or "scheduler.slice". */
static bool is_named(const json_t *setting, const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t length = dot ? (size_t)(dot - name) : 0;

	if (strcmp(slu_reply_text(setting, "name"), dot ? dot + 1 : name) != 0)
		return false;
	return !dot || (strlen(slu_reply_text(setting, "section")) == length &&
			!strncmp(slu_reply_text(setting, "section"), name, length));
}

/* Keeps only the settings called @name. Return: how many there are. */
static size_t choose(json_t *list, const char *name)
{
	for (size_t i = json_array_size(list); i-- > 0;)
		if (!is_named(json_array_get(list, i), name))
			json_array_remove(list, i);
	return json_array_size(list);
}

static void print_settings(const json_t *list)
{
	static const char *const heads[] = { "SETTING", "VALUE", "MEANING" };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	const json_t *setting;
	size_t i;

	for (i = 0; i < SLU_ARRAY_SIZE(heads); i++)
		slu_table_add(table, "%s", heads[i]);
	json_array_foreach (list, i, setting) {
		slu_table_add(table, "%s.%s", slu_reply_text(setting, "section"),
			      slu_reply_text(setting, "name"));
		slu_table_add(table, "%s", slu_reply_text(setting, "value"));
		slu_table_add(table, "%s", slu_reply_text(setting, "meaning"));
	}
	slu_table_print(table, stdout, "", slu_terminal_width());
	slu_table_free(table);
}

/* Return: the exit code. */
static int complain(const struct options *o, const json_t *all)
{
	const char *dot = strrchr(o->words[0], '.');
	struct slu_suggest suggest = { .word = dot ? dot + 1 : o->words[0] };
	const json_t *setting;
	char then[160];
	size_t i;

	json_array_foreach (all, i, setting)
		slu_suggest_offer(&suggest, slu_reply_text(setting, "name"));
	snprintf(then, sizeof(then), "%s%s%s'sluice set%s' lists them; man sluiced.conf says more.",
		 suggest.best ? "Did you mean '" : "", suggest.best ? suggest.best : "",
		 suggest.best ? "'? " : "", o->program ? " --program NAME" : "");
	slu_cli_complain(then, "there is no setting '%s'%s.", o->words[0],
			 o->program ? " of programs" : "");
	return SLU_CLI_REFUSED;
}

static int show(const struct options *o)
{
	json_t *request = json_pack("{s:s, s:s*}", "verb", "settings", "program", o->program);
	json_t *reply, *list, *all;
	int r = slu_cli_ask(&o->where, request, &reply);

	if (r)
		return r;
	list = json_object_get(reply, "settings");
	all = json_copy(list);
	if (o->words[0] && !choose(list, o->words[0]))
		r = complain(o, all);
	else if (o->where.is_json)
		slu_reply_print(reply, false);
	else
		print_settings(list);
	json_decref(all);
	json_decref(reply);
	return r;
}

static int change(const struct options *o)
{
	char *setting;
	json_t *reply;
	int r;

	if (asprintf(&setting, "%s%s%s%s", o->program ? "program " : "",
		     o->program ? o->program : "", o->program ? "." : "", o->words[0]) < 0)
		return SLU_CLI_FAILED;
	r = slu_cli_ask(&o->where,
			json_pack("{s:s, s:s, s:s}", "verb", "set", "setting", setting, "value",
				  o->words[1]),
			&reply);
	free(setting);
	if (r)
		return r;
	if (o->where.is_json)
		slu_reply_print(reply, false);
	else
		puts(slu_reply_text(reply, "message"));
	json_decref(reply);
	return SLU_CLI_OK;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };

	slu_cli_parse(&slu_cli_set, argc, argv, &o);
	return o.n_words == SLU_ARRAY_SIZE(o.words) ? change(&o) : show(&o);
}

const struct slu_cli_verb slu_cli_set = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_FACTS,
	.args_doc = "[SETTING [VALUE]]",
	.doc = "Change a setting of the running daemon until it ends, or show what is in force.\v"
	       "The settings and what they take: man sluiced.conf. To keep a change, write it into "
	       "that file.\n\n"
	       "For example:\n"
	       "  sluice set policy fifo\n"
	       "  sluice set --program ollama visible_memory 12G\n"
	       "  sluice set --program ollama\n"
	       "  sluice set",
	.take = take_word,
	.offers = SLU_CLI_OFFERS_SETTINGS,
	.takes_numbers = true,
	.run = run,
};
