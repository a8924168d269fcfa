/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Events for our own copies. Making one takes the context's lock, behind whatever the program does
 * there; so they are made once, with the service context, and used again.
 */

#include "base/lock.h"
#include "cuabi/cuda-min.h"

/* As many as pieces may be under way both ways. */
#define SLU_EVENTS_MAX 128

struct slu_cuda_events {
	struct slu_lock lock; /* SLU_LOCK_LEAF, for what follows */
	CUevent spare[SLU_EVENTS_MAX];
	unsigned n_spare;
};

/* In the current context; as many as there are to be had. */
void slu_cuda_events_init(struct slu_cuda_events *events);
void slu_cuda_events_deinit(struct slu_cuda_events *events);

/* An event that is not recorded; made if there is none left. */
CUresult slu_cuda_events_take(struct slu_cuda_events *events, CUevent *ret_event);
void slu_cuda_events_put(struct slu_cuda_events *events, CUevent event);
