/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A context: a program's world on one card. Streams, modules and allocations belong to it; an error
 * that a kernel makes is its own for good (sticky): every later call in it gives that error, and
 * only its end helps.
 *
 *   new ─dev_context_new─▶ LIVE ─a kernel's fault─▶ BROKEN      error != 0
 *                           └────────┴─dev_context_free─▶ gone  queued work is dropped or cancelled
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

struct dev_interp_heap;
struct dev_stream;
struct dev_module;

struct dev_context {
	struct dev_object object;
	unsigned n_attached;   /* atomic: times that it must be detached before it ends */
	struct slu_lock lock;  /* see driver.h */
	struct dev_card *card; /* constant, as the next two */
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
	struct dev_stream *legacy;	 /* constant */
	LIST_HEAD(, dev_stream) streams; /* guarded by the queues' lock */
	LIST_HEAD(, dev_module) modules; /* guarded by the context's lock */
	/* of kernels' malloc; guarded by the context's lock until a kernel that uses it is loaded,
	 * constant from then on */
	struct dev_interp_heap *heap;
};

/* Return: CUDA_SUCCESS, OUT_OF_MEMORY where the card is too full for it. */
CUresult dev_context_new(struct dev_card *card, unsigned flags, bool is_primary,
			 struct dev_context **ret_context);

/* What contexts and their kernels need of a card. Return: 0, DEV_CARD_E_FULL, -errno. */
int dev_context_take_bytes(struct dev_card *card, uint64_t bytes);
void dev_context_give_bytes(struct dev_card *card, uint64_t bytes);

/* Ends its work and gives back everything it has. */
void dev_context_free(struct dev_context *context);

struct dev_context *dev_context_get(CUcontext handle);

static inline CUcontext dev_context_handle(struct dev_context *context)
{
	return (CUcontext)(void *)context;
}

/* Not while the calling thread carries out a command: whoever drains the context holds the lock. */
void dev_context_lock(struct dev_context *context);
void dev_context_unlock(struct dev_context *context);

/* -- the calling thread's stack; entries may have died since they were pushed */
CUresult dev_context_push(struct dev_context *context);
CUcontext dev_context_pop(bool *ret_was_there);
void dev_context_set(struct dev_context *context);
CUcontext dev_context_current(void);

/*
 * In front of each call that needs a context: finds the current one.
 * Return: CUDA_SUCCESS, INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the context's own sticky error.
 */
CUresult dev_context_enter(struct dev_context **ret_context);

/* The first error stays. */
void dev_context_break(struct dev_context *context, CUresult error);
CUresult dev_context_error(const struct dev_context *context);

/* -- primary contexts */
CUresult dev_context_retain_primary(struct dev_card *card, struct dev_context **ret_context);
CUresult dev_context_release_primary(struct dev_card *card);
CUresult dev_context_reset_primary(struct dev_card *card);
CUresult dev_context_set_primary_flags(struct dev_card *card, unsigned flags);
void dev_context_primary_state(struct dev_card *card, unsigned *ret_flags, bool *ret_is_active);
