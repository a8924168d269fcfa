/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/reply.h"
#include "wire/message.h"

#define REST_MIN_MS  100 /* a shorter one is a pause of the host that counts as use */
#define ITERATION_MS 10
#define GROUP_MAX    32

struct burst {
	uint64_t rest_ms;
	double use_ms;
};

/* The processes of one `sluice run`. */
struct run {
	TAILQ_ENTRY(run) link;
	char group[GROUP_MAX], name[SLU_WIRE_NAME_MAX];
	uint64_t arrived_ms;
	uint64_t used_ms; /* as in the last sample */
	uint64_t memory_bytes, in_bytes, out_bytes, expect_ms;
	uint64_t rest_ms; /* since it used the device last */
	struct burst *bursts;
	size_t n_bursts;

	/* of the sample that is being read */
	uint64_t seen_bytes, seen_in_bytes, seen_out_bytes, more_ms;
	bool is_seen, is_waiting;
};

TAILQ_HEAD(runs, run);

struct slu_trace {
	struct runs runs; /* in the order of their arrival */
	uint64_t began_ms, last_ms;
	bool has_begun;
	uint64_t device_bytes, usable_bytes;
	uint64_t in_rate, out_rate; /* the fastest that was seen, bytes a second */
	uint64_t moved_in_bytes, moved_out_bytes;
};

struct slu_trace *slu_trace_new(void)
{
	struct slu_trace *trace = calloc(1, sizeof(*trace));

	if (trace)
		TAILQ_INIT(&trace->runs);
	return trace;
}

void slu_trace_free(struct slu_trace *trace)
{
	struct run *run;

	if (!trace)
		return;
	while ((run = TAILQ_FIRST(&trace->runs))) {
		TAILQ_REMOVE(&trace->runs, run, link);
		free(run->bursts);
		free(run);
	}
	free(trace);
}

size_t slu_trace_count(const struct slu_trace *trace)
{
	const struct run *run;
	size_t n = 0;

	TAILQ_FOREACH (run, &trace->runs, link)
		n++;
	return n;
}

/* -- samples ---------------------------------------------------------------------------------- */

static struct run *run_get(struct slu_trace *trace, uint64_t now_ms, const json_t *program)
{
	const char *group = slu_reply_text(program, "group");
	struct run *run;

	TAILQ_FOREACH (run, &trace->runs, link)
		if (!strcmp(run->group, group))
			return run;
	run = calloc(1, sizeof(*run));
	if (!run)
		return NULL;
	snprintf(run->group, sizeof(run->group), "%s", group);
	snprintf(run->name, sizeof(run->name), "%s", slu_reply_text(program, "name"));
	run->arrived_ms = now_ms - trace->began_ms;
	/* what it used before the recording began is no part of it */
	run->used_ms = now_ms == trace->began_ms ? slu_reply_number(program, "used_ms") : 0;
	TAILQ_INSERT_TAIL(&trace->runs, run, link);
	return run;
}

static bool is_recorded(const json_t *program)
{
	const char *state = slu_reply_text(program, "state");

	return slu_reply_text(program, "group")[0] && strcmp(state, "queued");
}

static void program_read(struct run *run, const json_t *program)
{
	const char *state = slu_reply_text(program, "state");
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(program, "devices"), i, device)
		run->seen_bytes += slu_reply_number(device, "need_bytes");
	run->seen_in_bytes += slu_reply_number(program, "moved_in_bytes");
	run->seen_out_bytes += slu_reply_number(program, "moved_out_bytes");
	run->expect_ms = slu_reply_number(program, "expect_ms");
	/* figures of turns are the same for each process of a run */
	run->more_ms = slu_sub_floor(slu_reply_number(program, "used_ms"), run->used_ms);
	run->is_waiting = !strcmp(state, "waiting") || !strcmp(state, "filling");
	run->is_seen = true;
}

static int burst_add(struct run *run)
{
	struct burst *list = reallocarray(run->bursts, run->n_bursts + 1, sizeof(*list));

	if (!list)
		return slu_error(-ENOMEM);
	run->bursts = list;
	run->bursts[run->n_bursts++] = (struct burst){ .rest_ms = run->rest_ms };
	return 0;
}

/* @n_using: how many runs used the device in this sample. */
static int run_count(struct run *run, uint64_t span_ms, unsigned n_using)
{
	int r;

	if (!run->more_ms) {
		run->rest_ms += run->is_waiting ? 0 : span_ms;
		return 0;
	}
	if (!run->n_bursts || run->rest_ms >= REST_MIN_MS) {
		r = burst_add(run);
		if (r)
			return slu_fold(r);
	}
	run->rest_ms = 0;
	run->bursts[run->n_bursts - 1].use_ms += (double)run->more_ms / n_using;
	run->used_ms += run->more_ms;
	return 0;
}

static void rates_note(struct slu_trace *trace, uint64_t span_ms)
{
	uint64_t in = 0, out = 0;
	const struct run *run;

	TAILQ_FOREACH (run, &trace->runs, link) {
		in += run->in_bytes;
		out += run->out_bytes;
	}
	if (span_ms) {
		trace->in_rate = SLU_MAX(trace->in_rate,
					 slu_sub_floor(in, trace->moved_in_bytes) * 1000 / span_ms);
		trace->out_rate =
			SLU_MAX(trace->out_rate,
				slu_sub_floor(out, trace->moved_out_bytes) * 1000 / span_ms);
	}
	trace->moved_in_bytes = SLU_MAX(trace->moved_in_bytes, in);
	trace->moved_out_bytes = SLU_MAX(trace->moved_out_bytes, out);
}

