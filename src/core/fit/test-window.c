/* SPDX-License-Identifier: Apache-2.0 */

/* Windows of mode LAUNCH by script: which fit together, how large they are, what comes ahead. */

#include "core/test-script.h"

#include "base/util.h"

static void test_rule_29_a_launch_window_takes_the_remainder(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_want_min(&s, 1, 20, 300);
	assert_int_equal(script_limit(&s, 1, 0), 100);
	script_end(&s);
}

/* A LAUNCH program that runs and fills its window up to @all MiB. */
static void run_launch(struct script *s, uint64_t client, uint64_t working, uint64_t all)
{
	script_want_working(s, client, 5, working, all);
	for (unsigned i = 0; i < 64 && script_account(s, client, 0).is_pending; i++)
		script_sums(s, client, 0, SLU_MIN(script_limit(s, client, 0), all));
	script_ready(s, client, 0);
	assert_int_equal(script_state(s, client), SLU_CORE_RUNNING);
}

static void test_rule_20_working_sets_that_fit_run_side_by_side(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 64);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	run_launch(&s, 1, 20, 60);
	assert_int_equal(script_account(&s, 1, 0).held_bytes, MIB(60));

	/* the window of the first shrinks while it runs, but not below its working set */
	script_want_working(&s, 2, 5, 30, 60);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	script_pass(&s, 20);
	assert_in_range(script_limit(&s, 1, 0), 20, 34);
	script_sums(&s, 1, 0, script_limit(&s, 1, 0));
	script_sums(&s, 2, 0, script_limit(&s, 2, 0));
	assert_in_range(script_limit(&s, 2, 0), 30, 44);
	assert_int_equal(script_count(&s, 1, SLU_MSG_CLOSE), 0);
	script_pass(&s, 1000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

/* Two of 40 MiB on a device of 64: the first one runs. */
static void begin_with_one_of_two(struct script *s)
{
	script_begin(s, NULL, 64);
	script_join_plain(s, 1, SLU_MODE_LAUNCH);
	script_join_plain(s, 2, SLU_MODE_LAUNCH);
	run_launch(s, 1, 40, 40);
	script_want_working(s, 2, 5, 40, 40);
}

static void test_rule_20_working_sets_that_do_not_fit_take_turns(void **state)
{
	struct script s;

	(void)state;
	begin_with_one_of_two(&s);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	script_pass(&s, 200);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_sums(&s, 1, 0, 40); /* its slack */
	script_rest(&s, 1, 0, true, 0);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	script_pass(&s, 20);

	/* what does not fit next to the running program leaves, the rest stays and waits */
	assert_int_equal(script_limit(&s, 1, 0), 24);
	script_end(&s);
}

static void test_rule_12_a_turn_begins_with_the_goal_of_the_window(void **state)
{
	struct script s;

	(void)state;
	begin_with_one_of_two(&s);
	script_pass(&s, 200);
	script_sums(&s, 1, 0, 40);
	script_rest(&s, 1, 0, true, 0);
	script_pass(&s, 20);
	script_sums(&s, 1, 0, 24);
	run_launch(&s, 2, 40, 40);
	assert_int_equal(script_last_limit(&s, 1)->goal_bytes, MIB(24));

	/* nothing is free yet, but the program need not make do with its present window */
	script_pass(&s, 200);
	script_rest(&s, 2, 0, true, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	assert_int_equal(script_last_limit(&s, 1)->limit_bytes, MIB(24));
	assert_int_equal(script_last_limit(&s, 1)->goal_bytes, MIB(40));
	assert_int_equal(script_last_limit(&s, 1)->pace, SLU_PACE_NOW);

	/* once is enough */
	script_forget(&s);
	script_sums(&s, 1, 0, 24);
	script_step(&s);
	assert_null(script_last_limit(&s, 1));
	script_end(&s);
}

static void test_rule_20_programs_that_no_longer_fit_take_turns(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 64);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	run_launch(&s, 1, 0, 20);
	run_launch(&s, 2, 0, 20);
	script_want_working(&s, 1, 5, 40, 40);
	script_want_working(&s, 2, 5, 40, 40);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_rule_20_a_working_set_above_the_device_gets_all_of_it(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 64);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	run_launch(&s, 1, 200, 300);
	assert_int_equal(script_limit(&s, 1, 0), 64);
	script_want_working(&s, 2, 5, 5, 5);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_rule_28_ahead_brings_in_a_working_set(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 64);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	run_launch(&s, 1, 44, 44);
	script_want_working(&s, 2, 5, 16, 64);
	script_want_working(&s, 2, 5, 30, 64);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_int_equal(script_last_limit(&s, 2)->pace, SLU_PACE_AHEAD);
	script_sums(&s, 2, 0, 12);
	/* next to the running program and its slack */
	assert_int_equal(script_limit(&s, 2, 0), 16);
	script_end(&s);
}

/* A program that could use more makes the estimate rise again after a refusal. */
static void test_rule_16_the_estimate_rises_for_a_window_below_its_working_set(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 64);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	run_launch(&s, 1, 48, 48);
	script_refuse(&s, 1, 8, 4);
	assert_int_equal(script_estimate(&s, 0), 8);
	for (unsigned i = 0; i < 100; i++) {
		script_pass(&s, 250);
		script_sums(&s, 1, 0, SLU_MIN(script_limit(&s, 1, 0), 48u));
	}
	assert_true(script_limit(&s, 1, 0) >= 48);
	script_end(&s);
}

static void test_rule_16_the_estimate_is_forgotten_when_all_have_left(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 64);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	run_launch(&s, 1, 48, 48);
	script_refuse(&s, 1, 8, 4);
	slu_core_dead(s.core, s.now_ns, 1);
	script_step(&s);
	assert_true(script_estimate(&s, 0) < 64);
	slu_core_dead(s.core, s.now_ns, 2);
	script_step(&s);
	assert_int_equal(script_estimate(&s, 0), 64);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_29_a_launch_window_takes_the_remainder),
		cmocka_unit_test(test_rule_20_working_sets_that_fit_run_side_by_side),
		cmocka_unit_test(test_rule_20_working_sets_that_do_not_fit_take_turns),
		cmocka_unit_test(test_rule_12_a_turn_begins_with_the_goal_of_the_window),
		cmocka_unit_test(test_rule_20_programs_that_no_longer_fit_take_turns),
		cmocka_unit_test(test_rule_20_a_working_set_above_the_device_gets_all_of_it),
		cmocka_unit_test(test_rule_28_ahead_brings_in_a_working_set),
		cmocka_unit_test(
			test_rule_16_the_estimate_rises_for_a_window_below_its_working_set),
		cmocka_unit_test(test_rule_16_the_estimate_is_forgotten_when_all_have_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
