/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Room for what we do not make ourselves. A driver that refuses a context, an image or a queue
 * may only be full of what could leave. Then the call is tried again as the "creation" of a unit
 * that stands for it: the client waits for the turn, has others give way, and tries, as it does
 * for every unit, until it works or will never. Afterwards the stand-in goes; the thing itself is
 * charged as what it is, or learned of as overhead.
 */

#include "opencl/context.h"
#include "opencl/device.h"
#include "opencl/layer.h"

struct slu_room {
	cl_int (*attempt)(struct slu_room *room); /* calls the driver; may run on another thread */
	cl_int r;				  /* what the driver said last */
};

/*
 * Whether new memory on @device must be used once before it is known to be there: until the driver
 * has refused a creation, unless the client @is_sure; and always where the context has several
 * devices, for then no driver can know at the creation which of them will need it.
 */
bool slu_room_must_prove(const struct slu_context *context, struct slu_device *device,
			 bool is_sure);

/*
 * For an attempt that made @real: has the driver really find memory for it, where it might put
 * that off until the program's first command. On failure @real is released.
 */
cl_int slu_room_prove(struct slu_context *context, cl_mem real);

/* Whether @r says that the driver lacked memory. */
bool slu_room_is_refusal(cl_int r);

/*
 * Tries, and on a refusal tries again with @bytes of room (a guess: 0 where nothing is known).
 *
 * Return: what the driver said in the end.
 */
cl_int slu_room_try(struct slu_room *room, struct slu_device *device, uint64_t bytes);
