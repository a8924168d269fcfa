/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The entry reservation: device memory for the first context of a process. The driver takes memory
 * of the device for each context, some hundreds of MiB on a card. On a device that other programs
 * fill, it refuses a program that would have started alone.
 *
 * If the process has a service context on the device already, headroom.h helps. Before that the
 * daemon does not know the process. So the process joins with a device that has a single unit, the
 * entry reservation, whose "creation" is the refused call. The client waits for the turn, has other
 * programs give way and tries again, as it does for every unit, until the call succeeds or can
 * never succeed. Then the process removes that device again. Refusals teach the daemon what the
 * context takes, as with all memory that drivers hide.
 *
 *   NAMED -> STARTING -> NAMED   [slu_cuda_entry_reserve_make]   the device (device.h), meanwhile
 */

#include "cuda/device.h"

/* A call that makes a context. */
struct slu_cuda_entry_creation {
	CUresult (*call)(const struct slu_cuda_entry_creation *creation);
	CUdevice ordinal;
	bool is_pushed; /* the call makes the context current on its thread */

	/* the program's arguments */
	CUcontext *ret_context;
	void *params;
	int n_params;
	unsigned int flags;
};

/* Makes the call, and again with an entry reservation or headroom if the driver refuses it. */
CUresult slu_cuda_entry_reserve_make(const struct slu_cuda_entry_creation *creation);
