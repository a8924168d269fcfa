/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The claims of abi.def as a toolkit's headers make them; compiled only where one is found. Our
 * prototypes are included after the toolkit's, so a difference does not compile.
 */

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#define DEV_CUDART_TYPES_FROM_TOOLKIT
#include "cuabi/abi.h"
#include "cudart/cudart-calls.h"

#define DEV_RTABI_SAME(theirs, ours) { "value " #theirs, (long long)(theirs) },
#define DEV_RTABI_FIELD_AS(type, theirs, ours) \
	{ "field " #type "." #theirs, (long long)offsetof(type, theirs) },

const struct slu_abi_claim slu_abi_toolkit[] = {
#include "cudart/abi-rows.def"
	{ NULL, 0 },
};
