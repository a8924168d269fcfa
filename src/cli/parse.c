/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/parse.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

/* What argp adds by itself. */
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
	for (; o && (o->name || o->key); o++) {
		if (search->key ? o->key == search->key
				: o->name && !strncmp(o->name, search->name, search->length))
			search->found = o;
		if (!search->key && o->name && !(o->flags & OPTION_HIDDEN))
			slu_suggest_offer(&search->suggest, o->name);
	}
}

static void look(struct search *search, const struct argp *argp)
{
	look_at_options(search, argp->options);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		look(search, child->argp);
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
static bool look_at_word(const struct argp *argp, const char *command, const char *word)
{
	bool is_long = word[1] == '-';
	char name[64];
	struct search search = { .name = name, .suggest.word = name };

	search.length = is_long ? strcspn(word + 2, "=") : 0;
	snprintf(name, sizeof(name), "%.*s", (int)search.length, word + 2);
	search.key = is_long ? 0 : word[1];
	look_at_options(&search, own_options);
	look(&search, argp);
	if (!search.found && is_long)
		complain(command, word, &search.suggest);
	return search.found && search.found->arg && !(search.found->flags & OPTION_ARG_OPTIONAL) &&
	       !word[is_long ? 2 + search.length : 2];
}

void slu_cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] == '-' && argv[i][1])
			i += look_at_word(argp, argv[0], argv[i]);
		else if (flags & ARGP_IN_ORDER)
			break;
	}
	argp_err_exit_status = SLU_CLI_USAGE;
	argp_parse(argp, argc, argv, flags, NULL, input);
}
