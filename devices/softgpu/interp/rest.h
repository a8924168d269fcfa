/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the threads of a launch stand still together, so that somebody else can compute.
 *
 *   RUNNING -> GATHERING  [a thread is told that they must rest]   those that come by wait
 *   GATHERING -> RESTING  [the last one that was running waits]    it calls the launch's @rest
 *   RESTING -> RUNNING    [@rest has returned]                     all go on
 *
 * A thread may join and leave at any time; one that joins while others wait waits with them.
 */

#include <pthread.h>
#include <stdbool.h>

struct dev_interp_launch;

struct dev_interp_rest {
	const struct dev_interp_launch *launch;
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned n_threads; /* guarded by lock, as what follows */
	unsigned n_waiting; /* of them */
	unsigned n_rests;   /* that have ended */
	bool is_gathering;  /* GATHERING or RESTING; also read without the lock */
	bool is_resting;
};

void dev_interp_rest_init(struct dev_interp_rest *rest, const struct dev_interp_launch *launch);
void dev_interp_rest_deinit(struct dev_interp_rest *rest);

/* A thread begins to work on the launch, and ends it. */
void dev_interp_rest_join(struct dev_interp_rest *rest);
void dev_interp_rest_leave(struct dev_interp_rest *rest);

/* Called by each of them now and then: rests if they must. */
void dev_interp_rest_look(struct dev_interp_rest *rest);
