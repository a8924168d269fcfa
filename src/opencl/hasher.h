/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A hasher takes digests on a device: one per context and device, with a kernel, a queue and a
 * small buffer of its own, which only digests use.
 *
 *   NONE     -> WANTED    [slu_hasher_get]    a unit is compared, or may be later
 *   WANTED   -> BUILDING  [slu_hasher_build]  by a thread of the program, at its next launch
 *   BUILDING -> READY     [slu_hasher_build]
 *   BUILDING -> WANTED    [slu_hasher_build]  the driver had no memory; tried again some times
 *   BUILDING -> FAILED    [slu_hasher_build]  this device cannot
 *
 * Building takes as long as any compilation of a program. So nothing is built before bytes have
 * moved, and never by a thread for which another program's turn waits. Until then a comparison has
 * no answer.
 */

#include "client/digest.h"
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

/* Return: the hasher of @place if it is READY, or NULL; then it is WANTED from now on. */
struct slu_hasher *slu_hasher_get(struct slu_context_place *place);

/*
 * Builds the hasher of @place in @context if one is wanted. Called by the program's threads when no
 * other program waits.
 */
void slu_hasher_build(const struct slu_context *context, struct slu_context_place *place);

/*
 * Take the digest of the object behind @root, a buffer that rests; one at a time. Each begin has an
 * end. @ret_ns: the device's time for it, without the work before it; 0: the device has no timer.
 * Return: CL_SUCCESS, or the driver's error.
 */
cl_int slu_hasher_begin(struct slu_hasher *hasher, const struct slu_proxy *root,
			struct slu_hashing_job *ret_job);
cl_int slu_hasher_end(struct slu_hashing_job *job, struct slu_digest *ret_digest, uint64_t *ret_ns);

/* The references of the context that the hasher holds. */
cl_uint slu_hasher_n_hidden(const struct slu_hasher *hasher);

void slu_hasher_deinit(struct slu_hasher *hasher);
