/* SPDX-License-Identifier: Apache-2.0 */

#include "place/foresight.h"

#include "base/util.h"

#define EXPECTED_MAX 64 /* launches: what has not come by then was given up */

/* A round that nobody has confirmed for the length of two is over. */
static void note_round(struct slu_foresight *f, uint64_t gap)
{
	if (gap < f->round && f->now - f->round_now <= 2 * f->round)
		return;
	f->round = gap;
	f->round_now = f->now;
}

/* Two objects of one command, or two names of one object, are one naming. */
void slu_foresight_named(struct slu_foresight *f, struct slu_unit *u)
{
	if (u->was_named && f->now > u->last_use) {
		u->gaps[1] = u->gaps[0];
		u->gaps[0] = f->now - u->last_use;
		note_round(f, u->gaps[0]);
	}
	u->was_named = true;
	u->last_use = f->now;
	u->expected = 0;
}

void slu_foresight_expect(const struct slu_foresight *f, struct slu_unit *u)
{
	u->expected = f->now + 1;
}

bool slu_foresight_is_expected(const struct slu_foresight *f, const struct slu_unit *u)
{
	return u->expected && f->now < u->expected + EXPECTED_MAX;
}

uint64_t slu_foresight_guess(const struct slu_foresight *f, const struct slu_unit *u)
{
	uint64_t gap = SLU_MAX(u->gaps[0], u->gaps[1]), next;

	if (!gap && u->was_named)
		gap = f->round;
	if (!gap)
		return SLU_FORESIGHT_UNKNOWN;
	next = u->last_use + gap;
	if (next > f->now)
		return next - f->now;
	return f->now - next <= gap ? 1 : SLU_FORESIGHT_UNKNOWN;
}

uint64_t slu_foresight_distance(const struct slu_foresight *f, const struct slu_unit *u)
{
	if (slu_foresight_is_expected(f, u))
		return 1;
	return f->is_blind ? SLU_FORESIGHT_UNKNOWN : slu_foresight_guess(f, u);
}
