/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The birth and death of objects, shared by buffers, images and what else hides behind a proxy.
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

/*
 * A proxy for @real, which the driver has made and we do not move: charged to the context's
 * first device with the reason @why. Takes over @real, also on failure. Where @parent is given
 * (an image on a buffer, named by the caller), nothing is charged but the parent stays where it
 * is as long as the new object lives.
 */
cl_int slu_memory_adopt(cl_context context, cl_mem real, enum slu_frozen why,
			struct slu_proxy *parent, struct slu_proxy **ret_proxy);

/* The last reference is gone: ends it now, or when the last command that names it has ended. */
void slu_memory_bury(struct slu_proxy *proxy);
