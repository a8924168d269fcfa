/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What takes digests on the device: one a context and device, with a kernel, a queue and a small
 * buffer of its own, on which nothing but digests waits.
 *
 *   NONE     -> WANTED    [slu_hasher_get]    a unit was to be compared, or will be perhaps
 *   WANTED   -> BUILDING  [slu_hasher_build]  by a thread of the program, at its next launch
 *   BUILDING -> READY     [slu_hasher_build]
 *   BUILDING -> WANTED    [slu_hasher_build]  the driver had no memory; tried again some times
 *   BUILDING -> FAILED    [slu_hasher_build]  this device cannot
 *
 * To build it takes as long as any program's compilation. So nothing is built before bytes have
 * moved, and never by a thread that another program's turn waits for; until then the answer to a
 * comparison is that nobody knows.
 */

#include "opencl/digest.h"
#include "opencl/layer.h"
#include "opencl/proxy.h"

enum slu_hasher_state {
	SLU_HASHER_NONE,
	SLU_HASHER_WANTED,
	SLU_HASHER_BUILDING,
	SLU_HASHER_READY,
	SLU_HASHER_FAILED,
};

struct slu_hasher {
	_Atomic uint8_t state; /* enum slu_hasher_state; changed under the layer's lock */
	unsigned n_tries;      /* guarded by BUILDING, as is the rest; constant once READY */
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem sums;
	size_t n_groups, n_local; /* work-groups, and items in each */
	bool is_in_chunks;	  /* an item takes blocks that lie together */
};

/* A digest under way. */
struct slu_hashing_job {
	cl_event kernel, event; /* the digest, and its way to @sums */
	uint64_t bytes;
	size_t n_groups;
	uint64_t *sums; /* two a work-group */
};

struct slu_context_place;

/* Return: the hasher of @place if it is READY, or NULL; it is wanted from then on. */
struct slu_hasher *slu_hasher_get(struct slu_context_place *place);

/*
 * Builds the hasher of @place in @context if one is wanted. Called by the program's threads, at
 * leisure.
 */
void slu_hasher_build(const struct slu_context *context, struct slu_context_place *place);

/*
 * The digest of the object behind @root, a buffer that rests; one at a time. What was begun is
 * ended. @ret_ns: how long the device was at it, without what ran before it; 0: it does not tell.
 * Return: CL_SUCCESS, or what the driver said.
 */
cl_int slu_hasher_begin(struct slu_hasher *hasher, const struct slu_proxy *root,
			struct slu_hashing_job *ret_job);
cl_int slu_hasher_end(struct slu_hashing_job *job, struct slu_digest *ret_digest, uint64_t *ret_ns);

/* References of the context that are the hasher's. */
cl_uint slu_hasher_n_hidden(const struct slu_hasher *hasher);

void slu_hasher_deinit(struct slu_hasher *hasher);
