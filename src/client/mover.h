/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The threads that move units: one queue and two threads for each direction of each device, and
 * more of them for copies by the processor, if a measurement says so (gauge.h).
 *
 * The functions need the client's lock, except start and stop.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/backend.h"
#include "client/gauge.h"
#include "client/pipe.h"
#include "peer/peer.h"

struct slu_client_device;
struct slu_client_unit;

/* A move from the moment that a feeder has begun it. Guarded by the lock, except move. */
struct slu_mover_job {
	STAILQ_ENTRY(slu_mover_job) link;
	struct slu_client_unit *unit;
	struct slu_move move;
	bool is_fed;	       /* no piece will follow */
	bool is_timed;	       /* its time counts for the speed of the device */
	int r;		       /* the result so far: 0, a condition of move.h, or -errno */
	uint64_t copied_bytes; /* since the peer heard of it last … */
	uint64_t told_ns;      /* … or since the move began */
};

struct slu_mover {
	struct slu_client_device *device; /* constant, as is direction */
	enum slu_direction direction;
	pthread_t threads[2]; /* the feeder, the reaper */
	pthread_t hands[SLU_GAUGE_THREADS_MAX - 1];
	pthread_cond_t wake; /* a unit is queued, a piece or a move advanced, or the end */

	/* All guarded by the lock. */
	unsigned n_hands;		      /* threads that copy besides the two */
	STAILQ_HEAD(, slu_client_unit) queue; /* units whose move has not begun */
	unsigned n_queued;
	STAILQ_HEAD(, slu_mover_job) under_way; /* in the order of their pieces */
	STAILQ_HEAD(, slu_mover_job) spare;
	struct slu_mover_job jobs[SLU_PEER_MOVES_MAX];
	struct slu_pipe pipe;
	uint64_t staged_bytes; /* the bytes that the pinned account holds for the pipe */
	bool is_stopping;
};

int slu_mover_start(struct slu_mover *mover, struct slu_client_device *device,
		    enum slu_direction direction);
void slu_mover_stop(struct slu_mover *mover);
void slu_mover_push(struct slu_mover *mover, struct slu_client_unit *unit);
