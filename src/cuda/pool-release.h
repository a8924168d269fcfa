/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How pools learn that streams have come past frees, and give back what they do not use: beyond
 * their thresholds where the program waits for something, all of it where memory is short.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cuda/pool-list.h"

/* The result of a look at the streams. */
struct slu_cuda_pool_sight {
	bool is_more;	/* a stream has passed frees */
	bool is_busy;	/* a stream will pass them without us */
	bool is_unseen; /* a stream can be neither marked nor asked about */
};

/* Looks at the streams of @device (NULL: at all) that have frees before them. Leaves the lock. */
struct slu_cuda_pool_sight slu_cuda_pool_release_look_locked(const struct slu_cuda_device *device);

/* The streams of @context have come past the frees up to @position. */
void slu_cuda_pool_release_pass_locked(CUcontext context, uint64_t position);

/*
 * The program has waited for @stream, for @context, or for an event; frees that were numbered up to
 * @position before are passed there. Pools give back what is beyond their thresholds.
 */
void slu_cuda_pool_release_stream(CUstream stream, uint64_t position);
void slu_cuda_pool_release_context(CUcontext context, uint64_t position);
void slu_cuda_pool_release_event(void);

/* The program is about to destroy @stream. */
void slu_cuda_pool_release_stream_end(CUstream stream);

/* Gives back what pools of @device (NULL: all) have beyond their thresholds. */
void slu_cuda_pool_release_excess(const struct slu_cuda_device *device);

/* Gives back all that pools of @device do not use, after a look. Not inside the gate. */
void slu_cuda_pool_release_unused(struct slu_cuda_device *device);

/* Gives back what @pool does not use, after a look, but keeps @keep_bytes. */
void slu_cuda_pool_release_trim(struct slu_cuda_pool *pool, uint64_t keep_bytes);
