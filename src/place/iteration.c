/* SPDX-License-Identifier: Apache-2.0 */
#include "place/iteration.h"

#include "base/util.h"

/* The point @back before the last one. */
static const struct slu_iteration_point *point_back(const struct slu_iteration *it, uint64_t back)
{
	return &it->points[(it->n_points - 1 - back) % SLU_ITERATION_POINTS];
}

/* How many points must repeat others before a period is believed. */
static uint64_t repeats_needed(const struct slu_iteration *it, unsigned period)
{
	if (it->is_told)
		return 1;
	return SLU_MAX((uint64_t)(SLU_ITERATION_TIMES - 1) * period,
		       (uint64_t)SLU_ITERATION_REPEATED_MIN);
}

static bool period_fits(const struct slu_iteration *it, unsigned period)
{
	uint64_t n = repeats_needed(it, period);

	if (n + period > SLU_MIN(it->n_points, (uint64_t)SLU_ITERATION_POINTS))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (point_back(it, i)->key != point_back(it, i + period)->key)
			return false;
	return true;
}

/* The shortest period that fits, or none. */
static void period_find(struct slu_iteration *it)
{
	for (unsigned p = 1; p <= SLU_ITERATION_PERIOD_MAX; p++) {
		if (!period_fits(it, p))
			continue;
		it->period = p;
		it->n_repeated = repeats_needed(it, p);
		return;
	}
	it->period = 0;
	it->n_repeated = 0;
}

static void point_add(struct slu_iteration *it, uint64_t now_ns, uint64_t key, uint64_t live_bytes)
{
	it->points[it->n_points++ % SLU_ITERATION_POINTS] =
		(struct slu_iteration_point){ key, now_ns, live_bytes };
	if (it->period && point_back(it, it->period)->key == key)
		it->n_repeated++;
	else
		period_find(it);
}

void slu_iteration_meet(struct slu_iteration *it, uint64_t now_ns, uint64_t key,
			uint64_t live_bytes)
{
	if (!it->is_told)
		point_add(it, now_ns, key, live_bytes);
}

void slu_iteration_tell(struct slu_iteration *it, uint64_t now_ns, uint64_t live_bytes)
{
	if (!it->is_told)
		*it = (struct slu_iteration){ .is_told = true };
	point_add(it, now_ns, 0, live_bytes);
}

/* Of points behind which equally much lives it is always the same one. */
static bool point_is_better(const struct slu_iteration_point *a,
			    const struct slu_iteration_point *b)
{
	return a->live_bytes < b->live_bytes || (a->live_bytes == b->live_bytes && a->key < b->key);
}

/* How many points ago the last boundary was. The period must be known. */
static unsigned boundary_back(const struct slu_iteration *it)
{
	unsigned best = 0;

	for (unsigned i = 1; i < it->period; i++)
		if (point_is_better(point_back(it, i), point_back(it, best)))
			best = i;
	return best;
}

bool slu_iteration_is_at_boundary(const struct slu_iteration *it)
{
	return it->period && boundary_back(it) == 0;
}

uint64_t slu_iteration_next_ns(const struct slu_iteration *it)
{
	uint64_t then_ns;

	if (!it->period)
		return SLU_ITERATION_UNKNOWN;
	/* an iteration ago the program was where it is now, and the boundary followed */
	then_ns = point_back(it, it->period)->at_ns;
	return point_back(it, 0)->at_ns + (point_back(it, boundary_back(it))->at_ns - then_ns);
}

uint64_t slu_iteration_persistent_bytes(const struct slu_iteration *it)
{
	return it->period ? point_back(it, boundary_back(it))->live_bytes : SLU_ITERATION_UNKNOWN;
}

uint64_t slu_iteration_period_ns(const struct slu_iteration *it)
{
	return it->period ? point_back(it, 0)->at_ns - point_back(it, it->period)->at_ns : 0;
}

unsigned slu_iteration_confidence(const struct slu_iteration *it)
{
	uint64_t n = it->period ? it->n_repeated / it->period : 0;

	return (unsigned)(100 * n / (n + 2));
}
