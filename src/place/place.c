/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The order of leaving is: units that no waiting command names, units outside the working set, the
 * unit needed last, clean before dirty, least recently used, the order of the list. A dirty unit
 * crosses the bus twice and a clean one once, so a dirty one counts as needed in half the time. A
 * unit whose commands were just seen to run could leave only after them. It counts as needed a bit
 * sooner, so that another one that is nearly as good leaves, and its move overlaps with what runs.
 *
 * Taking units in that order until the shortfall is reached can take some for nothing: the last one
 * may be large enough to make earlier ones superfluous. So the end of the set is planned as a
 * whole:
 *
 *   taken:   the first units in order whose bytes reach the shortfall; surplus is what they
 *            exceed it by
 *   kept:    from the last one in order backwards, each unit that fits into the surplus stays
 *            where it is, and the surplus shrinks by it
 *
 * The remaining set has no superfluous unit, and its surplus is less than its smallest unit. Its
 * first unit goes now. The next call sees the same units without this one and a shortfall that is
 * smaller by it, thus the same surplus, and finds the same set: the plan needs no memory.
 *
 * If nothing tells units apart (none is asked for, in the working set, or foreseen to be needed:
 * all units in the modes ALL and MAPPED), the set that exceeds the shortfall by least leaves: from
 * the largest to the smallest, each unit that is smaller than the missing bytes is taken, and each
 * other one would end the set; the best of these ends is chosen. The unit taken first leaves first,
 * so the next call finds the same set here as well. Among units of one size, and if the clean ones
 * are enough and cost less, the order above counts.
 *
 * Far from the end (more than FAR units of the largest size missing) the plan could only differ in
 * units at its end, and the first in order is taken without sorting: a switch of thousands of
 * units must not spend its time here.
 */

#include <stdlib.h>

#include "base/util.h"
#include "place/place.h"

#define FAR	      8
#define RUNNING_PARTS 16

bool slu_place_may_leave(const struct slu_unit *u)
{
	return slu_unit_is_present(u) && u->frozen == SLU_FROZEN_NO && u->n_named == 0 &&
	       !u->blocked && u->shift == SLU_SHIFT_NO;
}

static bool unit_is_running(const struct slu_unit *u, const struct slu_foresight *f)
{
	return u->ran_at == f->now + 1;
}

/* The launches until the unit is needed, weighed by the cost of its leaving. */
static uint64_t unit_next_need(const struct slu_unit *u, const struct slu_foresight *f)
{
	uint64_t distance = slu_foresight_distance(f, u);

	if (distance == SLU_FORESIGHT_UNKNOWN)
		return distance;
	distance *= slu_unit_is_clean(u) ? 2 * RUNNING_PARTS : RUNNING_PARTS;
	return unit_is_running(u, f) ? distance - distance / RUNNING_PARTS : distance;
}

/* Whether a command or a driver call waits for it. */
static bool unit_is_asked_for(const struct slu_unit *u)
{
	return u->wanted || u->device_only;
}

/* Whether @a leaves before @b. */
static bool unit_leaves_before(const struct slu_unit *a, const struct slu_unit *b,
			       const struct slu_foresight *f)
{
	uint64_t x, y;

	if (unit_is_asked_for(a) != unit_is_asked_for(b))
		return unit_is_asked_for(b);
	if (a->working != b->working)
		return b->working;
	x = unit_next_need(a, f);
	y = unit_next_need(b, f);
	if (x != y)
		return x > y;
	if (slu_unit_is_clean(a) != slu_unit_is_clean(b))
		return slu_unit_is_clean(a);
	return a->last_use < b->last_use;
}

struct candidate {
	struct slu_unit *unit;
	size_t index; /* in the list: keeps the sort stable */
	const struct slu_foresight *f;
};

