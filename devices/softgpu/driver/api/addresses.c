/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every public symbol is there. What no other file defines is defined here, weakly, and says that
 * it is not supported; so the list of what is done cannot disagree with the code. This file knows
 * the symbols by name only, their prototypes are in cuda-calls.h.
 */

#include "softgpu/driver/api/addresses.h"

#include "cuabi/cuda-min.h"

#define SLU_CUNAME(symbol, base, version, thread)       \
	CUresult symbol(void);                          \
	__attribute__((__weak__)) CUresult symbol(void) \
	{                                               \
		return CUDA_ERROR_NOT_SUPPORTED;        \
	}
#include "cuabi/names.def"
#undef SLU_CUNAME

void *const dev_addresses[_SLU_CUNAME_MAX] = {
#define SLU_CUNAME(symbol, base, version, thread) (void *)symbol,
#include "cuabi/names.def"
#undef SLU_CUNAME
};
