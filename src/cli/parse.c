/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "wire/message.h"

#define ROWS_MAX    32
#define KEY_UNNAMED 256 /* the first key of options without a letter */

static const struct slu_cli_option where_options[] = {
	{ .name = "system",
	  .doc = "the machine's daemon, not one of your own",
	  .at = offsetof(struct slu_cli_where, is_system) },
	{ .name = "socket",
	  .arg = "PATH",
	  .doc = "the daemon at PATH",
	  .at = offsetof(struct slu_cli_where, socket),
	  .kind = SLU_CLI_PATH,
	  .offers = SLU_CLI_OFFERS_FILES },
	{ 0 },
};

static const struct slu_cli_option json_options[] = {
	{ .name = "json",
	  .doc = "for machines; sluice(1) has the keys",
	  .at = offsetof(struct slu_cli_where, is_json) },
	{ 0 },
};

struct parse {
	const struct slu_cli_verb *verb;
	void *options;
	const struct slu_cli_option *rows[ROWS_MAX];
	size_t n_rows;
	struct argp_option table[ROWS_MAX + 14]; /* with -h, numbers and the end */
	char *number; /* a word that looks like an option: options come first, words at the end */
	bool has_word;
};

void slu_cli_each_option(const struct slu_cli_verb *verb,
			 void (*call)(void *data, const struct slu_cli_option *option), void *data)
{
	const struct slu_cli_option *lists[] = {
		verb->options,
		verb->asks >= SLU_CLI_ASKS_DAEMON ? where_options : NULL,
		verb->asks >= SLU_CLI_ASKS_FACTS ? json_options : NULL,
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(lists); i++)
		for (const struct slu_cli_option *o = lists[i]; o && o->name; o++)
			call(data, o);
}

/* Options that other commands have as well come last in the help. */
static bool is_own(const struct slu_cli_verb *verb, const struct slu_cli_option *option)
{
	for (const struct slu_cli_option *o = verb->options; o && o->name; o++)
		if (o == option)
			return true;
	return false;
}

static void add_row(void *data, const struct slu_cli_option *option)
{
	struct parse *p = data;
	size_t i = p->n_rows;

	if (i == ROWS_MAX)
		return;
	p->rows[p->n_rows++] = option;
	p->table[i] = (struct argp_option){
		.name = option->name,
		.key = option->key ? option->key : KEY_UNNAMED + (int)i,
		.arg = option->arg,
		.doc = option->doc,
		.group = is_own(p->verb, option) ? 0 : 1,
	};
}

/* argp knows --help and -?; most people try -h. A word such as -5s may be a value. */
static void add_hidden(struct parse *p)
{
	struct argp_option *row = &p->table[p->n_rows];

	*row++ = (struct argp_option){ .key = 'h', .flags = OPTION_HIDDEN };
	for (const char *c = p->verb->takes_numbers ? ".0123456789" : ""; *c; c++)
		*row++ = (struct argp_option){ .key = *c,
					       .arg = "",
					       .flags = OPTION_HIDDEN | OPTION_ARG_OPTIONAL };
}

/* Bytes that a terminal obeys instead of showing them. */
static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/* Return: whether people can see all of @name in a table, and write it as they see it. */
static bool is_visible(const char *name)
{
	for (const char *c = name; *c; c++)
		if (is_control(*c))
			return false;
	return name[0] != ' ' && name[strlen(name) - 1] != ' ';
}

/* Return: the fault of @arg, for the end of a sentence; or NULL. */
static const char *set_value(const struct slu_cli_option *option, char *arg, void *at)
{
	unsigned long number;
	char *end;

	switch (option->kind) {
	case SLU_CLI_FLAG:
		*(bool *)at = true;
		return NULL;
	case SLU_CLI_NAME:
		if (!*arg)
			return "a name that is not empty";
		if (strlen(arg) >= SLU_WIRE_NAME_MAX)
			return "a shorter name: 63 bytes, which are 63 letters of ASCII and fewer "
			       "of other scripts";
		if (!is_visible(arg))
			return "a name without control characters, and without blanks at its ends";
		*(const char **)at = arg;
		return NULL;
	case SLU_CLI_PATH:
		if (!*arg)
			return "a path";
		*(const char **)at = arg;
		return NULL;
	case SLU_CLI_TEXT:
		*(const char **)at = arg;
		return NULL;
	case SLU_CLI_COUNT:
		number = strtoul(arg, &end, 10);
		if (!number || *end || *arg == '-')
			return "a number from 1";
		*(unsigned long *)at = number;
		return NULL;
	case SLU_CLI_TIME:
		if (slu_size_parse_time(arg, at) || *(uint64_t *)at < SLU_NS_PER_MS)
			return "a time such as 500ms, 30s or 5m";
		return NULL;
	case SLU_CLI_SIZE:
		if (slu_size_parse(arg, at) || !*(uint64_t *)at)
			return "a size such as 512M or 6G";
		return NULL;
	}
	return NULL;
}

