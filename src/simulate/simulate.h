/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `sluice sim` runs: programs on one device under a policy, in virtual time. The core, and the
 * peer of each program, are the very code of the daemon and of the client library; modelled are
 * only the programs, the compute engine, the two directions of the bus and the socket.
 *
 * It goes from event to event, so an hour in which nothing changes costs nothing:
 *
 *   programs  load for startup_ns, allocate, then answer requests; a request is a number of
 *             iterations, each a launch of iteration_ns and then pause_ns on the host, or a
 *             burst that was recorded
 *   compute   one launch at a time, in the order of the launches of all programs
 *   bus       one unit at a time in each direction, both directions at once; a unit that did not
 *             change since it came in leaves without a copy
 *   socket    a message takes latency_ns
 *
 * sim/ is another world around the same code: it draws every interleaving and every fault, and
 * asks whether the rules hold. This one is faithful in time, and asks how long programs take.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

#define SLU_SIMULATE_NEVER UINT64_MAX

/* Work after a rest: what a program was seen to do once (`sluice trace record`). */
struct slu_simulate_burst {
	uint64_t rest_ns;   /* on the host, after the last burst or the allocation */
	uint64_t device_ns; /* then it uses the device for so long, in launches of iteration_ns */
};

struct slu_simulate_program {
	char name[SLU_WIRE_NAME_MAX];
	uint64_t arrive_ns;
	uint64_t startup_ns;	  /* on the host, before it allocates */
	uint64_t bytes;		  /* of device memory; all of it is needed in its turns */
	unsigned written_percent; /* of these, what changes in a turn */
	uint64_t iteration_ns;	  /* device time of a launch */
	uint64_t pause_ns;	  /* on the host after each of them */
	uint64_t n_iterations;	  /* of a request; 0: it never ends */
	uint64_t n_requests;	  /* 0: without end */
	uint64_t period_ns;	  /* from one request to the next; 0: each when the last is done */
	enum slu_core_priority priority;
	uint64_t expect_ns; /* device time that a person says it will use; 0: unknown */
	struct slu_simulate_burst *bursts; /* if there are any: its requests, in this order */
	size_t n_bursts;
};

struct slu_world;

/* Whether it ends by itself. */
static inline bool slu_simulate_program_is_finite(const struct slu_simulate_program *p)
{
	return p->n_bursts || (p->n_requests && p->n_iterations);
}

struct slu_simulate_scenario {
	struct slu_core_config core;
	uint64_t memory_bytes;
	unsigned reserve_percent;
	uint64_t in_rate, out_rate; /* of the bus, bytes a second */
	uint64_t unit_bytes;	    /* what moves as a whole, at most */
	uint64_t latency_ns;	    /* of a message */
	uint64_t until_ns;	    /* stop there; SLU_SIMULATE_NEVER: when all programs ended */
	struct slu_simulate_program *programs;
	size_t n_programs;
	/* For tests: called after each event, with the world of world.h. NULL: nobody looks. */
	void (*watch)(void *watcher, const struct slu_world *world);
	void *watcher;
};

/* The settings' defaults, and a bus of 12 GB/s each way. */
void slu_simulate_scenario_default(struct slu_simulate_scenario *ret_scenario);

/* One turn of a program, from its open gate to its rest. */
struct slu_simulate_turn {
	size_t program;
	uint64_t begin_ns, end_ns;
};

/* Copies for a program that followed one another in one direction of the bus. */
struct slu_simulate_copy {
	size_t program;
	uint64_t begin_ns, end_ns;
	bool is_in;
};

struct slu_simulate_outcome {
	uint64_t first_ns;  /* its first launch began; or NEVER */
	uint64_t end_ns;    /* or NEVER */
	uint64_t device_ns; /* the compute engine worked for it */
	uint64_t n_iterations;
	uint64_t n_turns;
	uint64_t in_bytes, out_bytes;
	uint64_t *latencies_ns; /* of its requests, from when they came to when they were done */
	size_t n_latencies, n_latencies_max;
};

struct slu_simulate_result {
	uint64_t end_ns;
	uint64_t busy_ns; /* of the compute engine */
	uint64_t n_events, n_steps;
	struct slu_simulate_outcome *outcomes; /* as many as programs, in their order */
	size_t n_outcomes;
	struct slu_simulate_turn *turns; /* in the order of their ends */
	size_t n_turns, n_turns_max;
	struct slu_simulate_copy *copies; /* in the order of their beginnings, in each direction */
	size_t n_copies, n_copies_max;
};

enum {
	_SLU_SIMULATE_E_SUCCESS,
	SLU_SIMULATE_E_STUCK, /* programs wait, and nothing will happen any more */
};

/* Return: 0, SLU_SIMULATE_E_STUCK with what was reached, -EINVAL for an unknown policy, -ENOMEM. */
int slu_simulate_run(const struct slu_simulate_scenario *scenario,
		     struct slu_simulate_result *ret_result);
void slu_simulate_result_deinit(struct slu_simulate_result *result);
