/* SPDX-License-Identifier: Apache-2.0 */

#include "place/foresight.h"

#include "base/util.h"

#define EXPECTED_MAX 64 /* launches: what has not come by then was given up */

/* Two objects of one command, or two names of one object, are one naming. */
void slu_foresight_named(struct slu_unit *u, uint64_t now)
{
	if (u->last_use && now > u->last_use) {
		u->gaps[1] = u->gaps[0];
		u->gaps[0] = now - u->last_use;
	}
	u->last_use = now;
	u->expected = 0;
}

void slu_foresight_expect(struct slu_unit *u, uint64_t now)
{
	u->expected = now + 1;
}

uint64_t slu_foresight_distance(const struct slu_unit *u, uint64_t now)
{
	uint64_t gap = SLU_MAX(u->gaps[0], u->gaps[1]), next = u->last_use + gap;

	if (u->expected && now < u->expected + EXPECTED_MAX)
		return 1;
	if (!gap)
		return SLU_FORESIGHT_UNKNOWN;
	if (next > now)
		return next - now;
	return now - next <= gap ? 1 : SLU_FORESIGHT_UNKNOWN;
}
