/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The devices that the client manages: one per physical device, whatever contexts and sub-devices
 * the program makes of it. A device is added with the first object or queue on it, never before, so
 * programs that only look (clinfo) start no thread.
 *
 *   (none) -> ADDING  [slu_device_get]  one thread asks the driver and adds it to the client
 *   ADDING -> KNOWN   [slu_device_get]  constant from here on; `client` NULL: the client refused,
 *                                       everything on it passes through
 *
 * Devices stay until the process ends.
 */

#include <stdatomic.h>

#include "client/client.h"
#include "opencl/layer.h"
#include "client/hash-cost.h"

enum slu_device_state {
	SLU_DEVICE_NONE,
	SLU_DEVICE_ADDING,
	SLU_DEVICE_KNOWN,
};

struct slu_device {
	cl_device_id handle;		  /* the root device */
	enum slu_device_state state;	  /* guarded by the layer's lock */
	struct slu_client_device *client; /* constant once KNOWN */
	/* Drivers fail at the creation of an object, or only at its first use. Until the driver
	 * has refused a creation the layer does not know which, and proves new memory by touching
	 * it. Without a daemon there is nothing to prove: true from the start. */
	_Atomic bool is_eager;

	unsigned index;		 /* of its gate; constant once KNOWN */
	_Atomic bool is_managed; /* others may wait for the device: work in flight is bounded */
	/* the fast path (fastpath.h) */
	_Atomic uint64_t lease;	  /* the present number; never 0 */
	_Atomic uint64_t aged_ns; /* when it last changed */
	_Atomic bool is_crowded;  /* each launch is reported to the client */
	_Atomic uint64_t n_fast;  /* launches not reported to the client yet */

	/* of comparing (compare.c); guarded by the layer's lock */
	struct slu_hash_cost hash_cost;
};

/* The device behind @handle, sub-devices by their root; NULL if there is none or memory is out. */
struct slu_device *slu_device_get(cl_device_id handle);

/* Whether this process was started to be managed. */
bool slu_device_expects_manager(void);

/*
 * What CL_DEVICE_MAX_MEM_ALLOC_SIZE says. Where the device is shared, a quarter of it, or the
 * specification's minimum if that is more: programs make arenas of that size, and an arena is one
 * unit, which comes as a whole for whatever part of it a command names. Larger objects are made
 * all the same if the driver makes them. Return: CL_SUCCESS, or what the driver said.
 */
cl_int slu_device_ask_max_alloc(cl_device_id handle, cl_ulong *ret_bytes);

/* @device may be NULL. */
static inline bool slu_device_is_managed(struct slu_device *device)
{
	return device && atomic_load_explicit(&device->is_managed, memory_order_relaxed);
}

/* The client calls these to create, copy and drain objects; data is the struct slu_device. */
extern const struct slu_backend slu_device_backend;
