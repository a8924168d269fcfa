/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A context: a program's world on one card. Streams, modules and allocations belong to it; an error
 * that a kernel makes is its own for good (sticky): every later call in it gives that error, and
 * only its end helps.
 *
 *   new ─slu_context_new─▶ LIVE ─a kernel's fault─▶ BROKEN      error != 0
 *                           └────────┴─slu_context_free─▶ gone  queued work is dropped or cancelled
 *
 * Each thread has a stack of contexts, the topmost being current. The primary context of a card is
 * made by the first retain and goes with the last release.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/lock.h"
#include "cuabi/cuda-min.h"
#include "softgpu/driver/card.h"
#include "softgpu/driver/object.h"

struct slu_interp_heap;
struct slu_stream;
struct slu_module;

struct slu_context {
	struct slu_object object;
	unsigned n_attached;   /* atomic: times that it must be detached before it ends */
	struct slu_lock lock;  /* see driver.h */
	struct slu_card *card; /* constant, as the next two */
	bool is_primary;
	uint64_t id;
	unsigned flags;		 /* guarded by the driver's lock */
	unsigned n_retained;	 /* of a primary one; guarded by the driver's lock */
	uint64_t overhead_bytes; /* constant: what it takes of the card */
	uint64_t local_bytes; /* what kernels' local memory takes; guarded by the context's lock */
	CUresult error;	      /* sticky; atomic */
	bool cancel;	      /* kernels shall end; atomic */
	size_t limits[CU_LIMIT_MAX];	 /* guarded by the driver's lock */
	CUfunc_cache cache_config;	 /* guarded by the driver's lock */
	uint8_t peers;			 /* cards that may reach what is allocated here: a bit
					    each; guarded by the driver's lock */
	struct slu_stream *legacy;	 /* constant */
	LIST_HEAD(, slu_stream) streams; /* guarded by the queues' lock */
	LIST_HEAD(, slu_module) modules; /* guarded by the context's lock */
	/* of kernels' malloc; guarded by the context's lock until a kernel that uses it is loaded,
	 * constant from then on */
	struct slu_interp_heap *heap;
};

/* Return: CUDA_SUCCESS, OUT_OF_MEMORY where the card has no room for it. */
CUresult slu_context_new(struct slu_card *card, unsigned flags, bool is_primary,
			 struct slu_context **ret_context);

/* Ends its work and gives back everything it has. */
void slu_context_free(struct slu_context *context);

struct slu_context *slu_context_get(CUcontext handle);

static inline CUcontext slu_context_handle(struct slu_context *context)
{
	return (CUcontext)(void *)context;
}

/* Not while the calling thread carries out a command: whoever drains the context holds the lock. */
void slu_context_lock(struct slu_context *context);
void slu_context_unlock(struct slu_context *context);

/* -- the calling thread's stack; entries may have died since they were pushed */
CUresult slu_context_push(struct slu_context *context);
CUcontext slu_context_pop(bool *ret_was_there);
void slu_context_set(struct slu_context *context);
CUcontext slu_context_current(void);

/*
 * In front of each call that needs a context: finds the current one.
 * Return: CUDA_SUCCESS, INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the context's own sticky error.
 */
CUresult slu_context_enter(struct slu_context **ret_context);

/* The first error stays. */
void slu_context_break(struct slu_context *context, CUresult error);
CUresult slu_context_error(const struct slu_context *context);

/* -- primary contexts */
CUresult slu_context_retain_primary(struct slu_card *card, struct slu_context **ret_context);
CUresult slu_context_release_primary(struct slu_card *card);
CUresult slu_context_reset_primary(struct slu_card *card);
CUresult slu_context_set_primary_flags(struct slu_card *card, unsigned flags);
void slu_context_primary_state(struct slu_card *card, unsigned *ret_flags, bool *ret_is_active);
