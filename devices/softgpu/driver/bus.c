/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/bus.h"

#include "base/clock.h"
#include "base/util.h"

static uint64_t time_of(uint64_t bytes, uint64_t rate)
{
	return rate ? (uint64_t)((__uint128_t)bytes * SLU_NS_PER_S / rate) : 0;
}

static uint64_t bytes_in(uint64_t ns, uint64_t rate)
{
	return (uint64_t)((__uint128_t)ns * rate / SLU_NS_PER_S);
}

/* The other's work between these times turns out not to be alone. */
static void bus_disturb(struct dev_bus_direction *other, const struct dev_bus_rate *rate,
			uint64_t other_end_ns, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t alone_from_ns = other_end_ns - other->alone_ns;

	begin_ns = SLU_MAX(begin_ns, alone_from_ns);
	end_ns = SLU_MIN(end_ns, other_end_ns);
	if (begin_ns >= end_ns)
		return;
	other->owed_bytes += bytes_in(end_ns - begin_ns, slu_sub_floor(rate->alone, rate->both));
	other->alone_ns = other_end_ns - end_ns;
}

uint64_t dev_bus_book(struct dev_bus_direction *own, const struct dev_bus_rate *own_rate,
		      uint64_t own_end_ns, struct dev_bus_direction *other,
		      const struct dev_bus_rate *other_rate, uint64_t other_end_ns,
		      uint64_t begin_ns, uint64_t bytes)
{
	uint64_t beside_ns, alone_ns, beside_bytes;

	/* what is owed went over the bus while nothing was booked, if there was such a time */
	bytes += slu_sub_floor(own->owed_bytes, bytes_in(begin_ns - own_end_ns, own_rate->both));
	own->owed_bytes = 0;
	beside_ns = SLU_MIN(slu_sub_floor(other_end_ns, begin_ns), time_of(bytes, own_rate->both));
	beside_bytes = SLU_MIN(bytes, bytes_in(beside_ns, own_rate->both));
	alone_ns = beside_ns < slu_sub_floor(other_end_ns, begin_ns)
			   ? 0
			   : time_of(bytes - beside_bytes, own_rate->alone);
	bus_disturb(other, other_rate, other_end_ns, begin_ns, begin_ns + beside_ns);
	/* the end of the timeline grows, or begins anew */
	own->alone_ns = (beside_ns || begin_ns != own_end_ns ? 0 : own->alone_ns) + alone_ns;
	return beside_ns + alone_ns;
}
