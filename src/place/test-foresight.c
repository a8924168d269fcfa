/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the past of a unit tells about its future, and what that saves a program that loops over
 * more than its window holds.
 */

#include "lib/test.h"

#include "place/foresight.h"
#include "place/place.h"

static void named(struct slu_foresight *f, struct slu_unit *u, uint64_t now)
{
	f->now = now;
	slu_foresight_named(f, u);
}

static uint64_t distance(struct slu_foresight *f, const struct slu_unit *u, uint64_t now)
{
	f->now = now;
	return slu_foresight_distance(f, u);
}

static void a_unit_named_once_has_no_prediction(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	assert_true(distance(&f, &u, 5) == SLU_FORESIGHT_UNKNOWN);
	named(&f, &u, 7);
	assert_true(distance(&f, &u, 8) == SLU_FORESIGHT_UNKNOWN);
}

static void a_gap_repeats_itself(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	named(&f, &u, 10);
	named(&f, &u, 22);
	assert_int_equal(distance(&f, &u, 22), 12);
	assert_int_equal(distance(&f, &u, 30), 4);
	assert_int_equal(distance(&f, &u, 35), 1);		    /* overdue: at any moment */
	assert_true(distance(&f, &u, 36) == SLU_FORESIGHT_UNKNOWN); /* or never */
}

static void of_two_gaps_the_longer_one_counts(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	named(&f, &u, 10);
	named(&f, &u, 11);
	named(&f, &u, 20);
	named(&f, &u, 21);
	assert_int_equal(distance(&f, &u, 21), 9);
}

/* Three namings in a row, round after round: the third naming ends the row. */
static void a_row_as_long_as_the_last_one_is_complete(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 3; i++)
			named(&f, &u, 10 + 20 * round + i);
	assert_int_equal(distance(&f, &u, 32), 18);
	named(&f, &u, 50);
	assert_int_equal(distance(&f, &u, 50), 1);
	named(&f, &u, 51);
	assert_int_equal(distance(&f, &u, 51), 1);
	assert_int_equal(distance(&f, &u, 52), 17); /* the row has ended early */
}

/* One short gap between longer ones is not a habit yet. */
static void a_single_short_gap_does_not_count(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	named(&f, &u, 10);
	named(&f, &u, 40);
	named(&f, &u, 44);
	assert_int_equal(distance(&f, &u, 44), 30);
	named(&f, &u, 48);
	assert_int_equal(distance(&f, &u, 48), 4);
}

static void a_unit_that_goes_to_another_device_starts_without_a_past(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	named(&f, &u, 10);
	named(&f, &u, 22);
	slu_foresight_forget(&u);
	f = (struct slu_foresight){ 0 };
	assert_true(distance(&f, &u, 23) == SLU_FORESIGHT_UNKNOWN);
}

/* Ten units are named once; when the first is named again, the gap of all others is known too. */
static void the_first_repeated_unit_predicts_all_others(void **state)
{
	struct slu_unit units[10] = { 0 };
	struct slu_foresight f = { 0 };

	for (unsigned i = 0; i < 10; i++)
		named(&f, &units[i], 1 + i);
	assert_true(distance(&f, &units[5], 10) == SLU_FORESIGHT_UNKNOWN);
	named(&f, &units[0], 11);
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(distance(&f, &units[i], 11), i);
	/*
	 * a short gap of another unit changes nothing; a unit that is never named again is given up
	 */
	named(&f, &units[0], 12);
	assert_int_equal(distance(&f, &units[5], 12), 4);
	assert_true(distance(&f, &units[5], 30) == SLU_FORESIGHT_UNKNOWN);
}

/* A round that does not repeat is forgotten in favour of shorter ones. */
static void a_long_round_is_forgotten(void **state)
{
	struct slu_unit a = { 0 }, b = { 0 }, once = { 0 };
	struct slu_foresight f = { 0 };

	named(&f, &a, 1);
	named(&f, &a, 101);
	for (unsigned i = 0; i < 150; i++)
		named(&f, &b, 102 + 2 * i);
	named(&f, &once, 402);
	assert_int_equal(distance(&f, &once, 402), 2);
}

static void blind_foresight_counts_only_certain_commands(void **state)
{
	struct slu_foresight f = { .is_blind = true };
	struct slu_unit u = { 0 };

	named(&f, &u, 10);
	named(&f, &u, 20);
	assert_true(distance(&f, &u, 21) == SLU_FORESIGHT_UNKNOWN);
	assert_int_equal(slu_foresight_guess(&f, &u), 9);
	slu_foresight_expect(&f, &u);
	assert_int_equal(distance(&f, &u, 21), 1);
}