static void device_read(struct slu_trace *trace, const json_t *status)
{
	const json_t *device = json_array_get(json_object_get(status, "devices"), 0);

	trace->device_bytes = slu_reply_number(device, "total_bytes");
	trace->usable_bytes = slu_sub_floor(slu_reply_number(device, "usable_bytes"),
					    slu_reply_number(device, "overhead_bytes") +
						    slu_reply_number(device, "outsider_bytes"));
}

int slu_trace_sample(struct slu_trace *trace, uint64_t now_ms, const json_t *status)
{
	uint64_t span_ms = trace->has_begun ? now_ms - trace->last_ms : 0;
	const json_t *program;
	unsigned n_using = 0;
	struct run *run;
	size_t i;
	int r = 0;

	if (!trace->has_begun)
		trace->began_ms = now_ms;
	trace->has_begun = true;
	trace->last_ms = now_ms;
	TAILQ_FOREACH (run, &trace->runs, link) {
		run->is_seen = false;
		run->seen_bytes = run->seen_in_bytes = run->seen_out_bytes = run->more_ms = 0;
	}
	json_array_foreach (json_object_get(status, "programs"), i, program) {
		if (!is_recorded(program))
			continue;
		run = run_get(trace, now_ms, program);
		if (!run)
			return slu_error(-ENOMEM);
		program_read(run, program);
	}
	if (json_array_size(json_object_get(status, "devices")))
		device_read(trace, status);
	TAILQ_FOREACH (run, &trace->runs, link)
		n_using += run->is_seen && run->more_ms > 0;
	TAILQ_FOREACH (run, &trace->runs, link) {
		if (!run->is_seen || r)
			continue;
		run->memory_bytes = SLU_MAX(run->memory_bytes, run->seen_bytes);
		run->in_bytes = SLU_MAX(run->in_bytes, run->seen_in_bytes);
		run->out_bytes = SLU_MAX(run->out_bytes, run->seen_out_bytes);
		r = run_count(run, span_ms, SLU_MAX(n_using, 1u));
	}
	rates_note(trace, span_ms);
	return slu_fold(r);
}

/* -- the scenario ----------------------------------------------------------------------------- */

static const char *setting_value(const json_t *settings, const char *name)
{
	const json_t *setting;
	size_t i;

	json_array_foreach (json_object_get(settings, "settings"), i, setting)
		if (!strcmp(slu_reply_text(setting, "name"), name) &&
		    !strcmp(slu_reply_text(setting, "section"), "scheduler"))
			return slu_reply_text(setting, "value");
	return "";
}

static void write_head(const struct slu_trace *trace, const json_t *settings, FILE *out)
{
	static const char *const names[] = { "policy",	     "slice",	  "slice_min_switches",
					     "age",	     "allotment", "wait_percent",
					     "share_percent" };

	fputs("# Recorded by 'sluice trace record'. See SCENARIOS in sluice(1).\n[device]\n", out);
	if (trace->device_bytes)
		fprintf(out, "memory = %llu\nreserve_percent = 0\n",
			(unsigned long long)trace->usable_bytes);
	if (trace->in_rate)
		fprintf(out, "link_in = %llu\n", (unsigned long long)trace->in_rate);
	if (trace->out_rate)
		fprintf(out, "link_out = %llu\n", (unsigned long long)trace->out_rate);
	fputs("\n[scheduler]\n", out);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(names); i++)
		if (setting_value(settings, names[i])[0])
			fprintf(out, "%s = %s\n", names[i], setting_value(settings, names[i]));
}

/* What left the device was copied only where it had changed. */
static unsigned written_percent(const struct run *run)
{
	if (!run->in_bytes)
		return 100;
	return (unsigned)SLU_MIN(run->out_bytes * 100 / run->in_bytes, UINT64_C(100));
}

static void write_run(const struct run *run, size_t number, FILE *out)
{
	fprintf(out,
		"\n[program %zu]\nname = %s\narrives = %llums\nmemory = %llu\n"
		"written_percent = %u\niteration = %dms\n",
		number, run->name, (unsigned long long)run->arrived_ms,
		(unsigned long long)run->memory_bytes, written_percent(run), ITERATION_MS);
	if (run->expect_ms)
		fprintf(out, "expect = %llums\n", (unsigned long long)run->expect_ms);
	for (size_t i = 0; i < run->n_bursts; i++)
		fprintf(out, "burst = %llums %.0fms\n", (unsigned long long)run->bursts[i].rest_ms,
			run->bursts[i].use_ms);
}

void slu_trace_write(const struct slu_trace *trace, const json_t *settings, FILE *out)
{
	const struct run *run;
	size_t number = 0;

	write_head(trace, settings, out);
	TAILQ_FOREACH (run, &trace->runs, link)
		if (run->n_bursts && run->memory_bytes)
			write_run(run, ++number, out);
}