static int unit_compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (unit_leaves_before(x->unit, y->unit, x->f))
		return -1;
	if (unit_leaves_before(y->unit, x->unit, x->f))
		return 1;
	return x->index < y->index ? -1 : 1;
}

/*
 * The candidates: units in @from; for @coming, units that are at rest, needed later, and nearly as
 * good as the best one, which may be in use.
 */
struct question {
	enum slu_place from;
	const struct slu_unit *coming; /* NULL: any unit */
	uint64_t least_need;	       /* for @coming */
	const struct slu_foresight *f;
};

static bool unit_is_candidate(const struct slu_unit *u, const struct question *q)
{
	if (u->place != q->from || !slu_place_may_leave(u))
		return false;
	if (!q->coming)
		return true;
	return !u->wanted && !u->ahead && u->last_use != q->f->now && !unit_is_running(u, q->f) &&
	       unit_next_need(u, q->f) >= q->least_need &&
	       slu_foresight_distance(q->f, u) > slu_foresight_distance(q->f, q->coming);
}

/* The first unit of the plan in the head comment; @sorted holds @n units in order of leaving. */
static struct slu_unit *plan_first(const struct candidate *sorted, size_t n,
				   uint64_t shortfall_bytes)
{
	struct slu_unit *first = NULL;
	uint64_t taken = 0, surplus;
	size_t n_taken = 0;

	while (n_taken < n && taken < shortfall_bytes)
		taken += sorted[n_taken++].unit->bytes;
	surplus = slu_sub_floor(taken, shortfall_bytes);

	for (size_t i = n_taken; i-- > 0;) {
		struct slu_unit *u = sorted[i].unit;

		if (u->bytes <= surplus)
			surplus -= u->bytes;
		else
			first = u;
	}
	return first;
}

static bool unit_is_plain(const struct slu_unit *u, const struct slu_foresight *f)
{
	return !unit_is_asked_for(u) && !u->working &&
	       unit_next_need(u, f) == SLU_FORESIGHT_UNKNOWN;
}

static int unit_compare_sizes(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->unit->bytes != y->unit->bytes)
		return x->unit->bytes > y->unit->bytes ? -1 : 1;
	return unit_compare(a, b);
}

/*
 * The first unit of the set that exceeds the shortfall by least; @sorted holds @n units, the
 * largest first. @ret_bytes: of the whole set; UINT64_MAX if all of them are not enough.
 */
static struct slu_unit *plan_fit_first(const struct candidate *sorted, size_t n, bool clean_only,
				       uint64_t shortfall_bytes, uint64_t *ret_bytes)
{
	struct slu_unit *first = NULL, *best = NULL;
	uint64_t taken = 0, best_bytes = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		struct slu_unit *u = sorted[i].unit;

		if (clean_only && !slu_unit_is_clean(u))
			continue;
		if (taken + u->bytes < shortfall_bytes) {
			taken += u->bytes;
			first = first ? first : u;
		} else if (taken + u->bytes < best_bytes) {
			best_bytes = taken + u->bytes;
			best = first ? first : u;
		}
	}
	*ret_bytes = best_bytes;
	return best;
}

/* A dirty unit crosses the bus twice, a clean one once. */
static struct slu_unit *plan_fit(struct candidate *plain, size_t n, uint64_t shortfall_bytes)
{
	uint64_t bytes, clean_bytes;
	struct slu_unit *any, *clean;

	qsort(plain, n, sizeof(*plain), unit_compare_sizes);
	any = plan_fit_first(plain, n, false, shortfall_bytes, &bytes);
	clean = plan_fit_first(plain, n, true, shortfall_bytes, &clean_bytes);
	return clean && clean_bytes / 2 < bytes ? clean : any;
}

/* Whether the units that nothing tells apart are enough; then they leave. */
static bool plan_plain_suffice(const struct candidate *sorted, size_t n, uint64_t shortfall_bytes,
			       size_t *ret_n)
{
	uint64_t bytes = 0;
	size_t n_plain = 0;

	while (n_plain < n && unit_is_plain(sorted[n_plain].unit, sorted[n_plain].f))
		bytes += sorted[n_plain++].unit->bytes;
	*ret_n = n_plain;
	return bytes >= shortfall_bytes;
}

