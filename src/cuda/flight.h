/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work in flight, bounded. A program may queue a second of work in a millisecond; its turn could
 * then not end before all of it has. So a launch waits (outside the gate, where it holds nobody up)
 * while too much is queued, and far before the driver's own depth of some thousand launches a
 * stream, at which calls block inside it.
 *
 * Behind every few launches an event, a *mark*, is recorded in the same stream. When more launches
 * are out than the limit, the next one waits for the oldest mark. How long a mark was under way
 * tells how much time is queued: the limit is halved above TARGET, doubled well below it, between
 * 2 launches and LIMIT_MAX. Long kernels are thus queued two at a time, short ones by the dozen.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_device;

#define SLU_FLIGHT_MARKS 16

struct slu_cuda_mark {
	CUevent event;
	uint64_t n_launches; /* how many had been launched when it was recorded */
	uint64_t ns;	     /* and when that was */
};

struct slu_cuda_flight {
	_Atomic uint64_t n_launched;
	_Atomic uint64_t n_ended;  /* as far as marks have told */
	_Atomic uint64_t n_marked; /* n_launched at the last mark */
	_Atomic uint32_t limit;

	struct slu_lock lock;			      /* SLU_LOCK_LEAF, for what follows */
	struct slu_cuda_mark marks[SLU_FLIGHT_MARKS]; /* a queue */
	unsigned first, n_marks;
	CUevent spare[SLU_FLIGHT_MARKS]; /* events that are not recorded */
	unsigned n_spare;
};

/* In the current context. A flight without events lets everything pass. */
void slu_cuda_flight_init(struct slu_cuda_flight *flight);
void slu_cuda_flight_deinit(struct slu_cuda_flight *flight);

static inline bool slu_cuda_flight_is_full(struct slu_cuda_flight *flight)
{
	return atomic_load_explicit(&flight->n_launched, memory_order_relaxed) -
		       atomic_load_explicit(&flight->n_ended, memory_order_relaxed) >=
	       atomic_load_explicit(&flight->limit, memory_order_relaxed);
}

/* Counts a launch; its number tells it from others. Return: whether a mark is due behind it. */
static inline bool slu_cuda_flight_add(struct slu_cuda_flight *flight, uint64_t *ret_number)
{
	uint64_t n = atomic_fetch_add_explicit(&flight->n_launched, 1, memory_order_relaxed) + 1;

	*ret_number = n;
	return n - atomic_load_explicit(&flight->n_marked, memory_order_relaxed) >=
	       (atomic_load_explicit(&flight->limit, memory_order_relaxed) + 3) / 4;
}

void slu_cuda_flight_mark(struct slu_cuda_device *device, CUstream stream);
void slu_cuda_flight_wait(struct slu_cuda_device *device);
