/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice adopt`: suspends a program that was started without Sluice, or brings it back. The driver
 * does it, and the kernel decides who may: whoever may send the process a signal.
 */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/suspend.h"

struct options {
	struct slu_cli_where where;
	bool releases;
	const char *pid;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "release",
	  .doc = "bring the program back",
	  .at = offsetof(struct options, releases) },
	{ 0 },
};

static void take_pid(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	if (o->pid)
		argp_error(state, "one program at a time: '%s' is one word too many", word);
	o->pid = word;
}

/* Return: the number, or 0 if @word is not one. */
static int pid_parse(const char *word)
{
	char *end;
	long n = strtol(word, &end, 10);

	return *word && !*end && n > 0 && n < INT_MAX ? (int)n : 0;
}

/* Whether a daemon has it as a program; without a daemon nobody has. */
static bool is_joined(const struct slu_cli_where *where, int pid)
{
	struct slu_cli_peer peer;
	const json_t *program;
	bool found = false;
	json_t *reply = NULL;
	size_t i;

	if (slu_cli_try(where, json_pack("{s:s}", "verb", "status"), &peer, &reply) == 0) {
		json_array_foreach (json_object_get(reply, "programs"), i, program)
			found |= json_integer_value(json_object_get(program, "pid")) == pid &&
				 json_is_string(json_object_get(program, "group"));
	}
	json_decref(reply);
	return found;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	int pid;

	slu_cli_parse(&slu_cli_adopt, argc, argv, &o);
	pid = pid_parse(o.pid);
	if (!pid) {
		slu_cli_complain("'sluice status' and 'nvidia-smi' have the pids of programs on a "
				 "device.",
				 "'%s' is not a pid", o.pid);
		return SLU_CLI_USAGE;
	}
	if (kill(pid, 0) < 0 && errno == ESRCH) {
		slu_cli_complain(NULL, "there is no process %d.", pid);
		return SLU_CLI_REFUSED;
	}
	if (is_joined(&o.where, pid)) {
		slu_cli_complain("Use 'sluice park --deep' and 'sluice unpark'.",
				 "pid %d shares the GPU by Sluice already", pid);
		return SLU_CLI_REFUSED;
	}
	return slu_suspend_process(&o.where, pid, o.releases);
}

const struct slu_cli_verb slu_cli_adopt = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_FACTS,
	.args_doc = "PID",
	.doc = "Suspend a CUDA program that was started without Sluice: the driver takes "
	       "everything "
	       "that it has off the device.\v"
	       "You must be allowed to send the program a signal. It waits in its next CUDA call "
	       "until --release. Free the memory that it needs before that: with some drivers a "
	       "program does not survive if there is too little.\n\n"
	       "For example:\n"
	       "  sluice adopt 4711\n"
	       "  sluice adopt --release 4711",
	.take = take_pid,
	.missing = "which program? give its pid",
	.run = run,
};
