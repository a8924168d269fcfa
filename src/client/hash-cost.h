/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a digest on a device pays: it does where it takes less time than the copy that it may
 * save, as both were measured there. As long as one of them is unknown it is tried, and now and
 * then in spite of the measurement, which may have been disturbed. Pure; the caller has a lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/speed.h"

struct slu_hash_cost {
	struct slu_speed hash_speed; /* the device's own time for a digest */
	struct slu_speed copy_speed; /* of copies out of the device */
	unsigned n_too_slow;	     /* asked so often while the copy seemed faster */
};

bool slu_hash_cost_is_worth_it(struct slu_hash_cost *cost, uint64_t bytes);