static void a_command_that_is_known_is_certain(void **state)
{
	struct slu_foresight f = { 0 };
	struct slu_unit u = { 0 };

	named(&f, &u, 10);
	named(&f, &u, 60);
	f.now = 61;
	slu_foresight_expect(&f, &u);
	assert_int_equal(distance(&f, &u, 61), 1);
	named(&f, &u, 62);
	assert_int_equal(distance(&f, &u, 62), 50);
	slu_foresight_expect(&f, &u);
	assert_int_equal(distance(&f, &u, 70), 1);
	assert_true(distance(&f, &u, 300) == SLU_FORESIGHT_UNKNOWN); /* given up */
}

enum { UNITS = 24, WINDOW = 16, ROUNDS = 40 };

struct program {
	struct slu_unit units[UNITS];
	struct slu_unit_list list;
	struct slu_foresight f;
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

/* Serves a command in front: a missing unit comes in, another one leaves for it. */
static void name(struct program *p, unsigned i)
{
	struct slu_unit *u = &p->units[i], *out;

	if (u->place != SLU_PLACE_DEVICE) {
		u->wanted = true;
		if (p->n_held == WINDOW) {
			out = slu_place_next_out(&p->list, SLU_PLACE_DEVICE, 1, &p->f);
			assert_non_null(out);
			out->place = SLU_PLACE_RAM;
			p->n_held--;
		}
		u->place = SLU_PLACE_DEVICE;
		u->wanted = false;
		p->n_held++;
		p->n_in++;
	}
	p->f.now++;
	slu_foresight_named(&p->f, u);
}

/*
 * The optimum exchanges UNITS - WINDOW and a bit in a round. Foresight needs one more round to
 * learn.
 */
static void a_loop_exchanges_only_the_units_that_do_not_fit(void **state)
{
	for (unsigned dirty = 0; dirty < 2; dirty++) {
		struct program p;

		start(&p, dirty);
		for (unsigned i = 0; i < ROUNDS * UNITS; i++)
			name(&p, i % UNITS);
		printf("# %u units come in, in %u rounds of %u through a window of %u\n", p.n_in,
		       ROUNDS, UNITS, WINDOW);
		assert_in_range(p.n_in, ROUNDS * (UNITS - WINDOW),
				ROUNDS * (UNITS - WINDOW + 1) + UNITS);
	}
}

static void a_unit_in_constant_use_stays(void **state)
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

/* Nothing repeats itself: at most twice what chance allows. */
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

static void a_unit_that_comes_ahead_evicts_only_later_ones(void **state)
{
	struct slu_unit *coming;
	struct program p;

	start(&p, false);
	for (unsigned i = 0; i < 3 * UNITS; i++)
		name(&p, i % UNITS);
	coming = slu_place_next_ahead(&p.list, 1, 1, &p.f);
	assert_non_null(coming);
	for (struct slu_unit *out;
	     (out = slu_place_next_out_for(&p.list, coming, 1, &p.f)) != NULL;) {
		assert_true(slu_foresight_distance(&p.f, out) >
			    slu_foresight_distance(&p.f, coming));
		assert_true(out->last_use != p.f.now);
		out->place = SLU_PLACE_RAM;
	}
	/* the remaining units are needed sooner, or may still be in use */
	assert_null(slu_place_next_out_for(&p.list, coming, 1, &p.f));
	/* not even one, if all that may leave is too little */
	start(&p, false);
	for (unsigned i = 0; i < 3 * UNITS; i++)
		name(&p, i % UNITS);
	coming = slu_place_next_ahead(&p.list, 1, 1, &p.f);
	assert_null(slu_place_next_out_for(&p.list, coming, WINDOW + 1, &p.f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_named_once_has_no_prediction),
		cmocka_unit_test(a_gap_repeats_itself),
		cmocka_unit_test(of_two_gaps_the_longer_one_counts),
		cmocka_unit_test(a_row_as_long_as_the_last_one_is_complete),
		cmocka_unit_test(a_single_short_gap_does_not_count),
		cmocka_unit_test(a_unit_that_goes_to_another_device_starts_without_a_past),
		cmocka_unit_test(the_first_repeated_unit_predicts_all_others),
		cmocka_unit_test(a_long_round_is_forgotten),
		cmocka_unit_test(blind_foresight_counts_only_certain_commands),
		cmocka_unit_test(a_command_that_is_known_is_certain),
		cmocka_unit_test(a_loop_exchanges_only_the_units_that_do_not_fit),
		cmocka_unit_test(a_unit_in_constant_use_stays),
		cmocka_unit_test(a_program_without_order_loses_little),
		cmocka_unit_test(a_unit_that_comes_ahead_evicts_only_later_ones),
	};

	return cmocka_run_group_tests_name("foresight", tests, NULL, NULL);
}
