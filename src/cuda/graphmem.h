/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that graphs own: their allocation nodes, and captured allocations. The driver decides when
 * to make it and give it back, and keeps some for the next launch. It reports how much it has
 * reserved, and the shim charges and shows that. The shim asks where the amount may have changed:
 * when such a node is made, at launches, when graphs end, and at rest.
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
	uint64_t charged_bytes;

	/* guarded by slu_cuda.lock */
	uint64_t asked_bytes;	 /* by calls under way */
	uint64_t reserved_bytes; /* of these: set aside, and not yet used up by a charge */
};

/*
 * Sets @bytes aside for a call that makes memory of a graph, if the program may own so much.
 * Return: whether they are; then slu_cuda_graphmem_made() follows the call.
 */
bool slu_cuda_graphmem_reserve(struct slu_cuda_device *device, uint64_t bytes);

/*
 * The call is over. @is_made: it succeeded, and what the driver has reserved for it uses up what
 * was set aside. The rest is given back: a driver that takes the memory at the launch has it
 * charged then.
 */
void slu_cuda_graphmem_made(struct slu_cuda_device *device, uint64_t bytes, bool is_made);

void slu_cuda_graphmem_look_slow(struct slu_cuda_device *device);

/* Charges what there is now. Not inside the gate. */
#define slu_cuda_graphmem_look(device)                                                 \
	do {                                                                           \
		if (__builtin_expect(atomic_load_explicit(&(device)->graphmem.is_used, \
							  memory_order_relaxed),       \
				     0))                                               \
			slu_cuda_graphmem_look_slow(device);                           \
	} while (0)

/* The service context ends, and all charges have ended. */
void slu_cuda_graphmem_reset(struct slu_cuda_device *device);

/* Whether an allocation in @stream becomes a node instead: a capture is under way there. */
bool slu_cuda_graphmem_is_captured(struct slu_cuda_device *device, CUstream stream);