static error_t take_option(struct parse *p, int key, char *arg, struct argp_state *state)
{
	for (size_t i = 0; i < p->n_rows; i++) {
		const char *expected;

		if (p->table[i].key != key)
			continue;
		expected = set_value(p->rows[i], arg, (char *)p->options + p->rows[i]->at);
		for (char *c = arg; expected && *c; c++)
			if (is_control(*c))
				*c = '?';
		if (expected)
			argp_error(state, "--%s: expected %s, not '%s'", p->rows[i]->name, expected,
				   arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void take_word(struct parse *p, char *word, struct argp_state *state)
{
	if (!p->verb->take)
		argp_error(state, "'%s' is one word too many", word);
	p->has_word = true;
	p->verb->take(p->options, word, state);
}

static void finish(struct parse *p, struct argp_state *state)
{
	if (p->number)
		take_word(p, p->number, state);
	if (!p->has_word && p->verb->missing)
		argp_error(state, "%s", p->verb->missing);
	if (p->verb->check)
		p->verb->check(p->options, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		take_word(p, arg, state);
		return 0;
	case ARGP_KEY_END:
		finish(p, state);
		return 0;
	case '.':
	case '0' ... '9':
		if (!p->verb->takes_numbers)
			return ARGP_ERR_UNKNOWN;
		if (p->number)
			argp_error(state, "'%s' is one word too many", p->number);
		p->number = state->argv[state->next - 1];
		return 0;
	default:
		return take_option(p, key, arg, state);
	}
}

/* -- options that are nearly right ------------------------------------------------------------ */

/* Options that argp adds itself. */
static const struct argp_option own_options[] = {
	{ "help", '?', NULL, 0, NULL, 0 },
	{ "usage", 'u', NULL, 0, NULL, 0 },
	{ 0 },
};

struct search {
	const char *name; /* without dashes, "" for a short one */
	size_t length;
	int key; /* of a short one */
	const struct argp_option *found;
	struct slu_suggest suggest;
};

static void look_at_options(struct search *search, const struct argp_option *o)
{
	for (; o->name || o->key; o++) {
		if (search->key ? o->key == search->key
				: o->name && !strncmp(o->name, search->name, search->length))
			search->found = o;
		if (!search->key && o->name)
			slu_suggest_offer(&search->suggest, o->name);
	}
}

static void complain(const char *command, const char *word, const struct slu_suggest *suggest)
{
	char then[160];

	if (suggest->best)
		snprintf(then, sizeof(then), "Did you mean '--%s'? '%s --help' lists them.",
			 suggest->best, command);
	else
		snprintf(then, sizeof(then), "'%s --help' lists the options.", command);
	slu_cli_complain(then, "'%s' has no option '%s'.", command, word);
	exit(SLU_CLI_USAGE);
}

/* Return: whether the next word belongs to the option @word. */
static bool look_at_word(const struct argp_option *table, const char *command, const char *word)
{
	bool is_long = word[1] == '-';
	char name[64];
	struct search search = { .name = name, .suggest.word = name };

	search.length = is_long ? strcspn(word + 2, "=") : 0;
	snprintf(name, sizeof(name), "%.*s", (int)search.length, word + 2);
	search.key = is_long ? 0 : word[1];
	look_at_options(&search, own_options);
	look_at_options(&search, table);
	if (!search.found && is_long)
		complain(command, word, &search.suggest);
	return search.found && search.found->arg && !(search.found->flags & OPTION_ARG_OPTIONAL) &&
	       !word[is_long ? 2 + search.length : 2];
}

static bool takes_command(const struct slu_cli_verb *verb)
{
	return verb->offers && !strcmp(verb->offers, SLU_CLI_OFFERS_COMMAND);
}

void slu_cli_parse(const struct slu_cli_verb *verb, int argc, char **argv, void *options)
{
	struct parse p = { .verb = verb, .options = options };
	const struct argp argp = {
		.options = p.table,
		.parser = parse,
		.args_doc = verb->args_doc,
		.doc = verb->doc,
	};

	slu_cli_each_option(verb, add_row, &p);
	add_hidden(&p);
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] == '-' && argv[i][1])
			i += look_at_word(p.table, argv[0], argv[i]);
		else if (takes_command(verb))
			break;
	}
	argp_err_exit_status = SLU_CLI_USAGE;
	argp_parse(&argp, argc, argv, takes_command(verb) ? ARGP_IN_ORDER : 0, NULL, &p);
}

char **slu_cli_take_command(struct argp_state *state)
{
	char **words = &state->argv[state->next - 1];

	state->next = state->argc;
	return words;
}
