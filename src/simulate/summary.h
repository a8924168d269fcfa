/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The figures of a run that people compare. Times are in ns, means over the programs that ended. */

#include "simulate/simulate.h"

struct slu_simulate_summary {
	size_t n_programs, n_ended;
	uint64_t completion_ns;	    /* mean, from arrival to end */
	uint64_t completion_p95_ns; /* 95 of 100 took no longer */
	uint64_t queueing_ns;	    /* mean, from arrival to the first launch */
	uint64_t makespan_ns;	    /* from the first arrival to the last end */
	size_t n_requests;	    /* done, of programs with more than one */
	uint64_t request_ns, request_p99_ns;
	unsigned busy_percent; /* of the compute engine, from the first arrival to the end */
	uint64_t n_turns, in_bytes, out_bytes;
};

/* Return: 0 or -ENOMEM. */
int slu_simulate_summarise(const struct slu_simulate_scenario *scenario,
			   const struct slu_simulate_result *result,
			   struct slu_simulate_summary *ret_summary);

/* Draws the order of the programs from @seed; the times at which programs arrive stay. */
void slu_simulate_shuffle(struct slu_simulate_scenario *scenario, uint64_t seed);
