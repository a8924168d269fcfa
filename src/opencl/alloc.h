/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The allocation of movable objects. The client decides where the unit is at first: on the device,
 * or in host memory without an object of the driver. So the layer itself must find what is wrong
 * with the program's flags, as the driver would, and must bring the first contents to either place.
 */

#include "opencl/context.h"
#include "opencl/proxy.h"

/* The driver's answer to these flags, all of them known, with this pointer. */
cl_int slu_alloc_check_flags(cl_mem_flags flags, const void *host_ptr);

/*
 * Allocates a movable root in @context. Takes over the caller's reference of @context, also on
 * failure. @like gives its type, flags, size, host_ptr and shape. @initial: its first contents,
 * without gaps, or NULL.
 */
cl_int slu_alloc_movable(struct slu_context *context, const struct slu_proxy *like,
			 const void *initial, struct slu_proxy **ret_proxy);
