/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Objects that the layer does not move, and the release of all objects: shared by buffers, images
 * and everything else that has a proxy. Movable objects come from alloc.h.
 */

#include "opencl/context.h"
#include "opencl/proxy.h"

/* Fills the program's error code, if it wants one. Return: @handle. */
static inline cl_mem slu_memory_answer(cl_mem handle, cl_int r, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = r;
	return handle;
}

/* Bytes set aside for an object on the device that pays for what cannot move. */
struct slu_reserve {
	struct slu_client_device *client; /* NULL: no account */
	uint64_t bytes;			  /* minus the bytes that were charged */
};

/* Return: whether the program may own that much; slu_memory_unreserve() gives back the rest. */
bool slu_memory_reserve(const struct slu_context *context, uint64_t bytes,
			struct slu_reserve *ret_reserve);
void slu_memory_unreserve(struct slu_reserve *reserve);

/*
 * Makes a proxy for @real, an object of the driver that does not move. Charges it to the context's
 * first device with the reason @why (SLU_FROZEN_NO: it takes none of its memory), out of @reserve.
 * Takes over @real, also on failure. With a @parent (of an image on a buffer or an image, named by
 * the caller) nothing is charged; if the parent moves, @real belongs to its present generation.
 */
cl_int slu_memory_adopt(cl_context context, cl_mem real, enum slu_frozen why,
			struct slu_reserve *reserve, struct slu_proxy *parent,
			struct slu_proxy **ret_proxy);

/* Adopts @real without a parent if @r is CL_SUCCESS. Return: the answer of the call. */
cl_mem slu_memory_hand_out(cl_context context, cl_mem real, cl_int r, enum slu_frozen why,
			   struct slu_reserve *reserve, cl_int *errcode_ret);

/*
 * Charges memory in @context for which the program has no handle, with its reason. Return: a proxy
 * that the program never sees, or NULL without an account.
 */
struct slu_proxy *slu_memory_charge(cl_context context, size_t size, enum slu_frozen why,
				    struct slu_reserve *reserve);
void slu_memory_discharge(struct slu_proxy *charged);

#define SLU_MEMORY_ACCESS_FLAGS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define SLU_MEMORY_HOST_PTR_FLAGS \
	(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)
#define SLU_MEMORY_HOST_ACCESS_FLAGS \
	(CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
#define SLU_MEMORY_KNOWN_FLAGS \
	(SLU_MEMORY_ACCESS_FLAGS | SLU_MEMORY_HOST_PTR_FLAGS | SLU_MEMORY_HOST_ACCESS_FLAGS)

static inline bool slu_memory_is_one_at_most(cl_mem_flags flags)
{
	return !(flags & (flags - 1));
}

/* How kernels may reach an object with these flags. */
static inline cl_mem_flags slu_memory_access(cl_mem_flags flags)
{
	cl_mem_flags access = flags & SLU_MEMORY_ACCESS_FLAGS;

	return access ? access : CL_MEM_READ_WRITE;
}

/* The flags of an object made from one with the flags @above: what it does not say it inherits. */
static inline cl_mem_flags slu_memory_inherit(cl_mem_flags above, cl_mem_flags flags)
{
	if (!(flags & SLU_MEMORY_ACCESS_FLAGS))
		flags |= above & SLU_MEMORY_ACCESS_FLAGS;
	if (!(flags & SLU_MEMORY_HOST_ACCESS_FLAGS))
		flags |= above & SLU_MEMORY_HOST_ACCESS_FLAGS;
	flags &= ~(cl_mem_flags)SLU_MEMORY_HOST_PTR_FLAGS;
	return flags | (above & SLU_MEMORY_HOST_PTR_FLAGS);
}

/* After the last reference: releases @proxy now, or when the last command that names it ended. */
void slu_memory_release_later(struct slu_proxy *proxy);
