/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What two directions of one bus take from each other. Beside the other one a direction is slower
 * than alone, but when work is booked nobody knows yet what the other direction will do at that
 * time: its work may be booked later, for a time that was believed to be ours. What was booked too
 * fast then is owed, and the direction's next work takes so much longer. So both directions come
 * out right whoever is late, but for the last piece of each.
 */

#include <stdint.h>

struct dev_bus_rate {
	uint64_t alone; /* bytes a second; 0: no time at all */
	uint64_t both;
};

/* Of one direction; all zeroes is a direction that did nothing yet. */
struct dev_bus_direction {
	uint64_t alone_ns;   /* so much of the end of its timeline was booked as if it were alone */
	uint64_t owed_bytes; /* that were booked faster than they can have gone */
};

/*
 * How long @bytes take that begin at @begin_ns, not before the direction's timeline ends at
 * @own_end_ns, when the other's ends at @other_end_ns; and what follows from it for both.
 */
uint64_t dev_bus_book(struct dev_bus_direction *own, const struct dev_bus_rate *own_rate,
		      uint64_t own_end_ns, struct dev_bus_direction *other,
		      const struct dev_bus_rate *other_rate, uint64_t other_end_ns,
		      uint64_t begin_ns, uint64_t bytes);
