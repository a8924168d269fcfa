/* SPDX-License-Identifier: Apache-2.0 */

/* The claims of abi.def as our own headers make them. */

#include "cuabi/abi.h"
#include "cudart/cudart-min.h"

#define DEV_RTABI_SAME(theirs, ours) { "value " #theirs, (long long)(ours) },
#define DEV_RTABI_FIELD_AS(type, theirs, ours) \
	{ "field " #type "." #theirs, (long long)offsetof(type, ours) },

const struct slu_abi_claim slu_abi_ours[] = {
#include "cudart/abi-rows.def"
	{ NULL, 0 },
};
