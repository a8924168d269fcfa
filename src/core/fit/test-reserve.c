/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The reserve of a device, by script: 90 of 100 MiB may be handed out. If outsiders have taken it,
 * they hold 90 MiB, so that 10 MiB are free and none may be handed out.
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

/* Answers every LIMIT by holding so much, until there is none to answer. */
static void hold(struct script *s, uint64_t client, uint64_t mib)
{
	script_sums(s, client, 0, mib);
	for (unsigned i = 0; i < 8 && script_account(s, client, 0).is_pending; i++)
		script_sums(s, client, 0, mib);
	assert_false(script_account(s, client, 0).is_pending);
}

/* A LAUNCH program runs commands of @min MiB in a window of 8; then outsiders come. */
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
	/* one unit left, then the other; the next ones wait because the driver frees late */
	for (uint64_t n_remaining = 2; n_remaining > 0; n_remaining--) {
		script_sums(&s, 1, 0, 4 * (n_remaining - 1));
		script_pass(&s, 20);
		assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 0);
	}
	script_pass(&s, 60000);
	assert_int_equal(script_limit(&s, 1, 0), 8);
	assert_int_equal(script_estimate(&s, 0), 8);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_bytes_lost_by_a_refusal_come_back_if_needed(void **state)
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

static void test_programs_take_turns_on_what_outsiders_leave(void **state)
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

static void test_the_reserve_yields_only_to_needs(void **state)
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

static void test_a_program_that_needs_more_than_the_device_has_is_denied(void **state)
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

/* A program at rest keeps three of the ten. */
static void test_unmovable_bytes_of_others_count_with_a_need(void **state)
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

/* Both clients obey until no message is new. */
static void obey_both(struct script *s, uint64_t first, uint64_t second)
{
	for (unsigned k = 0; k < 8; k++) {
		script_obey(s, 1, first, true);
		script_obey(s, 2, second, true);
	}
}

static void test_a_program_alone_gets_what_it_needs_of_the_reserve(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 80, true);
	script_obey(&s, 1, 80, true);
	/* its credit for allocations is not part of the reserve */
	assert_true(script_limit(&s, 1, 0) <= USABLE);
	script_want(&s, 1, 0, 99, true);
	script_obey(&s, 1, 99, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_limit(&s, 1, 0), 99);
	assert_int_equal(script_estimate(&s, 0), 99);
	script_end(&s);
}

static void test_others_leave_the_reserve_in_the_turns_that_need_it(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 99, true);
	script_obey(&s, 1, 99, true);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 2, 0, 50, true);
	for (unsigned i = 0; i < 6; i++) {
		script_pass(&s, 100);
		obey_both(&s, 99, 50);
		assert_int_equal(script_state(&s, 2 - i % 2), SLU_CORE_RUNNING);
		assert_int_equal(s.held[2 - i % 2][0], MIB(i % 2 ? 99 : 50));
		assert_true(s.held[1][0] + s.held[2][0] <= MIB(i % 2 ? 100 : USABLE));
	}
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	script_end(&s);
}

static void test_a_program_that_never_fits_is_denied_at_once(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 101, true);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* The program asked for the last bytes of the device itself: no other program could help. */
static void test_a_refusal_of_a_program_alone_is_final(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 90, true);
	script_obey(&s, 1, 90, true);
	script_want(&s, 1, 0, 98, true);
	assert_int_equal(script_limit(&s, 1, 0), 98);
	script_refuse(&s, 1, 90, 8);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_bytes_that_contexts_took_are_not_available(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	slu_core_overhead(s.core, s.now_ns, 0, MIB(4));
	script_join_plain(&s, 1, SLU_MODE_ALL);
	assert_int_equal(script_estimate(&s, 0), USABLE - 4);
	script_want(&s, 1, 0, 96, true);
	script_obey(&s, 1, 96, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_want(&s, 1, 0, 97, true);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* A program in mode MAPPED of 150 MiB is refused at 80: its share is 70 from then on. */
static void test_the_reserve_is_kept_below_the_estimate(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(200);
	script_begin_reserving(&s, &config, USABLE, RESERVE);
	script_join_plain(&s, 1, SLU_MODE_MAPPED);
	script_want(&s, 1, 0, 150, true);
	assert_int_equal(script_limit(&s, 1, 0), USABLE);
	script_refuse(&s, 1, 80, 4);
	assert_int_equal(script_account(&s, 1, 0).goal_bytes, MIB(70));
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* One runs with 60, the other waits with 30; a refusal shows that the device has 80. */
static void test_bytes_at_rest_leave_the_reserve_once(void **state)
{
	struct script s;
	uint64_t least;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 30, true);
	script_obey(&s, 1, 30, true);
	script_idle(&s, 1, 0);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	script_want_working(&s, 2, 60, 60, 200);
	for (unsigned k = 0; k < 4; k++) {
		script_obey(&s, 1, 30, true);
		script_obey(&s, 2, 60, true);
	}
	script_want(&s, 1, 0, 60, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_int_equal(s.held[1][0], MIB(30));
	script_refuse(&s, 2, 50, 4);
	script_obey(&s, 1, 30, true);
	least = s.held[1][0];
	assert_true(s.held[2][0] + least <= MIB(80 - RESERVE));
	/* the estimate rises again, and nothing is fetched ahead because of it */
	for (unsigned i = 0; i < 40; i++) {
		script_pass(&s, 1);
		if (script_account(&s, 1, 0).is_pending)
			script_sums(&s, 1, 0, SLU_MIN(script_limit(&s, 1, 0), 60u));
		assert_true(s.held[1][0] <= least);
	}
	script_end(&s);
}

/* Outsiders come while one program runs with 60 and one rests with 30. */
static void test_bytes_at_rest_leave_for_outsiders(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 30, true);
	script_obey(&s, 1, 30, true);
	script_idle(&s, 1, 0);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 2, 0, 60, true);
	obey_both(&s, 30, 60);
	script_rest(&s, 1, 0, false, 0);
	obey_both(&s, 30, 60);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	assert_int_equal(s.held[1][0], MIB(30));
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(8));
	script_step(&s);
	obey_both(&s, 30, 60);
	assert_int_equal(s.held[1][0], MIB(USABLE - 8 - 60));
	assert_int_equal(s.held[2][0], MIB(60));
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_loses_nothing_by_an_exchange_inside_it),
		cmocka_unit_test(test_bytes_lost_by_a_refusal_come_back_if_needed),
		cmocka_unit_test(test_programs_take_turns_on_what_outsiders_leave),
		cmocka_unit_test(test_the_reserve_yields_only_to_needs),
		cmocka_unit_test(test_a_program_that_needs_more_than_the_device_has_is_denied),
		cmocka_unit_test(test_unmovable_bytes_of_others_count_with_a_need),
		cmocka_unit_test(test_a_program_alone_gets_what_it_needs_of_the_reserve),
		cmocka_unit_test(test_others_leave_the_reserve_in_the_turns_that_need_it),
		cmocka_unit_test(test_a_program_that_never_fits_is_denied_at_once),
		cmocka_unit_test(test_a_refusal_of_a_program_alone_is_final),
		cmocka_unit_test(test_bytes_that_contexts_took_are_not_available),
		cmocka_unit_test(test_the_reserve_is_kept_below_the_estimate),
		cmocka_unit_test(test_bytes_at_rest_leave_the_reserve_once),
		cmocka_unit_test(test_bytes_at_rest_leave_for_outsiders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
