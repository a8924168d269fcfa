/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of claims in abi.def as numbers; see there. */

#include <stddef.h>

struct slu_abi_claim {
	const char *what; /* "size CUuuid", "field CUmemLocation.id", "value CUDA_SUCCESS" */
	long long number;
};

/* As our header has it, and as the toolkit's has it. Both end with a NULL name. */
extern const struct slu_abi_claim slu_abi_ours[];
extern const struct slu_abi_claim slu_abi_toolkit[];
