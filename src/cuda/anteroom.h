/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Room for contexts. The driver takes memory of the device for each, on a card some hundreds of
 * MiB; beside others who fill the device it refuses a program that would have started alone. Where
 * the process has a service context on the device already, headroom.h helps. Its first context it
 * makes before that, so before the daemon knows of it. Then the process joins with an *anteroom*: a
 * device with one unit, whose "creation" is the call that was refused. The client waits for the
 * turn, has others give way and tries again, as it does for every unit, until it works or never
 * will; then the anteroom goes. What the context takes is learned of by refusals, as all that
 * drivers hide.
 *
 *   NAMED -> STARTING -> NAMED   [slu_cuda_context_make]   of the device (device.h), meanwhile
 */

#include "cuda/device.h"

struct slu_cuda_creation {
	CUresult (*call)(const struct slu_cuda_creation *creation);
	CUdevice ordinal;
	bool is_pushed; /* the call makes the context current on the thread that makes it */

	/* what the program said */
	CUcontext *ret_context;
	void *params;
	int n_params;
	unsigned int flags;
};

/* Makes the call, and again with headroom if the driver has no memory for it. */
CUresult slu_cuda_context_make(const struct slu_cuda_creation *creation);
