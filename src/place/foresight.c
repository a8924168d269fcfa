/* SPDX-License-Identifier: Apache-2.0 */

#include "place/foresight.h"

#include <string.h>

#include "base/util.h"

#define EXPECTED_MAX 64 /* launches: an expected unit that has not come by then is given up */
#define LATE_PARTS   8	/* of its gap: a unit that is later than that has fallen out of use */

/* A round without a confirmation for twice its length is over. */
static void round_note(struct slu_foresight *f, uint64_t gap)
{
	if (gap < f->round && f->now - f->round_now <= 2 * f->round)
		return;
	f->round = gap;
	f->round_now = f->now;
}

static unsigned gap_class(uint64_t launches)
{
	unsigned log2 = launches ? 63 - (unsigned)__builtin_clzll(launches) : 0;

	return SLU_MIN(log2, SLU_GAP_CLASSES - 1u);
}

/* A longer gap ends the row of shorter ones; the length of that row predicts the next one's. */
static void gap_note(struct slu_unit *u, uint64_t launches)
{
	unsigned class = gap_class(launches);
	struct slu_gap *gap = &u->gaps[class];

	for (struct slu_gap *g = u->gaps; g < gap; g++) {
		g->n_before = g->n;
		g->n = 0;
	}
	gap->launches = (uint32_t)SLU_MIN(launches, UINT32_MAX);
	gap->n = (uint16_t)SLU_MIN(gap->n + 1, UINT16_MAX);
}

/* Two objects of one command, or two names of one object, are one naming. */
void slu_foresight_named(struct slu_foresight *f, struct slu_unit *u)
{
	if (u->was_named && f->now > u->last_use) {
		gap_note(u, f->now - u->last_use);
		round_note(f, f->now - u->last_use);
	}
	u->was_named = true;
	u->last_use = f->now;
	u->expected = 0;
}

void slu_foresight_forget(struct slu_unit *u)
{
	memset(u->gaps, 0, sizeof(u->gaps));
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

/* Whether the row of gaps like @g goes on: it is shorter than the last one, or clearly longer. */
static bool round_goes_on(const struct slu_gap *g)
{
	return g->n < g->n_before || g->n > g->n_before + 1;
}

/* Gaps shorter than the time already passed are ruled out; the round is the longest gap. */
uint64_t slu_foresight_guess(const struct slu_foresight *f, const struct slu_unit *u)
{
	uint64_t passed = f->now - u->last_use, longest = f->round;

	if (!u->was_named)
		return SLU_FORESIGHT_UNKNOWN;
	for (unsigned i = gap_class(passed); i < SLU_GAP_CLASSES; i++) {
		const struct slu_gap *g = &u->gaps[i];

		if (g->launches > passed && round_goes_on(g))
			return g->launches - passed;
		longest = SLU_MAX(longest, g->launches);
	}
	if (longest > passed)
		return longest - passed;
	return longest && passed - longest <= longest / LATE_PARTS ? 1 : SLU_FORESIGHT_UNKNOWN;
}

uint64_t slu_foresight_distance(const struct slu_foresight *f, const struct slu_unit *u)
{
	if (slu_foresight_is_expected(f, u))
		return 1;
	return f->is_blind ? SLU_FORESIGHT_UNKNOWN : slu_foresight_guess(f, u);
}