static struct slu_unit *unit_next_out(const struct slu_unit_list *units, const struct question *q,
				      uint64_t shortfall_bytes)
{
	struct slu_unit *u, *best = NULL;
	struct candidate *sorted;
	uint64_t largest = 0, smallest = UINT64_MAX, all = 0;
	size_t n = 0, i = 0, n_plain;

	if (shortfall_bytes == 0)
		return NULL;

	TAILQ_FOREACH (u, units, link) {
		if (!unit_is_candidate(u, q))
			continue;
		if (!best || unit_leaves_before(u, best, q->f))
			best = u;
		largest = SLU_MAX(largest, u->bytes);
		smallest = SLU_MIN(smallest, u->bytes);
		all += u->bytes;
		n++;
	}

	if (q->coming && all < shortfall_bytes)
		return NULL;
	if (!best || shortfall_bytes / FAR > largest)
		return best;
	/*
	 * a unit of the largest size cannot become superfluous, nor one that is large enough alone
	 */
	if (!unit_is_plain(best, q->f) &&
	    (best->bytes == largest || best->bytes >= shortfall_bytes))
		return best;
	if (smallest == largest)
		return best;

	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return best;
	TAILQ_FOREACH (u, units, link) {
		if (unit_is_candidate(u, q)) {
			sorted[i] = (struct candidate){ u, i, q->f };
			i++;
		}
	}
	qsort(sorted, n, sizeof(*sorted), unit_compare);
	if (plan_plain_suffice(sorted, n, shortfall_bytes, &n_plain))
		best = plan_fit(sorted, n_plain, shortfall_bytes);
	else
		best = plan_first(sorted, n, shortfall_bytes);
	free(sorted);
	return best;
}

struct slu_unit *slu_place_next_out(const struct slu_unit_list *units, enum slu_place from,
				    uint64_t shortfall_bytes, const struct slu_foresight *f)
{
	const struct question q = { .from = from, .f = f };

	return unit_next_out(units, &q, shortfall_bytes);
}

struct slu_unit *slu_place_next_out_for(const struct slu_unit_list *units,
					const struct slu_unit *coming, uint64_t shortfall_bytes,
					const struct slu_foresight *f)
{
	struct question q = { .from = SLU_PLACE_DEVICE, .coming = coming, .f = f };
	const struct slu_unit *u;

	TAILQ_FOREACH (u, units, link)
		if (u->place == SLU_PLACE_DEVICE && slu_place_may_leave(u) && !u->wanted)
			q.least_need = SLU_MAX(q.least_need, unit_next_need(u, f));
	q.least_need -= q.least_need / RUNNING_PARTS;
	return unit_next_out(units, &q, shortfall_bytes);
}

static enum slu_place_in unit_kind(const struct slu_unit *u)
{
	if (unit_is_asked_for(u))
		return SLU_PLACE_IN_WANTED;
	return u->working ? SLU_PLACE_IN_WORKING : SLU_PLACE_IN_ANY;
}

/* Whether @a comes before @b; neither is more urgent than the other. */
static bool unit_comes_before(const struct slu_unit *a, const struct slu_unit *b,
			      const struct slu_foresight *f)
{
	uint64_t x = slu_foresight_distance(f, a), y = slu_foresight_distance(f, b);

	return x != y ? x < y : a->last_use > b->last_use;
}

struct slu_unit *slu_place_next_in(const struct slu_unit_list *units, uint64_t free_bytes,
				   enum slu_place_in which, const struct slu_foresight *f)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (!slu_unit_is_away(u) || u->bytes > free_bytes || unit_kind(u) > which)
			continue;
		if (!best || unit_kind(u) < unit_kind(best) ||
		    (unit_kind(u) == unit_kind(best) && unit_comes_before(u, best, f)))
			best = u;
	}
	return best;
}

