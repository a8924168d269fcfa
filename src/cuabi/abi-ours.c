/* SPDX-License-Identifier: Apache-2.0 */

/* The claims of abi.def as our own header makes them. */

#include "cuabi/abi.h"
#include "cuabi/cuda-min.h"

const struct slu_abi_claim slu_abi_ours[] = {
#include "cuabi/abi-rows.def"
	{ NULL, 0 },
};
