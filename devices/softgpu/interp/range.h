/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an integer of so many bits can hold. */

#include <stdbool.h>
#include <stdint.h>

struct slu_range {
	int64_t min, max;
};

static inline struct slu_range slu_range_of(unsigned bits, bool is_signed)
{
	return is_signed ? (struct slu_range){ -(INT64_C(1) << (bits - 1)),
					       (INT64_C(1) << (bits - 1)) - 1 }
			 : (struct slu_range){ 0, (INT64_C(1) << bits) - 1 };
}

static inline int64_t slu_range_clamp(__int128 x, struct slu_range r)
{
	return x < r.min ? r.min : x > r.max ? r.max : (int64_t)x;
}
