/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that graphs own: their allocation nodes, and captured allocations. The driver decides when
 * to make it and give it back: it makes it at launches, and keeps it for the next ones. It reports
 * how much it has reserved, and the shim charges and shows that. The shim asks where the amount may
 * have changed: after launches, when graphs end, and at rest.
 *
 * At rest, with the gate shut, the driver gives back what it only keeps, and so it does where the
 * program may not own more. What a launch left to the program stays. A launch then needs its memory
 * again: it is set aside under visible_memory, and where the driver finds none, other programs free
 * it (headroom.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"

struct slu_cuda_device;

struct slu_cuda_graphmem {
	_Atomic bool is_used;	  /* the program has made such a node */
	_Atomic bool is_charging; /* a thread has the next field */
	_Atomic bool is_due;	  /* and is to ask once more */
	_Atomic bool is_trim_due; /* and before has the driver trim */
	_Atomic uint64_t n_trims; /* by us and by the program */
	_Atomic uint64_t charged_bytes;

	/* guarded by slu_cuda.lock */
	uint64_t asked_bytes;	 /* by launches under way */
	uint64_t reserved_bytes; /* of these: set aside, and not yet used up by a charge */
};

/* Whether the program may own @bytes for a node at all. Else the daemon hears of the refusal. */
bool slu_cuda_graphmem_may_own(struct slu_cuda_device *device, uint64_t bytes);

/* A node was made, by any call. */
void slu_cuda_graphmem_made(struct slu_cuda_device *device);

/* The fast path of launches. */
#define slu_cuda_graphmem_is_used(device) \
	__builtin_expect(atomic_load_explicit(&(device)->graphmem.is_used, memory_order_relaxed), 0)

void slu_cuda_graphmem_look_slow(struct slu_cuda_device *device);

/* Charges what there is now. Not inside the gate. */
#define slu_cuda_graphmem_look(device)                       \
	do {                                                 \
		if (slu_cuda_graphmem_is_used(device))       \
			slu_cuda_graphmem_look_slow(device); \
	} while (0)

/* Has the driver give back what it keeps for launches, and charges what is left. */
void slu_cuda_graphmem_give_idle(struct slu_cuda_device *device);

/*
 * Sets aside what a launch of @exec needs. Return: false where the program may not own so much;
 * else slu_cuda_graphmem_launched() follows, outside the gate, also if there was no launch.
 */
#define slu_cuda_graphmem_prepare(device, exec, stream, ret_bytes) \
	(*(ret_bytes) = 0,                                         \
	 !slu_cuda_graphmem_is_used(device) ||                     \
		 slu_cuda_graphmem_prepare_slow(device, exec, stream, ret_bytes))
#define slu_cuda_graphmem_launched(device, exec, bytes, result)                       \
	do {                                                                          \
		if (slu_cuda_graphmem_is_used(device))                                \
			slu_cuda_graphmem_launched_slow(device, exec, bytes, result); \
	} while (0)
bool slu_cuda_graphmem_prepare_slow(struct slu_cuda_device *device, CUgraphExec exec,
				    CUstream stream, uint64_t *ret_bytes);
void slu_cuda_graphmem_launched_slow(struct slu_cuda_device *device, CUgraphExec exec,
				     uint64_t bytes, CUresult result);

/* The service context ends, and all charges have ended. */
void slu_cuda_graphmem_reset(struct slu_cuda_device *device);

/* Whether an allocation in @stream becomes a node instead: a capture is under way there. */
bool slu_cuda_graphmem_is_captured(struct slu_cuda_device *device, CUstream stream);
