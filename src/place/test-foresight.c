/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the past of a unit tells about its future, and what a program saves by it that goes round
 * through more than its window holds.
 */

#include "lib/test.h"

#include "place/foresight.h"
#include "place/place.h"

static void nothing_is_known_of_who_was_named_once(void **state)
{
	struct slu_unit u = { 0 };

	assert_true(slu_foresight_distance(&u, 5) == SLU_FORESIGHT_UNKNOWN);
	slu_foresight_named(&u, 7);
	assert_true(slu_foresight_distance(&u, 8) == SLU_FORESIGHT_UNKNOWN);
}

static void a_gap_repeats_itself(void **state)
{
	struct slu_unit u = { 0 };

	slu_foresight_named(&u, 10);
	slu_foresight_named(&u, 22);
	assert_int_equal(slu_foresight_distance(&u, 22), 12);
	assert_int_equal(slu_foresight_distance(&u, 30), 4);
	assert_int_equal(slu_foresight_distance(&u, 40), 1); /* overdue: at any moment */
	assert_true(slu_foresight_distance(&u, 47) == SLU_FORESIGHT_UNKNOWN); /* or never */
}

static void of_two_gaps_the_longer_one_counts(void **state)
{
	struct slu_unit u = { 0 };

	slu_foresight_named(&u, 10);
	slu_foresight_named(&u, 11);
	slu_foresight_named(&u, 20);
	slu_foresight_named(&u, 21);
	assert_int_equal(slu_foresight_distance(&u, 21), 9);
}

static void a_command_that_is_known_is_certain(void **state)
{
	struct slu_unit u = { 0 };

	slu_foresight_named(&u, 10);
	slu_foresight_named(&u, 60);
	slu_foresight_expect(&u, 61);
	assert_int_equal(slu_foresight_distance(&u, 61), 1);
	slu_foresight_named(&u, 62);
	assert_int_equal(slu_foresight_distance(&u, 62), 50);
	slu_foresight_expect(&u, 62);
	assert_int_equal(slu_foresight_distance(&u, 70), 1);
	assert_true(slu_foresight_distance(&u, 300) == SLU_FORESIGHT_UNKNOWN); /* given up */
}

enum { UNITS = 24, WINDOW = 16, ROUNDS = 40 };

struct program {
	struct slu_unit units[UNITS];
	struct slu_unit_list list;
	uint64_t now;
	unsigned n_in, n_held;
};

static void start(struct program *p, bool dirty)
{
	memset(p, 0, sizeof(*p));
	TAILQ_INIT(&p->list);
	for (unsigned i = 0; i < UNITS; i++) {
		p->units[i] = (struct slu_unit){ .bytes = 1,
						 .place = SLU_PLACE_RAM,
						 .host_version = 1,
						 .device_version = dirty ? 2 : 1,
						 .working = true };
		TAILQ_INSERT_TAIL(&p->list, &p->units[i], link);
	}
}

/* As a command in front is served: who is missing comes in, somebody leaves for it. */
static void name(struct program *p, unsigned i)
{
	struct slu_unit *u = &p->units[i], *out;

	if (u->place != SLU_PLACE_DEVICE) {
		u->wanted = true;
		if (p->n_held == WINDOW) {
			out = slu_place_next_out(&p->list, SLU_PLACE_DEVICE, 1, p->now);
			assert_non_null(out);
			out->place = SLU_PLACE_RAM;
			p->n_held--;
		}
		u->place = SLU_PLACE_DEVICE;
		u->wanted = false;
		p->n_held++;
		p->n_in++;
	}
	slu_foresight_named(u, ++p->now);
}

/*
 * The optimum exchanges UNITS - WINDOW and one in a round. We keep the unit of the last command,
 * which may still run, and are not wiser before the second round: two more and two rounds.
 */
static void going_round_exchanges_only_what_does_not_fit(void **state)
{
	for (unsigned dirty = 0; dirty < 2; dirty++) {
		struct program p;

		start(&p, dirty);
		for (unsigned i = 0; i < ROUNDS * UNITS; i++)
			name(&p, i % UNITS);
		printf("# %u units come in, in %u rounds of %u through a window of %u\n", p.n_in,
		       ROUNDS, UNITS, WINDOW);
		assert_in_range(p.n_in, ROUNDS * (UNITS - WINDOW),
				ROUNDS * (UNITS - WINDOW + 2) + 2 * UNITS);
	}
}

static void what_is_in_use_all_the_time_stays(void **state)
{
	struct program p;
	unsigned n_before;

	start(&p, false);
	for (unsigned i = 0; i < ROUNDS * UNITS; i++) {
		name(&p, 1 + i % (UNITS - 1));
		n_before = p.n_in;
		name(&p, 0);
		if (i >= UNITS)
			assert_int_equal(p.n_in, n_before);
	}
}

/* Nothing repeats itself: no worse than twice what chance allows. */
static void a_program_without_order_loses_little(void **state)
{
	uint64_t random = slu_test_seed(7);
	unsigned n = ROUNDS * UNITS;
	struct program p;

	start(&p, false);
	for (unsigned i = 0; i < n; i++)
		name(&p, (unsigned)(slu_test_random(&random) % UNITS));
	printf("# %u of %u came in\n", p.n_in, n);
	assert_in_range(p.n_in, 1, 2 * n * (UNITS - WINDOW) / UNITS);
}

static void who_comes_ahead_sends_only_later_ones_away(void **state)
{
	struct slu_unit *coming;
	struct program p;

	start(&p, false);
	for (unsigned i = 0; i < 3 * UNITS; i++)
		name(&p, i % UNITS);
	coming = slu_place_next_ahead(&p.list, 1, p.now);
	assert_non_null(coming);
	for (struct slu_unit *out;
	     (out = slu_place_next_out_for(&p.list, coming, 1, p.now)) != NULL;) {
		assert_true(slu_foresight_distance(out, p.now) >
			    slu_foresight_distance(coming, p.now));
		assert_true(out->last_use != p.now);
		out->place = SLU_PLACE_RAM;
	}
	/* what is left is needed sooner, or may still be in use */
	assert_null(slu_place_next_out_for(&p.list, coming, 1, p.now));
	/* not even one, where all that may leave is too little */
	start(&p, false);
	for (unsigned i = 0; i < 3 * UNITS; i++)
		name(&p, i % UNITS);
	coming = slu_place_next_ahead(&p.list, 1, p.now);
	assert_null(slu_place_next_out_for(&p.list, coming, WINDOW + 1, p.now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_of_who_was_named_once),
		cmocka_unit_test(a_gap_repeats_itself),
		cmocka_unit_test(of_two_gaps_the_longer_one_counts),
		cmocka_unit_test(a_command_that_is_known_is_certain),
		cmocka_unit_test(going_round_exchanges_only_what_does_not_fit),
		cmocka_unit_test(what_is_in_use_all_the_time_stays),
		cmocka_unit_test(a_program_without_order_loses_little),
		cmocka_unit_test(who_comes_ahead_sends_only_later_ones_away),
	};

	return cmocka_run_group_tests_name("foresight", tests, NULL, NULL);
}
