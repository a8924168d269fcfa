/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice trace record`: what programs do on a live daemon, as a scenario for `sluice sim`, which
 * then says what another policy would have done with them.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/trace.h"

#define SAMPLE_NS (50 * SLU_NS_PER_MS)

struct options {
	struct slu_cli_where where;
	bool is_record;
	const char *file;
	uint64_t span_ns; /* 0: until a signal */
};

static const struct slu_cli_option option_table[] = {
	{ .name = "for",
	  .arg = "TIME",
	  .doc = "stop after this time (default: at Ctrl-C)",
	  .at = offsetof(struct options, span_ns),
	  .kind = SLU_CLI_TIME },
	{ 0 },
};

static void take(void *options, char *word, struct argp_state *state)
{
	struct options *o = options;

	if (!o->is_record && strcmp(word, "record"))
		argp_error(state, "'%s' is no part of trace; there is: record", word);
	else if (!o->is_record)
		o->is_record = true;
	else if (o->file)
		argp_error(state, "one file at a time");
	else
		o->file = word;
}

static volatile sig_atomic_t is_over;

static void on_signal(int signal)
{
	(void)signal;
	is_over = 1;
}

/*
 * Samples until the time is over, a signal comes, or the daemon ends. Return: 0, or the exit code;
 * what was sampled until then stays.
 */
static int record(const struct options *o, struct slu_trace *trace)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	const struct sigaction action = { .sa_handler = on_signal };
	uint64_t began_ns = slu_clock_now_ns(), now_ns = began_ns;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!is_over && (!o->span_ns || now_ns - began_ns < o->span_ns)) {
		json_t *status;
		int r = slu_cli_ask(&o->where, json_pack("{s:s}", "verb", "status"), &status);

		if (r)
			return r;
		now_ns = slu_clock_now_ns();
		r = slu_trace_sample(trace, now_ns / SLU_NS_PER_MS, status);
		json_decref(status);
		if (r) {
			slu_cli_complain(NULL, "no memory for the trace.");
			return SLU_CLI_FAILED;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int finish(const struct options *o, const struct slu_trace *trace, const json_t *settings)
{
	FILE *out = o->file ? fopen(o->file, "we") : stdout;
	bool has_failed;

	if (!out) {
		slu_cli_complain(NULL, "cannot write %s: %s.", o->file, strerror(errno));
		return SLU_CLI_FAILED;
	}
	slu_trace_write(trace, settings, out);
	has_failed = ferror(out) || fflush(out);
	if (o->file)
		has_failed |= fclose(out) != 0;
	if (has_failed) {
		slu_cli_complain(NULL, "cannot write %s: %s.", o->file ? o->file : "the scenario",
				 strerror(errno));
		return SLU_CLI_FAILED;
	}
	if (o->file)
		fprintf(stderr,
			"sluice: %zu %s recorded; 'sluice sim --policy all %s' replays this.\n",
			slu_trace_count(trace), slu_trace_count(trace) == 1 ? "run" : "runs",
			o->file);
	return 0;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	struct slu_trace *trace;
	json_t *settings;
	int r, written;

	slu_cli_parse(&slu_cli_trace, argc, argv, &o);
	/* now, because the daemon may be gone at the end */
	r = slu_cli_ask(&o.where, json_pack("{s:s}", "verb", "settings"), &settings);
	if (r)
		return r;
	trace = slu_trace_new();
	r = trace ? record(&o, trace) : SLU_CLI_FAILED;
	written = trace && (!r || slu_trace_count(trace)) ? finish(&o, trace, settings) : 0;
	slu_trace_free(trace);
	json_decref(settings);
	return r ? r : written;
}

const struct slu_cli_verb slu_cli_trace = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_DAEMON,
	.args_doc = "record [FILE]",
	.doc = "Record what programs do as a scenario for 'sluice sim'.\v"
	       "Writes to FILE, or to standard output, when it is stopped with Ctrl-C or after "
	       "--for. The manual says what a recording cannot know.\n\n"
	       "For example:\n"
	       "  sluice trace record --for 10m morning.scenario\n"
	       "  sluice sim --policy srtf,fair morning.scenario",
	.take = take,
	.offers = "record",
	.missing = "what to do? For example: sluice trace record morning.scenario",
	.run = run,
};
