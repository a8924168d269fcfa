/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice softgpu`: programs on the software GPU. `run` starts one that finds our libcuda.so.1,
 * libcudart.so.13 and libnvidia-ml.so.1 where it would find NVIDIA's. The device is made first, so
 * that an error is explained here and not by the program's own handling of it.
 * To share the device, start the program with `sluice run` inside:
 *
 *   sluice softgpu run --memory 64M -- sluice run -- ./program
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/cli.h"
#include "cli/cudart.h"
#include "cli/environment.h"
#include "cli/install.h"
#include "cli/parse.h"
#include "cli/program.h"
#include "cli/softgpu.h"

struct options {
	const char *memory, *profile, *scale, *devices;
	bool is_quiet;
	char **program;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "memory",
	  .key = 'm',
	  .arg = "SIZE",
	  .doc = "the device's memory (the profile's; 256M without one)",
	  .at = offsetof(struct options, memory),
	  .kind = SLU_CLI_TEXT },
	{ .name = "profile",
	  .key = 'p',
	  .arg = "NAME",
	  .doc = "take time like a card: none, rtx5080, rtx5090-x8, rtx3080",
	  .at = offsetof(struct options, profile),
	  .offers = "none rtx5080 rtx5090-x8 rtx3080",
	  .kind = SLU_CLI_TEXT },
	{ .name = "scale",
	  .key = 's',
	  .arg = "N",
	  .doc = "make the profile's sizes and speeds N times smaller (256)",
	  .at = offsetof(struct options, scale),
	  .kind = SLU_CLI_TEXT },
	{ .name = "devices",
	  .key = 'd',
	  .arg = "N",
	  .doc = "so many devices (1)",
	  .at = offsetof(struct options, devices),
	  .kind = SLU_CLI_TEXT },
	{ .name = "quiet",
	  .key = 'q',
	  .doc = "do not report a kernel that fails",
	  .at = offsetof(struct options, is_quiet) },
	{ 0 },
};

static void take_program(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	(void)word;
	o->program = slu_cli_take_command(state);
}

static int set(const char *name, const char *value)
{
	return value ? setenv(name, value, 1) : 0;
}

static int set_environment(const struct options *o, const struct slu_install *install)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *folders;
	int r;

	if (asprintf(&folders, "%s%s%s%s%s%s%s", install->softgpu_folder,
		     install->cudart_folder[0] ? ":" : "", install->cudart_folder,
		     install->nvml_folder[0] ? ":" : "", install->nvml_folder,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return -1;
	r = set("LD_LIBRARY_PATH", folders);
	free(folders);
	/* a `sluice run` around us may have found no driver; there is one now */
	if (!r && getenv("SLUICE_SOCKET"))
		r = slu_environment_add_shim(install);
	/* report errors for programs that do not check them */
	if (!r)
		r = setenv("SLUICE_SOFTGPU_REPORT", o->is_quiet ? "none" : "once", o->is_quiet);
	return r || set("SLUICE_SOFTGPU_MEMORY", o->memory) ||
			       set("SLUICE_SOFTGPU_PROFILE", o->profile) ||
			       set("SLUICE_SOFTGPU_SCALE", o->scale) ||
			       set("SLUICE_SOFTGPU_DEVICES", o->devices)
		       ? -1
		       : 0;
}

static int run_program(int argc, char **argv)
{
	struct options o = { 0 };
	struct slu_install install;
	char path[PATH_MAX];
	int r;

	slu_cli_parse(&slu_softgpu_run, argc, argv, &o);
	slu_install_find(&install);
	if (!install.softgpu_folder[0]) {
		slu_cli_complain(slu_install_advice(),
				 "the software GPU is not in '%s', where it should be.",
				 install.looked);
		return SLU_CLI_FAILED;
	}
	if (slu_program_find(o.program[0], path, sizeof(path))) {
		slu_cli_complain("Give its path, or look at your PATH.",
				 "there is no program '%s'.", o.program[0]);
		return SLU_CLI_NOT_FOUND;
	}
	if (set_environment(&o, &install)) {
		slu_cli_complain(NULL, "cannot set the environment: %s.", strerror(errno));
		return SLU_CLI_FAILED;
	}
	r = slu_softgpu_make(&install);
	if (r)
		return r;
	slu_cudart_hint(path, &install);
	execv(path, o.program);
	slu_cli_complain(NULL, "cannot execute '%s': %s.", path, strerror(errno));
	return SLU_CLI_CANNOT_EXECUTE;
}

const struct slu_cli_verb slu_softgpu_run = {
	.options = option_table,
	.args_doc = "[--] PROGRAM [ARGUMENT…]",
	.doc = "Start PROGRAM on the software GPU: a CUDA device on the CPU.\v"
	       "The first program makes the device, and it stays; see 'sluice softgpu info' and "
	       "'sluice softgpu reset'. Exit status: the program's own; 120 to 127 if it could "
	       "not be started.\n\n"
	       "For example: sluice softgpu run --memory 64M -- ./vector-add",
	.take = take_program,
	.offers = SLU_CLI_OFFERS_COMMAND,
	.missing = "which program? For example: sluice softgpu run -- ./vector-add",
	.run = run_program,
};

const struct slu_cli_option slu_softgpu_json_options[] = {
	{ .name = "json", .key = 'j', .doc = "for machines" },
	{ 0 },
};

int slu_softgpu_path(unsigned index, char ret_path[PATH_MAX])
{
	int r = dev_board_folder(ret_path, PATH_MAX - 24);

	if (!r)
		sprintf(ret_path + strlen(ret_path), "/softgpu%u", index);
	return r;
}

static const struct slu_cli_command parts[] = {
	{ .name = "run", .verb = &slu_softgpu_run },
	{ .name = "info", .verb = &slu_softgpu_info },
	{ .name = "reset", .verb = &slu_softgpu_reset },
	{ 0 },
};

static int run(int argc, char **argv)
{
	char name[32];

	if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		puts("usage: sluice softgpu run [OPTION…] [--] PROGRAM [ARGUMENT…]\n"
		     "       sluice softgpu info [--json]\n"
		     "       sluice softgpu reset [--json]\n\n"
		     "Runs programs on the software GPU, shows it, and removes it.\n"
		     "Each word has --help.\n\n"
		     "For example: sluice softgpu run --memory 64M -- ./vector-add");
		return SLU_CLI_OK;
	}
	for (const struct slu_cli_command *part = parts; argc >= 2 && part->name; part++) {
		if (strcmp(argv[1], part->name))
			continue;
		snprintf(name, sizeof(name), "sluice softgpu %s", part->name);
		argv[1] = name;
		return part->verb->run(argc - 1, argv + 1);
	}
	if (argc >= 2)
		slu_cli_complain(
			"It is one of 'run', 'info' and 'reset', and options follow it. For "
			"example: sluice softgpu run --memory 64M -- ./program",
			"'%s' is not a command of 'sluice softgpu'.", argv[1]);
	else
		slu_cli_complain("For example: sluice softgpu run --memory 64M -- ./program",
				 "'sluice softgpu' needs one of the words 'run', 'info' and "
				 "'reset'.");
	return SLU_CLI_USAGE;
}

const struct slu_cli_verb slu_cli_softgpu = { .run = run, .parts = parts };
