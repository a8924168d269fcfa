/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/predict-trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool slu_cuda_predict_trace_is_on;

static FILE *trace; /* constant after start */

void slu_cuda_predict_trace_start(void)
{
	const char *path = secure_getenv("SLUICE_PREDICT_TRACE");

	if (path && *path && !trace)
		trace = fopen(path, "ae");
	slu_cuda_predict_trace_is_on = trace;
}

static const char *known(const struct slu_predict_set *set, const struct slu_predict_why *why)
{
	return set && why->reason == SLU_PREDICT_REASON_NONE ? "known" : "unknown";
}

static void range_write(const struct slu_predict_range *r)
{
	fprintf(trace, "%c %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64,
		r->is_written ? (r->is_read ? 'x' : 'w') : 'r', r->from, r->to, r->address,
		r->bytes);
	for (unsigned i = 0; i < r->n_levels; i++)
		fprintf(trace, " %" PRIu64 " %" PRIu64, r->levels[i].stride, r->levels[i].count);
	fputc('\n', trace);
}

static void why_write(char how, const struct slu_predict_why *why)
{
	if (why->reason != SLU_PREDICT_REASON_NONE)
		fprintf(trace, "? %c %u %s\n", how, why->line,
			slu_predict_reason_text(why->reason));
}

void slu_cuda_predict_trace_write(const char *name, const struct slu_predict_set *set)
{
	size_t n = 0;

	if (set)
		n = set->n_ranges + (set->why_reads.reason != SLU_PREDICT_REASON_NONE) +
		    (set->why_writes.reason != SLU_PREDICT_REASON_NONE);
	fprintf(trace, "launch %d %s %s %s %zu\n", (int)getpid(), name ? name : "?",
		known(set, set ? &set->why_reads : NULL), known(set, set ? &set->why_writes : NULL),
		n);
	for (size_t i = 0; set && i < set->n_ranges; i++)
		range_write(&set->ranges[i]);
	if (set) {
		why_write('r', &set->why_reads);
		why_write('w', &set->why_writes);
	}
	fflush(trace);
}
