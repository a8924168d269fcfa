/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs that steer: park, unpark, kick. Each is one request to the daemon, which decides
 * whether this user may.
 */

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"

struct options {
	struct slu_cli_where where;
	int all;
	const char *program;
};

enum { OPTION_ALL = 256 };

static const struct argp_option all_options[] = {
	{ "all", OPTION_ALL, NULL, 0, "every program of yours", 0 },
	{ 0 },
};

static const struct argp_child children[] = { { .argp = &slu_cli_ask_argp }, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->where;
		return 0;
	case OPTION_ALL:
		o->all = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (o->program)
			argp_error(state, "one program at a time: '%s' is one word too many", arg);
		o->program = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->program && !o->all)
			argp_error(state, "which program? 'sluice status' has their names and "
					  "pids");
		if (o->program && o->all)
			argp_error(state, "a program or --all, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int finish(struct options *o, json_t *request)
{
	json_t *reply;
	int r = slu_cli_ask(&o->where, request, &reply);

	if (r)
		return r;
	if (o->where.is_json) {
		slu_reply_print(reply, false);
	} else {
		const char *said = json_string_value(json_object_get(reply, "message"));

		if (said)
			puts(said);
	}
	json_decref(reply);
	return SLU_CLI_OK;
}

static int steer(int argc, char **argv, const char *verb, const struct argp *argp)
{
	struct options o = { 0 };
	json_t *request;

	slu_cli_parse(argp, argc, argv, 0, &o);
	request = o.all ? json_pack("{s:s, s:b}", "verb", verb, "all", 1)
			: json_pack("{s:s, s:s}", "verb", verb, "program", o.program);
	return finish(&o, request);
}

int slu_cli_park(int argc, char **argv)
{
	static const struct argp argp = {
		.options = all_options,
		.parser = parse,
		.children = children,
		.args_doc = "NAME|PID\n--all",
		.doc = "Put a program aside: it gets no turn, and its bytes leave the device.\v"
		       "It keeps everything it had; 'sluice unpark' lets it go on.\n\n"
		       "For example: sluice park train",
	};

	return steer(argc, argv, "park", &argp);
}

int slu_cli_unpark(int argc, char **argv)
{
	static const struct argp argp = {
		.options = all_options,
		.parser = parse,
		.children = children,
		.args_doc = "NAME|PID\n--all",
		.doc = "Let a parked program run again.\vFor example: sluice unpark train",
	};

	return steer(argc, argv, "unpark", &argp);
}

int slu_cli_kick(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.children = children,
		.args_doc = "NAME|PID",
		.doc = "End a program that does not give the device back (SIGKILL).\v"
		       "What it had not saved is lost. 'sluice status' says who blocks whom.\n\n"
		       "For example: sluice kick train",
	};

	return steer(argc, argv, "kick", &argp);
}
