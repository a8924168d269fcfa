/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/verb.h"

static const struct slu_cli_command *find_command(const struct slu_cli_command *list,
						  const char *name)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

static void print_option(void *data, const struct slu_cli_option *option)
{
	(void)data;
	printf("option|--%s|%s%.1s|%s|%s\n", option->name, option->key ? "-" : "",
	       option->key ? (char[]){ (char)option->key } : "", option->arg ? "takes" : "",
	       option->offers ? option->offers : "");
}

int slu_cli_complete(int n_words, char **words)
{
	const struct slu_cli_command *list = slu_cli_commands, *command = NULL;

	for (int i = 0; i < n_words && list; i++) {
		command = find_command(list, words[i]);
		list = command ? command->verb->parts : NULL;
	}
	if (n_words && !command)
		return SLU_CLI_USAGE;
	for (; list && list->name; list++)
		printf("word|%s\n", list->name);
	puts("option|--help|-h||");
	if (!command) {
		puts("option|--version|||");
		return SLU_CLI_OK;
	}
	slu_cli_each_option(command->verb, print_option, NULL);
	if (command->verb->offers)
		printf("words|%s\n", command->verb->offers);
	return SLU_CLI_OK;
}
