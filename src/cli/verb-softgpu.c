/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice softgpu run`: starts a program that finds the software GPU's libcuda.so.1 where it would
 * find the genuine driver. To share that device, start the program with `sluice run` inside:
 *
 *   sluice softgpu run --memory 64M -- sluice run -- ./program
 */

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/install.h"
#include "cli/program.h"

struct options {
	const char *memory, *profile, *scale, *devices;
	char **program;
};

static const struct argp_option option_table[] = {
	{ "memory", 'm', "SIZE", 0, "the device's memory (64M)", 0 },
	{ "profile", 'p', "NAME", 0, "take time like a card: none, rtx5080, rtx5090-x8, rtx3080",
	  0 },
	{ "scale", 's', "N", 0, "make the profile's sizes and speeds N times smaller (256)", 0 },
	{ "devices", 'd', "N", 0, "so many devices (1)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'm':
		o->memory = arg;
		return 0;
	case 'p':
		o->profile = arg;
		return 0;
	case 's':
		o->scale = arg;
		return 0;
	case 'd':
		o->devices = arg;
		return 0;
	case ARGP_KEY_ARG:
		o->program = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which program?");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "[--] PROGRAM [ARGUMENT…]",
	.doc = "Start PROGRAM on the software GPU: a CUDA device on the CPU.\v"
	       "For example: sluice softgpu run --memory 64M -- ./vector-add",
};

static int set(const char *name, const char *value)
{
	return value ? setenv(name, value, 1) : 0;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	struct slu_install install;
	char path[PATH_MAX], folders[2 * PATH_MAX];
	const char *old = getenv("LD_LIBRARY_PATH");

	argp_err_exit_status = SLU_CLI_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	slu_install_find(&install);
	if (!install.softgpu_folder[0]) {
		slu_cli_complain(
			"Reinstall Sluice, or set SLUICE_LIBDIR to the folder that has it.",
			"the software GPU is not where it should be.");
		return SLU_CLI_FAILED;
	}
	snprintf(folders, sizeof(folders), "%s%s%s", install.softgpu_folder, old && *old ? ":" : "",
		 old ? old : "");
	if (set("LD_LIBRARY_PATH", folders) || set("SLUICE_SOFTGPU_MEMORY", o.memory) ||
	    set("SLUICE_SOFTGPU_PROFILE", o.profile) || set("SLUICE_SOFTGPU_SCALE", o.scale) ||
	    set("SLUICE_SOFTGPU_DEVICES", o.devices)) {
		slu_cli_complain(NULL, "cannot set the environment: %s.", strerror(errno));
		return SLU_CLI_FAILED;
	}
	if (slu_program_find(o.program[0], path, sizeof(path))) {
		slu_cli_complain("Give its path, or look at your PATH.",
				 "there is no program '%s'.", o.program[0]);
		return SLU_CLI_NOT_FOUND;
	}
	execv(path, o.program);
	slu_cli_complain(NULL, "cannot execute '%s': %s.", path, strerror(errno));
	return SLU_CLI_CANNOT_EXECUTE;
}

int slu_cli_softgpu(int argc, char **argv)
{
	static char name[] = "sluice softgpu run";

	if (argc < 2 || strcmp(argv[1], "run")) {
		slu_cli_complain("For example: sluice softgpu run --memory 64M -- ./program",
				 "'sluice softgpu' needs the word 'run'.");
		return SLU_CLI_USAGE;
	}
	argv[1] = name;
	return run(argc - 1, argv + 1);
}
