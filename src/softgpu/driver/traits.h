/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a kernel needs and what a program may wish for it: the attributes of functions and of
 * context-free kernels alike.
 */

#include "cuabi/cuda-min.h"
#include "ptx/ptx.h"

#define SLU_TRAITS_SHARED_BYTES	    49152 /* of a block that asks for no more */
#define SLU_TRAITS_SHARED_BYTES_MAX 65536 /* of a multiprocessor, and of a block that asks */

struct slu_wishes {
	int dynamic_shared_bytes; /* 0: nothing was asked for */
	int carveout;		  /* -1: as the driver likes */
};

/* How many threads a block of @kernel may have. */
int slu_traits_max_threads(const struct slu_ptx_function *kernel);

CUresult slu_traits_get(const struct slu_ptx_module *ptx, const struct slu_ptx_function *kernel,
			const struct slu_wishes *wishes, CUfunction_attribute which,
			int *ret_value);
CUresult slu_traits_set(const struct slu_ptx_function *kernel, struct slu_wishes *wishes,
			CUfunction_attribute which, int value);