/* Units that are due at the same time keep the order of their last naming. */
static bool unit_is_due_before(const struct slu_unit *a, const struct slu_unit *b,
			       const struct slu_foresight *f)
{
	uint64_t x = slu_foresight_distance(f, a), y = slu_foresight_distance(f, b);

	return x != y ? x < y : a->last_use < b->last_use;
}

struct slu_unit *slu_place_next_ahead(const struct slu_unit_list *units, uint64_t certain_bytes,
				      uint64_t guessed_bytes, const struct slu_foresight *f)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (!slu_unit_is_away(u) || !u->working ||
		    u->bytes > (slu_foresight_is_expected(f, u) ? certain_bytes : guessed_bytes) ||
		    slu_foresight_distance(f, u) == SLU_FORESIGHT_UNKNOWN)
			continue;
		if (!best || unit_is_due_before(u, best, f))
			best = u;
	}
	return best;
}

/* The order in which backing goes down: units that cannot leave, units that are away, the least
 * recently used. */
static unsigned unit_down_rank(const struct slu_unit *u)
{
	if (u->frozen != SLU_FROZEN_NO)
		return 0;
	return slu_unit_is_present(u) ? 2 : 1;
}

static bool unit_may_shift(const struct slu_unit *u, bool is_filling)
{
	if (!u->has_backing || u->moving != SLU_MOVING_NO || u->shift != SLU_SHIFT_NO || u->n_named)
		return false;
	return !is_filling || slu_unit_is_present(u);
}

struct slu_unit *slu_place_next_down(const struct slu_unit_list *units, uint64_t free_bytes,
				     bool is_filling)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (u->on_disk || u->pinned || u->bytes > free_bytes ||
		    !unit_may_shift(u, is_filling))
			continue;
		if (!best || unit_down_rank(u) < unit_down_rank(best) ||
		    (unit_down_rank(u) == unit_down_rank(best) && u->last_use < best->last_use))
			best = u;
	}
	return best;
}

struct slu_unit *slu_place_next_up(const struct slu_unit_list *units, uint64_t free_bytes,
				   bool is_filling)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (!u->on_disk || u->bytes > free_bytes || !unit_may_shift(u, is_filling) ||
		    u->frozen != SLU_FROZEN_NO)
			continue;
		/* on the device with a copy on disk the unit can leave without cost */
		if (slu_unit_is_present(u) && u->host_version && slu_unit_is_clean(u))
			continue;
		if (!best || slu_unit_is_present(u) < slu_unit_is_present(best) ||
		    (slu_unit_is_present(u) == slu_unit_is_present(best) &&
		     u->last_use > best->last_use))
			best = u;
	}
	return best;
}

struct slu_unit *slu_place_next_pin(const struct slu_unit_list *units, uint64_t free_bytes)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (u->pinned || u->on_disk || u->device_only || u->bytes > free_bytes ||
		    u->frozen != SLU_FROZEN_NO || u->place == SLU_PLACE_MAPPED ||
		    !unit_may_shift(u, false))
			continue;
		if (!best || u->bytes > best->bytes)
			best = u;
	}
	return best;
}

struct slu_unit *slu_place_next_unpin(const struct slu_unit_list *units)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link)
		if (u->pinned && unit_may_shift(u, false) &&
		    (!best || slu_unit_is_present(u) < slu_unit_is_present(best)))
			best = u;
	return best;
}

struct slu_unit *slu_place_next_map(const struct slu_unit_list *units, uint64_t free_bytes)
{
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (!slu_unit_is_away(u) || u->pinned || u->device_only || u->bytes > free_bytes)
			continue;
		if (!best || u->last_use < best->last_use)
			best = u;
	}
	return best;
}
