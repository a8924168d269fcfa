/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an integer of so many bits can hold. */

#include <stdbool.h>
#include <stdint.h>

struct dev_range {
	int64_t min, max;
};

static inline struct dev_range dev_range_of(unsigned bits, bool is_signed)
{
	return is_signed ? (struct dev_range){ -(INT64_C(1) << (bits - 1)),
					       (INT64_C(1) << (bits - 1)) - 1 }
			 : (struct dev_range){ 0, (INT64_C(1) << bits) - 1 };
}

static inline int64_t dev_range_clamp(__int128 x, struct dev_range r)
{
	return x < r.min ? r.min : x > r.max ? r.max : (int64_t)x;
}
