/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The world of one run, for the files of simulate/ only. */

#include <sys/queue.h>

#include "core/core.h"
#include "peer/peer.h"
#include "simulate/event.h"
#include "simulate/simulate.h"

enum slu_work {
	SLU_WORK_NONE,	 /* it has nothing to do, or computes on the host */
	SLU_WORK_ALLOC,	 /* it allocates */
	SLU_WORK_GATE,	 /* it wants to launch */
	SLU_WORK_FLIGHT, /* its launch is queued or runs */
};

struct slu_runner {
	const struct slu_simulate_program *program;
	struct slu_simulate_outcome *outcome;
	struct slu_peer *peer; /* NULL: it has not arrived, or has ended */
	enum slu_work work;
	bool is_loaded;		    /* it has allocated all */
	bool is_denied;		    /* it cannot have its memory, and ends */
	uint64_t remaining_bytes;   /* to allocate */
	struct slu_unit *alloc;	    /* an allocation that waits */
	uint64_t n_remaining;	    /* iterations of this request; 0: it has nothing to do */
	uint64_t n_came, n_done;    /* requests */
	uint64_t came_ns;	    /* the first of those that are not done */
	bool is_open, is_shutting;  /* the gate */
	bool has_written;	    /* since the gate opened */
	uint64_t open_ns;	    /* since then */
	uint64_t launch_ns;	    /* its last launch ended */
	uint64_t deadline_ns;	    /* of its peer, as an event; or NEVER */
	bool is_acting, acts_again; /* slu_runner_act() is under way; once more then */
	TAILQ_ENTRY(slu_runner) launch_link;
};

struct slu_move {
	TAILQ_ENTRY(slu_move) link;
	struct slu_runner *runner;
	struct slu_unit *unit; /* NULL: its program has ended */
	bool has_memory;       /* in: taken from the device */
};

enum { SLU_WAY_IN, SLU_WAY_OUT, _SLU_WAYS };

TAILQ_HEAD(slu_moves, slu_move);
TAILQ_HEAD(slu_launches, slu_runner);

/* One direction of the bus. */
struct slu_way {
	struct slu_moves moves; /* the first one runs if is_busy */
	bool is_busy;
	size_t last_copy; /* its number in the result, from 1; 0: none */
};

struct slu_world {
	const struct slu_simulate_scenario *scenario;
	struct slu_simulate_result *result;
	struct slu_core *core;
	struct slu_events events;
	struct slu_runner *runners;
	size_t n_runners;
	size_t n_finite;      /* programs that end by themselves, and have not */
	uint64_t progress_ns; /* the last launch ended, or the last program came */
	uint64_t now_ns;
	uint64_t step_ns;	      /* a step is due then; or NEVER */
	struct slu_launches launches; /* the first one runs */
	struct slu_way ways[_SLU_WAYS];
	uint64_t used_bytes; /* of the device */
	bool is_out_of_memory;
};

/* Of the host: the run fails at its next event. */
void slu_world_add(struct slu_world *world, uint64_t at_ns, enum slu_event_kind kind,
		   size_t program, void *message);
void *slu_world_alloc(struct slu_world *world, size_t size);
/* A copy of @message arrives after the latency; it is no longer than its own size. */
void slu_world_send(struct slu_world *world, enum slu_event_kind kind, size_t program,
		    const struct slu_message *message);

/* -- runner.c: a program and its peer -------------------------------------------------------- */

void slu_runner_arrive(struct slu_world *world, struct slu_runner *runner);
void slu_runner_request(struct slu_world *world, struct slu_runner *runner);
void slu_runner_continue(struct slu_world *world, struct slu_runner *runner);
void slu_runner_launched(struct slu_world *world, struct slu_runner *runner);
void slu_runner_look(struct slu_world *world, struct slu_runner *runner);
void slu_runner_hear(struct slu_world *world, struct slu_runner *runner,
		     const struct slu_message *message);
/* Carries out what the peer wants, and lets the program try again. */
void slu_runner_act(struct slu_world *world, struct slu_runner *runner);
void slu_runner_free(struct slu_world *world, struct slu_runner *runner);

/* -- bus.c: moves ---------------------------------------------------------------------------- */

void slu_bus_move(struct slu_world *world, struct slu_runner *runner, struct slu_unit *unit);
/* The first move of the direction is done. */
void slu_bus_moved(struct slu_world *world, unsigned way);
/* The moves of a program that ends; those that run keep the bus busy until their end. */
void slu_bus_drop(struct slu_world *world, struct slu_runner *runner);
void slu_bus_free(struct slu_world *world);

/* -- daemon.c: the core ---------------------------------------------------------------------- */

int slu_simulate_daemon_start(struct slu_world *world);
void slu_simulate_daemon_hear(struct slu_world *world, size_t program,
			      const struct slu_message *message);
void slu_simulate_daemon_death(struct slu_world *world, size_t program);
void slu_simulate_daemon_step(struct slu_world *world);

static inline size_t slu_runner_number(const struct slu_world *world,
				       const struct slu_runner *runner)
{
	return (size_t)(runner - world->runners);
}
