/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/suggest.h"
#include "base/util.h"
#include "cli/cli.h"

static const struct slu_cli_verb verbs[] = {
	{ "run", "start a program that shares the GPU", slu_cli_run, true },
	{ "status", "who runs, who waits and why, what is where", slu_cli_status, true },
	{ "park", "put a program aside until it is unparked", slu_cli_park, true },
	{ "unpark", "let a parked program run again", slu_cli_unpark, true },
	{ "doctor", "look for what keeps Sluice from working here", slu_cli_doctor, true },
	{ "set", "change a setting of the running daemon", slu_cli_set, false },
	{ "kick", "end a program that does not give the device back", slu_cli_kick, false },
	{ "history", "who had the device when, and what moved", slu_cli_history, false },
	{ "logs", "what the daemon wrote", slu_cli_logs, false },
	{ "softgpu", "run programs on the software GPU", slu_cli_softgpu, false },
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
	for (size_t i = 0; i < SLU_ARRAY_SIZE(verbs); i++)
		if (all || verbs[i].is_common)
			fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].summary);
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

	for (size_t i = 0; i < SLU_ARRAY_SIZE(verbs); i++) {
		slu_suggest_offer(&suggest, verbs[i].name);
		if (strcmp(argv[0], verbs[i].name))
			continue;
		snprintf(name, sizeof(name), "sluice %s", verbs[i].name);
		argv[0] = name;
		return verbs[i].run(argc, argv);
	}
	snprintf(then, sizeof(then),
		 "%s%s%s'sluice --help' lists the commands; to start a program: sluice run -- "
		 "PROGRAM",
		 suggest.best ? "Did you mean 'sluice " : "", suggest.best ? suggest.best : "",
		 suggest.best ? "'? " : "");
	slu_cli_complain(then, "there is no command '%s'.", argv[0]);
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
	if (!strcmp(argv[1], "help") && argc > 2)
		return run_verb(2, (char *[]){ argv[2], "--help", NULL });
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_verbs(stdout, true);
		return SLU_CLI_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("sluice " SLU_VERSION);
		return SLU_CLI_OK;
	}
	return run_verb(argc - 1, argv + 1);
}
