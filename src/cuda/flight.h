/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bounds the work in flight. A program can queue a second of work in a millisecond, and its turn
 * could not end before all of it has ended. So a launch waits while too much is queued: outside the
 * gate, where it delays no other thread, and far below the driver's own depth of some thousand
 * launches a stream, at which calls block inside the driver.
 *
 * Behind every few launches an event, a *mark*, is recorded in the same stream. From one mark's end
 * to the next the device has carried out the launches between them. That shows how long a launch
 * takes, and so how many may be in flight (client/backlog.h): at least two if the program uses
 * several streams, which may run at the same time.
 *
 * A launch that finds the queue full takes the marks that have come. If that is not enough it waits
 * until half of the queue has ended: one context switch serves all launches of the other half.
 *
 * Long launches may follow short ones. So when a mark is recorded while the oldest one is older
 * than the time the whole queue should take, that one is looked at, and the launches before it
 * count as at least that long.
 *
 * An event can be recorded in streams of its own context only. The spare ones are of the service
 * context; for a mark in another one an event is made there, and destroyed when the mark has come.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "client/backlog.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_device;

#define SLU_FLIGHT_MARKS 16

struct slu_cuda_mark {
	CUevent event;	     /* of the service context: taken from the spare ones */
	CUevent own;	     /* of @context, if that is another one: it is recorded instead */
	CUcontext context;   /* of @own, or NULL */
	uint64_t n_launches; /* how many had been launched when it was recorded */
	uint64_t marked_ns;  /* when it was recorded */
	uint64_t since_ns;   /* when the mark before was, or its own time if that is long ago: its
			      * launches are no older than this */
	CUstream stream;
};

struct slu_cuda_flight {
	_Atomic uint64_t n_launched;
	_Atomic uint64_t n_ended;  /* as far as marks show */
	_Atomic uint64_t n_marked; /* n_launched at the last mark */
	_Atomic uint32_t limit;

	CUcontext service;			      /* constant after init */
	struct slu_lock lock;			      /* SLU_LOCK_LEAF, for what follows */
	struct slu_cuda_mark marks[SLU_FLIGHT_MARKS]; /* a queue */
	unsigned first, n_marks;
	CUevent spare[SLU_FLIGHT_MARKS]; /* events that are not recorded */
	unsigned n_spare;
	unsigned n_foreign;	    /* marks of other contexts that threads have taken out */
	pthread_cond_t returned;    /* n_foreign has become 0 */
	struct slu_backlog backlog; /* what launches take */
	uint64_t came_ns;	    /* when the last mark that has come was seen to have come */
	uint64_t marked_ns;
	CUstream stream;   /* of the last mark */
	unsigned n_spread; /* marks to come before the program counts as using one stream again */
};

/* @service is the current context. A flight without events lets everything pass. */
void slu_cuda_flight_init(struct slu_cuda_flight *flight, CUcontext service);
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
 * A mark has come, at @came_ns if a thread waited for it (@is_exact), else at some time before.
 * Sets the limit accordingly.
 */
void slu_cuda_flight_learn(struct slu_cuda_flight *flight, const struct slu_cuda_mark *mark,
			   uint64_t came_ns, bool is_exact);

/* Records a mark in @stream, of the current context. */
void slu_cuda_flight_mark(struct slu_cuda_device *device, CUstream stream);

/*
 * @context, not the service context, is about to be destroyed: gives up the marks there. Waits
 * until no thread asks the driver about one of them.
 */
void slu_cuda_flight_forget(struct slu_cuda_flight *flight, CUcontext context);

/* Waits until another launch may be in flight, as far as there are marks to wait for. */
void slu_cuda_flight_wait(struct slu_cuda_device *device);

/* Whether the oldest mark is still under way; one that has come is taken. Does not wait. */
bool slu_cuda_flight_look(struct slu_cuda_device *device);
