/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a kernel needs and what a program may wish for it: the attributes of functions and of
 * context-free kernels alike.
 */

#include <stdbool.h>

#include "cuabi/cuda-min.h"
#include "ptx/ptx.h"

struct dev_wishes {
	int dynamic_shared_bytes; /* 0: nothing was asked for */
	int carveout;		  /* -1: as the driver likes */
};

/* How many threads a block of @kernel may have. */
unsigned dev_traits_max_threads(const struct slu_ptx_function *kernel);

/* Whether a block may have this shape, as far as the kernel's own text says. */
bool dev_traits_take_block(const struct slu_ptx_function *kernel, const unsigned block[3]);

CUresult dev_traits_get(const struct slu_ptx_module *ptx, const struct slu_ptx_function *kernel,
			const struct dev_wishes *wishes, CUfunction_attribute which,
			int *ret_value);
CUresult dev_traits_set(const struct slu_ptx_function *kernel, struct dev_wishes *wishes,
			CUfunction_attribute which, int value);
