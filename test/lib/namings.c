/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/namings.h"

#include "lib/test.h"
#include "place/place.h"
#include "place/shadow.h"

void slu_namings_deinit(struct slu_namings *n)
{
	free(n->units);
	free(n->ends);
	*n = (struct slu_namings){ 0 };
}

void slu_namings_also(struct slu_namings *n, unsigned unit)
{
	assert_in_range(unit, 0, SLU_NAMINGS_UNITS_MAX - 1);
	if (n->n == n->n_max) {
		n->n_max = n->n_max ? 2 * n->n_max : 1024;
		n->units = realloc(n->units, n->n_max * sizeof(*n->units));
		assert_non_null(n->units);
	}
	n->units[n->n++] = unit;
	n->ends[n->n_commands - 1] = n->n;
}

void slu_namings_add(struct slu_namings *n, unsigned unit)
{
	if (n->n_commands == n->n_commands_max) {
		n->n_commands_max = n->n_commands_max ? 2 * n->n_commands_max : 1024;
		n->ends = realloc(n->ends, n->n_commands_max * sizeof(*n->ends));
		assert_non_null(n->ends);
	}
	n->n_commands++;
	slu_namings_also(n, unit);
}

void slu_namings_add2(struct slu_namings *n, unsigned a, unsigned b)
{
	slu_namings_add(n, a);
	slu_namings_also(n, b);
}

unsigned slu_namings_chance(struct slu_namings *n, unsigned below)
{
	return (unsigned)(slu_test_random(&n->random) % below);
}

/* -- running them ----------------------------------------------------------------------------- */

struct run {
	struct slu_unit units[SLU_NAMINGS_UNITS_MAX];
	size_t next[SLU_NAMINGS_UNITS_MAX]; /* the command that names it next */
	struct slu_unit_list list;
	struct slu_foresight foresight;
	struct slu_shadow shadow;
	unsigned n_held;
};

/* For each naming the command that names its unit again, and for each unit the first one. */
static size_t *find_next(const struct slu_namings *n, size_t *ret_first)
{
	size_t *next = malloc(n->n * sizeof(*next));
	size_t end = n->n;

	assert_non_null(next);
	for (unsigned i = 0; i < SLU_NAMINGS_UNITS_MAX; i++)
		ret_first[i] = n->n_commands;
	for (size_t c = n->n_commands; c-- > 0; end = c ? n->ends[c - 1] : 0) {
		size_t begin = c ? n->ends[c - 1] : 0;

		for (size_t i = begin; i < end; i++)
			next[i] = ret_first[n->units[i]];
		for (size_t i = begin; i < end; i++)
			ret_first[n->units[i]] = c;
	}
	return next;
}

static struct slu_unit *leaves_by_belady(struct run *r)
{
	struct slu_unit *u, *best = NULL;
	size_t most = 0;

	TAILQ_FOREACH (u, &r->list, link) {
		size_t next = r->next[u - r->units];

		if (u->place == SLU_PLACE_DEVICE && !u->wanted && (!best || next > most)) {
			best = u;
			most = next;
		}
	}
	return best;
}

static struct slu_unit *leaves(struct run *r, enum slu_namings_rule rule)
{
	static const struct slu_foresight none = { .now = UINT64_MAX / 2, .is_blind = true };

	if (rule == SLU_NAMINGS_BELADY)
		return leaves_by_belady(r);
	return slu_place_next_out(&r->list, SLU_PLACE_DEVICE, 1,
				  rule == SLU_NAMINGS_LRU ? &none : &r->foresight);
}

static unsigned bring_in(struct run *r, struct slu_unit *u, unsigned window,
			 enum slu_namings_rule rule)
{
	if (u->place == SLU_PLACE_DEVICE)
		return 0;
	if (r->n_held == window) {
		struct slu_unit *out = leaves(r, rule);

		assert_true(out && !out->wanted);
		out->place = SLU_PLACE_RAM;
	} else {
		r->n_held++;
	}
	u->place = SLU_PLACE_DEVICE;
	return u->was_named;
}

/* As a command in front is served: who is missing comes in, somebody leaves for it. */
static unsigned serve(struct run *r, const unsigned *units, const size_t *next, size_t n,
		      unsigned window, enum slu_namings_rule rule)
{
	unsigned n_in = 0;

	for (size_t i = 0; i < n; i++)
		r->units[units[i]].wanted = true;
	for (size_t i = 0; i < n; i++)
		n_in += bring_in(r, &r->units[units[i]], window, rule);
	r->foresight.now++;
	for (size_t i = 0; i < n; i++) {
		struct slu_unit *u = &r->units[units[i]];

		u->wanted = false;
		r->next[units[i]] = next[i];
		slu_foresight_named(&r->foresight, u);
	}
	for (size_t i = 0; i < n; i++)
		slu_shadow_named(&r->shadow, &r->foresight, &r->list, &r->units[units[i]], window);
	if (rule == SLU_NAMINGS_GUESS)
		r->foresight.is_blind = false;
	return n_in;
}

unsigned slu_namings_run(const struct slu_namings *n, unsigned window, enum slu_namings_rule rule)
{
	struct run *r = calloc(1, sizeof(*r));
	unsigned n_in = 0;
	size_t *next;

	assert_non_null(r);
	TAILQ_INIT(&r->list);
	next = find_next(n, r->next);
	for (unsigned i = 0; i < SLU_NAMINGS_UNITS_MAX; i++) {
		r->units[i] = (struct slu_unit){ .bytes = 1, .place = SLU_PLACE_RAM };
		if (r->next[i] < n->n_commands)
			TAILQ_INSERT_TAIL(&r->list, &r->units[i], link);
	}
	for (size_t c = 0, begin = 0; c < n->n_commands; begin = n->ends[c++])
		n_in += serve(r, n->units + begin, next + begin, n->ends[c] - begin, window, rule);
	free(next);
	free(r);
	return n_in;
}
