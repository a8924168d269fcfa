/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Streams that wait for a word of memory, or for a semaphore of another API. Until another party
 * writes the word the stream makes no progress, however busy it looks. The shim cannot know the
 * word; but an event in front of the wait shows that the stream has reached it, and an event behind
 * it that the wait is over. Between the two the stream waits, as it does while a host function
 * runs, and is noted in the same list (stream.h).
 *
 *   QUEUED  -> REACHED  [slu_cuda_waits_look]  the first event has come
 *   QUEUED, REACHED -> (gone)  [slu_cuda_waits_look]  the second one has, or the context has ended
 *
 * A word in the program's managed memory is touched by its wait: such a wait is numbered like other
 * work, so that nothing counts as at rest behind it.
 */

#include <pthread.h>
#include <stdbool.h>

#include "base/lock.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_device;
struct slu_cuda_wait;

struct slu_cuda_waits {
	struct slu_lock lock;	    /* SLU_LOCK_LEAF, for what follows */
	struct slu_cuda_wait *list; /* but for those that are being looked at */
	bool is_looking;	    /* a thread asks the driver about them */
	pthread_cond_t looked;	    /* and does so no longer */
};

void slu_cuda_waits_init(struct slu_cuda_waits *waits);

/* Asks the driver how far each wait has come. */
void slu_cuda_waits_look(struct slu_cuda_device *device);

/* Forgets the waits in @context (NULL: in all): it is about to be destroyed. */
void slu_cuda_waits_forget(struct slu_cuda_device *device, CUcontext context);

/*
 * Whether the device waits for the host: for a host function that has been running for a while, or
 * in a stream that has been waiting for one. Shorter, it is work.
 */
bool slu_cuda_waits_for_host(struct slu_cuda_device *device);
