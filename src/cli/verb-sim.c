/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim`: what would policies do with these programs? Runs a scenario in virtual time with
 * the daemon's own scheduler, and compares. It asks no daemon and needs no GPU.
 */

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/sim-draw.h"
#include "cli/sim-read.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "core/sched/policy.h"
#include "simulate/simulate.h"
#include "simulate/summary.h"

#define POLICIES_MAX 8

struct options {
	const char *scenario;
	const char *policies; /* with commas; NULL: as the scenario says */
	const char *jobs;
	const char *svg;
	unsigned long seed; /* 0: the order of the files */
	bool is_json;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "policy",
	  .key = 'p',
	  .arg = "NAMES",
	  .doc = "compare these policies, with commas between them; all: every policy",
	  .at = offsetof(struct options, policies),
	  .kind = SLU_CLI_TEXT },
	{ .name = "jobs",
	  .arg = "FILE",
	  .doc = "add the programs of a table (CSV)",
	  .at = offsetof(struct options, jobs),
	  .offers = SLU_CLI_OFFERS_FILES,
	  .kind = SLU_CLI_PATH },
	{ .name = "seed",
	  .arg = "N",
	  .doc = "draw the order of the programs; the arrival times stay",
	  .at = offsetof(struct options, seed),
	  .kind = SLU_CLI_COUNT },
	{ .name = "svg",
	  .arg = "FILE",
	  .doc = "draw completion curves and turns",
	  .at = offsetof(struct options, svg),
	  .offers = SLU_CLI_OFFERS_FILES,
	  .kind = SLU_CLI_PATH },
	{ .name = "json", .doc = "print JSON", .at = offsetof(struct options, is_json) },
	{ 0 },
};

static void take(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	if (o->scenario)
		argp_error(state, "one scenario at a time");
	o->scenario = word;
}

/* The runs of one comparison. */
struct comparison {
	struct slu_sim_read read;
	size_t n;
	const char *policies[POLICIES_MAX];
	struct slu_simulate_result results[POLICIES_MAX];
	struct slu_simulate_summary summaries[POLICIES_MAX];
};

static int policy_add(struct comparison *c, const char *name)
{
	const struct slu_core_policy *policy = slu_core_policy_find(name);
	char names[128] = "";

	for (unsigned i = 0; slu_core_policy_at(i) && !policy; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", slu_core_policy_at(i)->name);
	if (!policy) {
		slu_cli_complain(NULL, "no policy is named '%s'; there are: %s.", name, names);
		return SLU_CLI_USAGE;
	}
	if (c->n == POLICIES_MAX) {
		slu_cli_complain(NULL, "more than %d policies.", POLICIES_MAX);
		return SLU_CLI_USAGE;
	}
	c->policies[c->n++] = policy->name;
	return 0;
}

static int policies_choose(struct comparison *c, const struct options *o)
{
	char words[256], *rest = words, *word;
	int r = 0;

	if (o->policies && !strcmp(o->policies, "all")) {
		for (unsigned i = 0; slu_core_policy_at(i) && !r; i++)
			r = policy_add(c, slu_core_policy_at(i)->name);
		return r;
	}
	snprintf(words, sizeof(words), "%s",
		 o->policies	     ? o->policies
		 : c->read.policy[0] ? c->read.policy
				     : SLU_CORE_POLICY_DEFAULT);
	while (!r && (word = strsep(&rest, ",")))
		r = policy_add(c, word);
	return r;
}

static int compare_run(struct comparison *c)
{
	for (size_t i = 0; i < c->n; i++) {
		int r;

		c->read.scenario.core.policy = c->policies[i];
		r = slu_simulate_run(&c->read.scenario, &c->results[i]);
		if (r == SLU_SIMULATE_E_STUCK) {
			slu_cli_complain("A program may need more memory than the others leave.",
					 "under %s programs wait without end.", c->policies[i]);
			return SLU_CLI_FAILED;
		}
		if (!r)
			r = slu_simulate_summarise(&c->read.scenario, &c->results[i],
						   &c->summaries[i]);
		if (r) {
			slu_cli_complain(NULL, "cannot simulate %s: %s.", c->policies[i],
					 strerror(-r));
			return SLU_CLI_FAILED;
		}
	}
	return 0;
}

static void add_time(struct slu_table *table, uint64_t ns)
{
	char text[SLU_SIZE_STRING_MAX];

	slu_table_add(table, "%s", ns ? slu_size_format_time(text, ns) : "–");
}

static void print_table(const struct comparison *c)
{
	static const char *const heads[] = { "POLICY",	 "ENDED", "MEAN",     "P95",
					     "QUEUEING", "LAST",  "REQUESTS", "MEAN",
					     "P99",	 "BUSY",  "TURNS",    "MOVED" };
	struct slu_table *table = slu_table_new(SLU_ARRAY_SIZE(heads));
	char size[SLU_SIZE_STRING_MAX];

	for (unsigned i = 0; i < SLU_ARRAY_SIZE(heads); i++) {
		slu_table_add(table, "%s", heads[i]);
		if (i)
			slu_table_align_right(table, i);
		if (i >= 1 && i <= 8)
			slu_table_hide_empty(table, i);
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct slu_simulate_summary *s = &c->summaries[i];

		slu_table_add(table, "%s", c->policies[i]);
		slu_table_add(table, "%zu", s->n_ended);
		add_time(table, s->completion_ns);
		add_time(table, s->completion_p95_ns);
		add_time(table, s->n_ended ? s->queueing_ns : 0);
		add_time(table, s->makespan_ns);
		slu_table_add(table, "%zu", s->n_requests);
		add_time(table, s->request_ns);
		add_time(table, s->request_p99_ns);
		slu_table_add(table, "%u %%", s->busy_percent);
		slu_table_add(table, "%llu", (unsigned long long)s->n_turns);
		slu_table_add(table, "%s", slu_size_format(size, s->in_bytes + s->out_bytes));
	}
	slu_table_print(table, stdout, "", slu_terminal_width());
	slu_table_free(table);
}

static json_t *json_ms(uint64_t ns)
{
	return ns == SLU_SIMULATE_NEVER ? json_null() : json_real((double)ns / 1e6);
}

static json_t *json_program(const struct slu_simulate_program *p,
			    const struct slu_simulate_outcome *o)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "name", p->name,
			 "arrived_ms", json_ms(p->arrive_ns), "first_ms", json_ms(o->first_ns),
			 "ended_ms", json_ms(o->end_ns), "device_ms", json_ms(o->device_ns),
			 "iterations", (json_int_t)o->n_iterations, "turns", (json_int_t)o->n_turns,
			 "in_bytes", (json_int_t)o->in_bytes, "out_bytes",
			 (json_int_t)o->out_bytes);
}

static json_t *json_run(const struct comparison *c, size_t i)
{
	const struct slu_simulate_summary *s = &c->summaries[i];
	json_t *programs = json_array();

	for (size_t k = 0; k < c->results[i].n_outcomes; k++)
		json_array_append_new(programs, json_program(&c->read.scenario.programs[k],
							     &c->results[i].outcomes[k]));
	return json_pack(
		"{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:i, s:I, s:I, "
		"s:I, s:I, s:I, s:o}",
		"policy", c->policies[i], "n_programs", (json_int_t)s->n_programs, "n_ended",
		(json_int_t)s->n_ended, "end_ms", json_ms(c->results[i].end_ns), "completion_ms",
		json_ms(s->completion_ns), "completion_p95_ms", json_ms(s->completion_p95_ns),
		"queueing_ms", json_ms(s->queueing_ns), "makespan_ms", json_ms(s->makespan_ns),
		"n_requests", (json_int_t)s->n_requests, "request_ms", json_ms(s->request_ns),
		"request_p99_ms", json_ms(s->request_p99_ns), "busy_percent", (int)s->busy_percent,
		"turns", (json_int_t)s->n_turns, "in_bytes", (json_int_t)s->in_bytes, "out_bytes",
		(json_int_t)s->out_bytes, "events", (json_int_t)c->results[i].n_events, "steps",
		(json_int_t)c->results[i].n_steps, "programs", programs);
}

static void print_json(const struct comparison *c)
{
	json_t *runs = json_array();

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(runs, json_run(c, i));
	slu_reply_print(runs, false);
	json_decref(runs);
}

static int draw(const struct comparison *c, const char *path)
{
	struct slu_sim_drawing drawings[POLICIES_MAX];
	FILE *file = fopen(path, "we");
	bool has_failed;

	for (size_t i = 0; i < c->n; i++)
		drawings[i] = (struct slu_sim_drawing){ c->policies[i], &c->results[i] };
	if (file)
		slu_sim_draw(file, &c->read.scenario, drawings, c->n);
	has_failed = !file || ferror(file);
	if (file && fclose(file))
		has_failed = true;
	if (has_failed) {
		slu_cli_complain(NULL, "cannot write %s: %s.", path, strerror(errno));
		return SLU_CLI_FAILED;
	}
	return 0;
}

/* Return: 0, or the exit code after having complained of a scenario without a program or an end. */
static int scenario_check(const struct slu_simulate_scenario *s)
{
	if (!s->n_programs) {
		slu_cli_complain("It needs a section [program NAME] with a key, or a table with "
				 "--jobs.",
				 "the scenario has no program.");
		return SLU_CLI_USAGE;
	}
	for (size_t i = 0; i < s->n_programs; i++)
		if (s->until_ns != SLU_SIMULATE_NEVER ||
		    slu_simulate_program_is_finite(&s->programs[i]))
			return 0;
	slu_cli_complain("Give one of them 'iterations', or say 'until' when under [run].",
			 "no program of the scenario ever ends.");
	return SLU_CLI_USAGE;
}

static int comparison_make(struct comparison *c, const struct options *o)
{
	char why[SLU_SIM_WHY_MAX];
	int r;

	if ((o->scenario && slu_sim_read_scenario(&c->read, o->scenario, why, sizeof(why))) ||
	    (o->jobs && slu_sim_read_jobs(&c->read, o->jobs, why, sizeof(why)))) {
		slu_cli_complain(NULL, "%s", why);
		return SLU_CLI_USAGE;
	}
	r = scenario_check(&c->read.scenario);
	if (r)
		return r;
	if (o->seed)
		slu_simulate_shuffle(&c->read.scenario, o->seed);
	r = policies_choose(c, o);
	if (!r)
		r = compare_run(c);
	if (!r && o->is_json)
		print_json(c);
	else if (!r)
		print_table(c);
	return !r && o->svg ? draw(c, o->svg) : r;
}

static int run(int argc, char **argv)
{
	struct comparison c = { 0 };
	struct options o = { 0 };
	int r;

	slu_cli_parse(&slu_cli_sim, argc, argv, &o);
	slu_sim_read_init(&c.read);
	r = comparison_make(&c, &o);
	for (size_t i = 0; i < c.n; i++)
		slu_simulate_result_deinit(&c.results[i]);
	slu_sim_read_deinit(&c.read);
	return r;
}

static void check(const void *options, struct argp_state *state)
{
	const struct options *o = options;

	if (!o->scenario && !o->jobs)
		argp_error(state, "name a scenario, or a table with --jobs");
}

const struct slu_cli_verb slu_cli_sim = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_NOBODY,
	.args_doc = "[SCENARIO]",
	.doc = "Run programs in virtual time under one policy or several, and compare them.\v"
	       "No daemon is asked, and no GPU is needed: the scheduler is the daemon's own, the "
	       "programs, the device and the bus are models. The manual describes scenarios and "
	       "tables.\n\n"
	       "For example:\n"
	       "  sluice sim --policy fifo,fair chat.scenario\n"
	       "  sluice sim --jobs trace.csv --policy all --svg trace.svg",
	.take = take,
	.offers = SLU_CLI_OFFERS_FILES,
	.check = check,
	.run = run,
};
