/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice run`: sets the environment in which our front ends get into the program, makes sure that
 * a daemon runs, and *execs*: pid, terminal, signals and exit status are the program's own.
 *
 * It prints nothing of its own unless the person has to do something. Whatever goes wrong on our
 * side, the program still runs, without Sluice, and the person is told so. Only --require makes
 * that an error: the daemon is asked beforehand whether it would admit the program, and a program
 * that it still refuses, or that bypasses us, is ended. A process that stays outside checks whether
 * the front ends really got in (watch.h).
 */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/drivers.h"
#include "cli/enter.h"
#include "cli/environment.h"
#include "cli/install.h"
#include "cli/parse.h"
#include "cli/program.h"
#include "cli/watch.h"
#include "wire/message.h"

struct options {
	struct slu_cli_where where;
	const char *name;
	uint64_t expect_ns, memory_bytes, wait_ns;
	bool require, is_verbose;
	char group[17]; /* SLUICE_GROUP, chosen here */
	char **program; /* NULL-ended */
};

static const struct slu_cli_option option_table[] = {
	{ .name = "name",
	  .key = 'n',
	  .arg = "NAME",
	  .doc = "name for status and settings (default: the program's own)",
	  .at = offsetof(struct options, name),
	  .kind = SLU_CLI_NAME },
	{ .name = "expect",
	  .arg = "TIME",
	  .doc = "device time that the program will use, for the policy srtf",
	  .at = offsetof(struct options, expect_ns),
	  .kind = SLU_CLI_TIME },
	{ .name = "memory",
	  .arg = "SIZE",
	  .doc = "device memory that the program needs, for --wait",
	  .at = offsetof(struct options, memory_bytes),
	  .kind = SLU_CLI_SIZE },
	{ .name = "wait",
	  .arg = "TIME",
	  .doc = "start the program when its memory is free next to other programs; exit with 125 "
		 "after this time",
	  .at = offsetof(struct options, wait_ns),
	  .kind = SLU_CLI_TIME },
	{ .name = "verbose",
	  .key = 'v',
	  .doc = "say when the program shares the GPU, or that it never did",
	  .at = offsetof(struct options, is_verbose) },
	{ .name = "require",
	  .doc = "do not start the program without Sluice",
	  .at = offsetof(struct options, require) },
	{ 0 },
};

static void take_program(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	(void)word;
	o->program = slu_cli_take_command(state);
}

/*
 * Without a driver the shim is left out: programs that look for CUDA before anything else take a
 * driver without devices for a broken one.
 */
static bool has_driver(const struct slu_install *install)
{
	slu_cleanup(slu_freep) struct slu_drivers *drivers = slu_drivers_find(install);

	return !drivers || drivers->n || getenv("SLUICE_CUDA_DRIVER");
}

static int set_environment(struct options *o, const struct slu_install *install, const char *socket)
{
	const char *base = strrchr(o->program[0], '/');
	char name[SLU_WIRE_NAME_MAX];
	uint64_t id = 0;

	slu_utf8_copy(name, sizeof(name), o->name ? o->name : base ? base + 1 : o->program[0]);
	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id) || !id)
		id = (uint64_t)getpid();
	snprintf(o->group, sizeof(o->group), "%016llx", (unsigned long long)id);

	if (setenv("SLUICE_SOCKET", socket, 1) || setenv("SLUICE_NAME", name, 1) ||
	    setenv("SLUICE_GROUP", o->group, 1))
		return -1;
	/* the rightmost is nearest the program: a limiter stays nearest the driver */
	if (install->opencl[0] && slu_environment_add("OPENCL_LAYERS", install->opencl, true))
		return -1;
	if (has_driver(install) && slu_environment_add_shim(install))
		return -1;
	/* NCCL would hand pages to other devices at capture time and keep them when they move */
	return setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

/*
 * Whether the daemon would admit the program. If the daemon has just ended, the program waits for
 * the next one, and is watched until it has joined.
 *
 * Return: 0, or the exit code after an error message.
 */
static int ask_for_admission(const char *socket)
{
	const struct slu_cli_where where = { .socket = socket };
	struct slu_cli_peer peer;
	json_t *reply;
	int r = slu_cli_try(&where,
			    json_pack("{s:s, s:i}", "verb", "ping", "version", SLU_WIRE_VERSION),
			    &peer, &reply);

	if (r == SLU_CLI_E_REFUSED)
		return slu_cli_refused(reply);
	if (!r)
		json_decref(reply);
	return 0;
}

/* Tells the daemon what is known of the program. Return: 0, or the exit code. */
static int announce(const struct options *o, const char *socket)
{
	if (!o->expect_ns && !o->memory_bytes && !o->wait_ns)
		return 0;
	return slu_enter_wait(&(struct slu_enter){ .socket = socket,
						   .name = getenv("SLUICE_NAME"),
						   .group = o->group,
						   .expect_ns = o->expect_ns,
						   .memory_bytes = o->memory_bytes,
						   .wait_ns = o->wait_ns });
}

/* Return: 0 with the environment set, otherwise the exit code after an error message. */
static int prepare(struct options *o, const char *path, char *ret_socket, size_t size)
{
	struct slu_install install;
	const char *obstacle;
	int r;

	r = slu_daemon_ensure(&o->where, ret_socket, size);
	if (!r && o->require)
		r = ask_for_admission(ret_socket);
	if (r)
		return r;
	slu_install_find(&install);
	if (!install.opencl[0] && !install.cuda[0]) {
		slu_cli_complain(slu_install_advice(),
				 "our libraries are not in '%s', where they should be.",
				 install.looked);
		return SLU_CLI_FAILED;
	}
	obstacle = slu_program_obstacle(path);
	if (obstacle) {
		slu_cli_complain("It will not share: others see it as an outsider.",
				 "Sluice cannot get into '%s': %s.", path, obstacle);
		return SLU_CLI_FAILED;
	}
	if (set_environment(o, &install, ret_socket)) {
		slu_cli_complain(NULL, "cannot set the environment: %s.", strerror(errno));
		return SLU_CLI_FAILED;
	}
	return announce(o, ret_socket);
}

/* The file exists, but the kernel does not say what else is missing. Return: the exit code. */
static int complain_of_exec(const char *path, int error)
{
	char interpreter[PATH_MAX];
	size_t n;

	if (error == ENOENT && slu_program_lacks_interpreter(path, interpreter)) {
		n = strcspn(interpreter, "\r");
		slu_cli_complain(interpreter[n]
					 ? "Its first line ends with a carriage return: 'sed -i "
					   "\"s/\\r$//\"' takes them away."
					 : "Install that, or is it a program for another system?",
				 "cannot execute '%s': its interpreter '%.*s%s' is not there.",
				 path, (int)n, interpreter, interpreter[n] ? "\\r" : "");
		return SLU_CLI_CANNOT_EXECUTE;
	}
	/* unlike execvp and the shell, we do not run scripts without a first line */
	slu_cli_complain(error == ENOEXEC ? "A script needs a first line like '#!/bin/sh'." : NULL,
			 "cannot execute '%s': %s.", path, strerror(error));
	return SLU_CLI_CANNOT_EXECUTE;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	char path[PATH_MAX], socket[PATH_MAX];
	int r;

	slu_cli_parse(&slu_cli_run, argc, argv, &o);
	o.require |= o.wait_ns > 0; /* without Sluice there is nothing to wait for */
	switch (slu_program_find(o.program[0], path, sizeof(path))) {
	case 0:
		break;
	case SLU_PROGRAM_E_FORBIDDEN:
		slu_cli_complain("Is it a program, and may you execute it?", "cannot execute '%s'.",
				 o.program[0]);
		return SLU_CLI_CANNOT_EXECUTE;
	default:
		slu_cli_complain("Give its path, or look at your PATH.",
				 "there is no program '%s'.", o.program[0]);
		return SLU_CLI_NOT_FOUND;
	}

	r = prepare(&o, path, socket, sizeof(socket));
	if (r && o.require)
		return r;
	if (r)
		fprintf(stderr, "sluice: '%s' starts without Sluice.\n", o.program[0]);
	else
		slu_watch_start(&(struct slu_watch){ .name = o.program[0],
						     .socket = socket,
						     .group = o.group,
						     .must_join = o.require,
						     .is_verbose = o.is_verbose });

	execv(path, o.program);
	return complain_of_exec(path, errno);
}

static void check(const void *options, struct argp_state *state)
{
	const struct options *o = options;

	if (o->memory_bytes && !o->wait_ns)
		argp_error(state, "--memory says what --wait waits for: give --wait as well");
}

const struct slu_cli_verb slu_cli_run = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_DAEMON,
	.args_doc = "[--] PROGRAM [ARGUMENT…]",
	.doc = "Start PROGRAM so that it shares the GPU with others that were started so.\v"
	       "Starts a daemon for you if none runs. Exit status: the program's own; 120 to 127 "
	       "if it could not be started (see sluice(1)).\n\n"
	       "For example:\n"
	       "  sluice run -- python chat.py\n"
	       "  sluice run --name coder -- ./server --port 8080\n"
	       "  sluice run --wait 10m --memory 6G --expect 30m -- ./train",
	.take = take_program,
	.offers = SLU_CLI_OFFERS_COMMAND,
	.check = check,
	.missing = "which program? For example: sluice run -- python chat.py",
	.run = run,
};
