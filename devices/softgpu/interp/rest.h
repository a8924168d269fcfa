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

struct slu_interp_launch;

struct slu_interp_rest {
	const struct slu_interp_launch *launch;
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned n_threads; /* guarded by lock, as what follows */
	unsigned n_waiting; /* of them */
	unsigned n_rests;   /* that have ended */
	bool is_gathering;  /* GATHERING or RESTING; also read without the lock */
	bool is_resting;
};

void slu_interp_rest_init(struct slu_interp_rest *rest, const struct slu_interp_launch *launch);
void slu_interp_rest_deinit(struct slu_interp_rest *rest);

/* A thread begins to work on the launch, and ends it. */
void slu_interp_rest_join(struct slu_interp_rest *rest);
void slu_interp_rest_leave(struct slu_interp_rest *rest);

/* Called by each of them now and then: rests if they must. */
void slu_interp_rest_look(struct slu_interp_rest *rest);
