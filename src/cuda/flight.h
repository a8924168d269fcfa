/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work in flight, bounded. A program may queue a second of work in a millisecond; its turn could
 * then not end before all of it has. So a launch waits (outside the gate, where it holds nobody up)
 * while too much is queued, and far before the driver's own depth of some thousand launches a
 * stream, at which calls block inside it.
 *
 * Behind every few launches an event, a *mark*, is recorded in the same stream. When more launches
 * are out than the limit, the next one waits for the oldest mark. From one mark's end to the next
 * the device has carried out the launches between them: that tells how long a launch takes, and the
 * limit is as many of them as fill TARGET. Short kernels are thus queued by the dozen; one that is
 * longer than TARGET runs alone, and a second one behind it only where the program uses several
 * streams, which may run at the same time.
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
	uint64_t since_ns;   /* when the mark before was: its launches are no older than this */
	CUstream stream;
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
	uint64_t cost_ns;   /* what a launch takes on the device: busy_ns ÷ n_carried */
	uint64_t busy_ns;   /* in which the device carried out … */
	uint64_t n_carried; /* … so many launches, lately */
	uint64_t came_ns;   /* when the last mark that has come was seen to have come */
	uint64_t marked_ns;
	CUstream stream;   /* of the last mark */
	unsigned n_spread; /* marks to come before the program counts as using one stream again */
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

/*
 * A mark has come, at @came_ns if somebody waited for it (@is_exact), else at some time before.
 * Sets the limit by what it tells.
 */
void slu_cuda_flight_learn(struct slu_cuda_flight *flight, const struct slu_cuda_mark *mark,
			   uint64_t came_ns, bool is_exact);

void slu_cuda_flight_mark(struct slu_cuda_device *device, CUstream stream);

/* Waits until there is room for a launch, as far as there are marks to wait for. */
void slu_cuda_flight_wait(struct slu_cuda_device *device);

/* Whether the oldest mark is still under way; one that has come is taken. Does not wait. */
bool slu_cuda_flight_look(struct slu_cuda_device *device);
