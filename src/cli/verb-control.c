/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs that control programs: park, unpark, kick. Each is one request to the daemon, which
 * decides whether this user may.
 */

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/suspend.h"

struct options {
	struct slu_cli_where where;
	bool all;
	bool deep;
	const char *program;
};

static const struct slu_cli_option all_options[] = {
	{ .name = "all", .doc = "every program of yours", .at = offsetof(struct options, all) },
	{ 0 },
};

static const struct slu_cli_option park_options[] = {
	{ .name = "all", .doc = "every program of yours", .at = offsetof(struct options, all) },
	{ .name = "deep",
	  .doc = "let the driver take everything off the device, contexts too",
	  .at = offsetof(struct options, deep) },
	{ 0 },
};

static const struct slu_cli_option kick_options[] = {
	{ .name = "all",
	  .doc = "every program of yours that is called so",
	  .at = offsetof(struct options, all) },
	{ 0 },
};

static void take_program(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	if (o->program)
		argp_error(state, "one program at a time: '%s' is one word too many", word);
	o->program = word;
}

static void check_program(const void *options, struct argp_state *state)
{
	const struct options *o = options;

	if (!o->program && !o->all)
		argp_error(state, "which program? 'sluice status' has their names and pids");
	if (o->program && o->all)
		argp_error(state, "a program or --all, not both");
}

static void check_kicked(const void *options, struct argp_state *state)
{
	const struct options *o = options;

	if (!o->program)
		argp_error(state, "which program? 'sluice status' has their names and pids");
}

static int finish(struct options *o, json_t *request)
{
	const json_t *suspended;
	json_t *reply;
	int r = slu_cli_ask(&o->where, request, &reply);

	if (r)
		return r;
	suspended = json_object_get(reply, "suspended");
	if (suspended) {
		r = slu_suspend_bring_back(&o->where, suspended);
		json_decref(reply);
		return r;
	}
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

static int steer(int argc, char **argv, const struct slu_cli_verb *verb, const char *name)
{
	struct options o = { 0 };
	json_t *request;

	slu_cli_parse(verb, argc, argv, &o);
	if (o.deep)
		return slu_suspend_programs(&o.where, o.program, o.all);
	request = json_pack("{s:s, s:b, s:s*}", "verb", name, "all", o.all, "program", o.program);
	return finish(&o, request);
}

static int park(int argc, char **argv)
{
	return steer(argc, argv, &slu_cli_park, "park");
}

static int unpark(int argc, char **argv)
{
	return steer(argc, argv, &slu_cli_unpark, "unpark");
}

static int kick(int argc, char **argv)
{
	return steer(argc, argv, &slu_cli_kick, "kick");
}

const struct slu_cli_verb slu_cli_park = {
	.options = park_options,
	.asks = SLU_CLI_ASKS_FACTS,
	.args_doc = "NAME|PID\n--all",
	.doc = "Put a program aside: it gets no turn, and its bytes leave the device.\v"
	       "It keeps everything it had; 'sluice unpark' lets it go on. What cannot move stays "
	       "on "
	       "the device, unless --deep asks the driver to suspend the program.\n\n"
	       "For example: sluice park --deep train",
	.take = take_program,
	.offers = SLU_CLI_OFFERS_PROGRAMS,
	.check = check_program,
	.run = park,
};

const struct slu_cli_verb slu_cli_unpark = {
	.options = all_options,
	.asks = SLU_CLI_ASKS_FACTS,
	.args_doc = "NAME|PID\n--all",
	.doc = "Let a parked program run again.\vFor example: sluice unpark train",
	.take = take_program,
	.offers = SLU_CLI_OFFERS_PROGRAMS,
	.check = check_program,
	.run = unpark,
};

const struct slu_cli_verb slu_cli_kick = {
	.options = kick_options,
	.asks = SLU_CLI_ASKS_FACTS,
	.args_doc = "NAME|PID\n--all NAME",
	.doc = "End a program that does not give the device back (SIGKILL).\v"
	       "What it had not saved is lost. 'sluice status' says which program blocks "
	       "another. Where several programs have the name, give a pid, or --all.\n\n"
	       "For example: sluice kick train",
	.take = take_program,
	.offers = SLU_CLI_OFFERS_PROGRAMS,
	.check = check_kicked,
	.run = kick,
};
