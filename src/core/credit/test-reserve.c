/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The reserve of a device when outsiders have taken it, by script: of 100 MiB 90 may be handed out,
 * and outsiders hold 90, so that 10 MiB are there and none may be handed out.
 */

#include "core/test-script.h"

#include "base/util.h"

#define USABLE	 90u
#define RESERVE	 10u
#define OUTSIDER 90u

static void begin(struct script *s)
{
	script_begin_reserving(s, NULL, USABLE, RESERVE);
}

static void come(struct script *s)
{
	slu_core_outsiders(s->core, s->now_ns, 0, MIB(OUTSIDER));
	script_step(s);
}

/* Answers every LIMIT with so much held, while there are any. */
static void hold(struct script *s, uint64_t client, uint64_t mib)
{
	script_sums(s, client, 0, mib);
	for (unsigned i = 0; i < 8 && script_account(s, client, 0).is_pending; i++)
		script_sums(s, client, 0, mib);
	assert_false(script_account(s, client, 0).is_pending);
}

/* A LAUNCH program runs commands of @min MiB in a window of 8, and then the outsiders come. */
static void squeeze(struct script *s, uint64_t min)
{
	begin(s);
	script_join_plain(s, 1, SLU_MODE_LAUNCH);
	script_want_working(s, 1, min, 8, 8);
	hold(s, 1, 8);
	script_ready(s, 1, 0);
	assert_int_equal(script_state(s, 1), SLU_CORE_RUNNING);
	script_pass(s, 100);
	come(s);
	hold(s, 1, 8);
	assert_int_equal(script_limit(s, 1, 0), 8);
	script_forget(s);
}

static void test_a_window_loses_nothing_by_an_exchange_inside_it(void **state)
{
	struct script s;

	(void)state;
	squeeze(&s, 4);
	/* one unit has left, then the other; the next ones wait for a driver that frees late */
	for (uint64_t n_left = 2; n_left > 0; n_left--) {
		script_sums(&s, 1, 0, 4 * (n_left - 1));
		script_pass(&s, 20);
		assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 0);
	}
	script_pass(&s, 60000);
	assert_int_equal(script_limit(&s, 1, 0), 8);
	assert_int_equal(script_estimate(&s, 0), 8);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_what_a_refusal_took_comes_back_if_it_is_needed(void **state)
{
	struct script s;

	(void)state;
	squeeze(&s, 8);
	script_refuse(&s, 1, 4, 4);
	hold(&s, 1, 4);
	assert_int_equal(script_estimate(&s, 0), 4);
	script_pass(&s, 1000);
	assert_int_equal(script_limit(&s, 1, 0), 8);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_programs_take_turns_on_what_the_outsiders_left(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	come(&s);
	for (uint64_t client = 1; client <= 2; client++) {
		script_join_plain(&s, client, SLU_MODE_ALL);
		script_want(&s, client, 0, 8, true);
	}
	for (unsigned i = 0; i < 6; i++) {
		uint64_t runs = 1 + i % 2;

		for (unsigned k = 0; k < 8; k++) {
			script_obey(&s, 1, 8, true);
			script_obey(&s, 2, 8, true);
		}
		assert_int_equal(script_state(&s, runs), SLU_CORE_RUNNING);
		assert_int_equal(s.held[runs][0], MIB(8));
		assert_true(script_account(&s, 3 - runs, 0).charge_bytes <= MIB(2));
		script_pass(&s, 100);
	}
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	script_end(&s);
}

static void test_it_yields_to_needs_and_to_nothing_else(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 95, false);
	assert_int_equal(script_estimate(&s, 0), USABLE);
	come(&s);
	assert_int_equal(script_estimate(&s, 0), 0);
	script_want(&s, 1, 0, 6, true);
	script_obey(&s, 1, 6, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_estimate(&s, 0), 6);
	assert_int_equal(script_limit(&s, 1, 0), 6);
	assert_int_equal(slu_core_park(s.core, s.now_ns, 1, true), 0);
	script_step(&s);
	script_obey(&s, 1, 6, true); /* comes to rest */
	script_obey(&s, 1, 0, true);
	assert_int_equal(script_limit(&s, 1, 0), 0);
	assert_int_equal(script_estimate(&s, 0), 0);
	script_end(&s);
}

static void test_who_needs_more_than_is_there_is_told(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	come(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 11, true);
	assert_int_equal(script_estimate(&s, 0), 0);
	script_pass(&s, 4999);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_pass(&s, 1);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* Three of the ten are kept by a program that rests. */
static void test_what_others_cannot_give_up_counts_beside_a_need(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 3, true);
	script_obey(&s, 1, 3, true);
	script_pass(&s, 100);
	come(&s);
	script_idle(&s, 1, 0);
	script_sums(&s, 1, 0, 3);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 2, 0, 7, true);
	script_rest(&s, 1, 0, false, 3);
	assert_int_equal(script_estimate(&s, 0), 10);
	script_obey(&s, 2, 7, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	assert_int_equal(script_account(&s, 1, 0).held_bytes, MIB(3));
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_loses_nothing_by_an_exchange_inside_it),
		cmocka_unit_test(test_what_a_refusal_took_comes_back_if_it_is_needed),
		cmocka_unit_test(test_programs_take_turns_on_what_the_outsiders_left),
		cmocka_unit_test(test_it_yields_to_needs_and_to_nothing_else),
		cmocka_unit_test(test_who_needs_more_than_is_there_is_told),
		cmocka_unit_test(test_what_others_cannot_give_up_counts_beside_a_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
