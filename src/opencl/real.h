/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver's object behind a proxy that moves: how the layer creates it again, and how its bytes
 * come out and go in. A buffer's bytes are its own, an image's are without gaps (shape.h).
 *
 * An object in the program's own memory (CL_MEM_USE_HOST_PTR) has its bytes there while it is
 * absent. A copy out maps it for reading once, which brings that memory up to date; a copy in
 * creates the object. The client's backing of it stays empty.
 *
 * The layer creates the object without the HOST_* flags of the program, because it must read and
 * write what the program promised not to. The layer checks that promise itself.
 */

#include "opencl/context.h"
#include "opencl/layer.h"
#include "opencl/proxy.h"

/* Whether the bytes of @root are in the program's own memory. */
static inline bool slu_real_is_in_host(const struct slu_proxy *root)
{
	return root->flags & CL_MEM_USE_HOST_PTR;
}

/* The object of a root, with contents from @initial where that is not NULL. */
cl_mem slu_real_make(const struct slu_proxy *root, const void *initial, cl_int *ret_r);

/* The object of a child, on @parent, the driver's object of its parent. */
cl_mem slu_real_make_child(const struct slu_proxy *child, cl_mem parent, cl_int *ret_r);

/*
 * Makes the driver allocate the memory of a new object on @device, by writing a byte or a pixel of
 * @initial or of zeros.
 */
cl_int slu_real_touch(const struct slu_proxy *root, const struct slu_device *device, cl_mem real,
		      const void *initial);

/*
 * Starts copying @bytes at @offset on @device from or to @host. *ret_event is NULL where nothing is
 * to be waited for.
 */
cl_int slu_real_copy(const struct slu_proxy *root, const struct slu_device *device,
		     enum slu_direction direction, uint64_t offset, void *host, uint64_t bytes,
		     cl_event *ret_event);
