/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest value that @percent of the list do not exceed; the list becomes sorted. */
static uint64_t quantile(uint64_t *list, size_t n, unsigned percent)
{
	if (!n)
		return 0;
	qsort(list, n, sizeof(*list), compare);
	return list[(n * percent + 99) / 100 - 1];
}

static uint64_t mean(const uint64_t *list, size_t n)
{
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += list[i];
	return n ? (uint64_t)(sum / n) : 0;
}

/* Lists of what is averaged, each long enough for all of it. */
struct lists {
	uint64_t *completions, *queueings, *requests;
};

static bool has_requests(const struct slu_simulate_program *p)
{
	return p->n_bursts ? p->n_bursts != 1 : p->n_requests != 1;
}

static void add_up(const struct slu_simulate_scenario *scenario,
		   const struct slu_simulate_result *result, struct lists *lists,
		   struct slu_simulate_summary *summary)
{
	uint64_t first_ns = SLU_SIMULATE_NEVER, last_ns = 0;

	for (size_t i = 0; i < result->n_outcomes; i++) {
		const struct slu_simulate_program *p = &scenario->programs[i];
		const struct slu_simulate_outcome *o = &result->outcomes[i];

		first_ns = SLU_MIN(first_ns, p->arrive_ns);
		summary->n_turns += o->n_turns;
		summary->in_bytes += o->in_bytes;
		summary->out_bytes += o->out_bytes;
		for (size_t k = 0; k < o->n_latencies && has_requests(p); k++)
			lists->requests[summary->n_requests++] = o->latencies_ns[k];
		if (o->end_ns == SLU_SIMULATE_NEVER)
			continue;
		lists->completions[summary->n_ended] = o->end_ns - p->arrive_ns;
		lists->queueings[summary->n_ended++] = o->first_ns - p->arrive_ns;
		last_ns = SLU_MAX(last_ns, o->end_ns);
	}
	summary->makespan_ns = slu_sub_floor(last_ns, first_ns);
	if (result->end_ns > first_ns)
		summary->busy_percent =
			(unsigned)(result->busy_ns * 100 / (result->end_ns - first_ns));
}

int slu_simulate_summarise(const struct slu_simulate_scenario *scenario,
			   const struct slu_simulate_result *result,
			   struct slu_simulate_summary *ret_summary)
{
	struct slu_simulate_summary summary = { .n_programs = result->n_outcomes };
	size_t n_requests = 1, n = result->n_outcomes + 1;
	struct lists lists;

	for (size_t i = 0; i < result->n_outcomes; i++)
		n_requests += result->outcomes[i].n_latencies;
	lists.completions = calloc(n, sizeof(uint64_t));
	lists.queueings = calloc(n, sizeof(uint64_t));
	lists.requests = calloc(n_requests, sizeof(uint64_t));
	if (lists.completions && lists.queueings && lists.requests) {
		add_up(scenario, result, &lists, &summary);
		summary.completion_ns = mean(lists.completions, summary.n_ended);
		summary.queueing_ns = mean(lists.queueings, summary.n_ended);
		summary.request_ns = mean(lists.requests, summary.n_requests);
		summary.completion_p95_ns = quantile(lists.completions, summary.n_ended, 95);
		summary.request_p99_ns = quantile(lists.requests, summary.n_requests, 99);
		*ret_summary = summary;
		n = 0;
	}
	free(lists.completions);
	free(lists.queueings);
	free(lists.requests);
	return n ? slu_error(-ENOMEM) : 0;
}

void slu_simulate_shuffle(struct slu_simulate_scenario *scenario, uint64_t seed)
{
	struct slu_simulate_program *list = scenario->programs;
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = scenario->n_programs; i > 1; i--) {
		struct slu_simulate_program moved;
		uint64_t arrive_ns;
		size_t j;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		j = (size_t)((random >> 33) % i);
		moved = list[i - 1];
		list[i - 1] = list[j];
		list[j] = moved;
		/* each keeps the time of its place */
		arrive_ns = list[i - 1].arrive_ns;
		list[i - 1].arrive_ns = list[j].arrive_ns;
		list[j].arrive_ns = arrive_ns;
	}
}
