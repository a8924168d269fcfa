/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The claims of abi.def as a toolkit's header makes them; compiled only where one is found. Our
 * prototypes are included after the toolkit's, so a difference does not compile.
 */

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#define SLU_CUABI_TYPES_FROM_TOOLKIT
#include "cuabi/cuda-calls.h"
#include "cuabi/abi.h"

const struct slu_abi_claim slu_abi_toolkit[] = {
#include "cuabi/abi-rows.def"
	{ NULL, 0 },
};
