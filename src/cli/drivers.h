/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The CUDA drivers of this machine, in the order in which the shim looks for one (cuda/real.h):
 * SLUICE_CUDA_DRIVER, the folders of LD_LIBRARY_PATH, the loader's cache, the usual folders.
 */

#include <limits.h>
#include <stddef.h>

#include "cli/install.h"

#define SLU_DRIVERS_MAX 16

struct slu_drivers {
	char paths[SLU_DRIVERS_MAX][PATH_MAX]; /* each file once, our own shim is none */
	size_t n;
};

/* Return: to be freed; NULL without memory. */
struct slu_drivers *slu_drivers_find(const struct slu_install *install);
