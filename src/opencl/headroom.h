/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Headroom for objects that the layer does not move. A driver that refuses a context, an image or
 * a queue may only be full of units that could leave. Then the layer repeats the call as the
 * "creation" of a stand-in unit: the client waits for the turn, makes others give way, and repeats
 * the call until it works or never will, as for every unit. Afterwards the stand-in is freed; the
 * client charges the new object as what it is, or learns of it as overhead.
 */

#include "opencl/context.h"
#include "opencl/device.h"
#include "opencl/layer.h"

struct slu_headroom {
	cl_int (*attempt)(
		struct slu_headroom *headroom); /* calls the driver; may run on another thread */
	cl_int r;				/* what the driver said last */
};

/*
 * Whether new memory on @device must be used once to prove that it exists: until the driver has
 * refused a creation, unless the client @is_sure; and always in a context of several devices, where
 * no driver can know at the creation which of them will need the memory.
 */
bool slu_headroom_must_prove(const struct slu_context *context, struct slu_device *device,
			     bool is_sure);

/*
 * For an attempt that made @real: makes the driver allocate its memory now, not at the program's
 * first command. On failure @real is released.
 */
cl_int slu_headroom_prove(struct slu_context *context, cl_mem real);

/* Whether @r says that the driver lacked memory. */
bool slu_headroom_is_refusal(cl_int r);

/*
 * Tries, and on a refusal tries again with @bytes of headroom (0: a guess).
 *
 * Return: what the driver said in the end.
 */
cl_int slu_headroom_try(struct slu_headroom *headroom, struct slu_device *device, uint64_t bytes);
