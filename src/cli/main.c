/* SPDX-License-Identifier: Apache-2.0 */
/* The command `sluice`: the table of its commands, and what runs one of them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/verb.h"

enum { RARE, COMMON };

const struct slu_cli_command slu_cli_commands[] = {
#define SLU_COMMAND(name, rank, asks, users, summary) { #name, summary, &slu_cli_##name, rank },
#define SLU_REQUEST(name, users)
#include "wire/commands.def"
#undef SLU_COMMAND
#undef SLU_REQUEST
	{ 0 },
};

void slu_cli_complain(const char *then, const char *what, ...)
{
	va_list ap;

	fputs("sluice: ", stderr);
	va_start(ap, what);
	vfprintf(stderr, what, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (then)
		fprintf(stderr, "%s\n", then);
}

static void print_verbs(FILE *out, bool all)
{
	fputs("usage: sluice COMMAND …\n\n", out);
	for (const struct slu_cli_command *c = slu_cli_commands; c->name; c++)
		if (all || c->is_common)
			fprintf(out, "  %-9s %s\n", c->name, c->summary);
	fputs("\nFor example:  sluice run -- python chat.py\n", out);
	if (all)
		fputs("Each command has --help. The manual: man sluice.\n", out);
	else
		fputs("All commands: sluice --help. One of them: sluice run --help.\n", out);
}

/* The verb argv[0] with its words. Return: the exit code. */
static int run_verb(int argc, char **argv)
{
	struct slu_suggest suggest = { .word = argv[0] };
	char name[32], then[160];

	for (const struct slu_cli_command *c = slu_cli_commands; c->name; c++) {
		slu_suggest_offer(&suggest, c->name);
		if (strcmp(argv[0], c->name))
			continue;
		snprintf(name, sizeof(name), "sluice %s", c->name);
		argv[0] = name;
		return c->verb->run(argc, argv);
	}
	snprintf(then, sizeof(then),
		 "%s%s%s'sluice --help' lists the commands; to start a program: sluice run -- "
		 "PROGRAM",
		 suggest.best ? "Did you mean 'sluice " : "", suggest.best ? suggest.best : "",
		 suggest.best ? "'? " : "");
	slu_cli_complain(then, "there is no %s '%s'.", argv[0][0] == '-' ? "option" : "command",
			 argv[0]);
	return SLU_CLI_USAGE;
}

int main(int argc, char **argv)
{
	slu_output_guard("sluice", SLU_CLI_FAILED);
	slu_output_follow_locale();
	if (argc < 2) {
		print_verbs(stdout, false);
		return SLU_CLI_OK;
	}
	if (!strcmp(argv[1], "help") && argc > 2 && argv[2][0] != '-' && strcmp(argv[2], "help"))
		return run_verb(2, (char *[]){ argv[2], "--help", NULL });
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_verbs(stdout, true);
		return SLU_CLI_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("sluice " SLU_VERSION);
		return SLU_CLI_OK;
	}
	if (!strcmp(argv[1], "--complete"))
		return slu_cli_complete(argc - 2, argv + 2);
	return run_verb(argc - 1, argv + 1);
}
