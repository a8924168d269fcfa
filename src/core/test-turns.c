/* SPDX-License-Identifier: Apache-2.0 */
#include "core/test-script.h"

#include "base/util.h"

/* Brings a client of its own group to RUNNING with @all MiB on device 0. */
static void run(struct script *s, uint64_t client, uint64_t all)
{
	script_want(s, client, 0, all, true);
	script_obey(s, client, all, true);
	assert_int_equal(script_state(s, client), SLU_CORE_RUNNING);
}

static void test_a_program_alone_gets_its_turn_and_its_bytes(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	assert_int_equal(script_state(&s, 1), SLU_CORE_IDLE);
	script_want(&s, 1, 0, 40, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	assert_non_null(script_find(&s, 1, SLU_MSG_TURN));
	assert_true(script_limit(&s, 1, 0) >= 40);
	script_obey(&s, 1, 40, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_two_that_fit_run_side_by_side_without_a_close(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 40);
	run(&s, 2, 45);
	script_pass(&s, 10000);
	assert_int_equal(script_count(&s, 1, SLU_MSG_CLOSE), 0);
	assert_int_equal(script_count(&s, 2, SLU_MSG_CLOSE), 0);
	script_end(&s);
}

static void test_two_that_do_not_fit_alternate(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_want(&s, 2, 0, 60, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_string_equal(script_group(&s, 2).reason, "for one's turn to end");
	for (unsigned i = 0; i < 6; i++) {
		uint64_t from = 1 + i % 2, to = 2 - i % 2;

		script_pass(&s, 100);
		assert_int_equal(script_state(&s, from), SLU_CORE_DRAINING);
		script_obey(&s, from, 60, true);
		assert_int_equal(script_state(&s, from), SLU_CORE_WAITING);
		assert_int_equal(script_state(&s, to), SLU_CORE_FILLING);
		for (unsigned j = 0; j < 4; j++) {
			script_obey(&s, from, 60, true);
			script_obey(&s, to, 60, true);
		}
		assert_int_equal(script_state(&s, to), SLU_CORE_RUNNING);
	}
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_alone_gets_its_turn_and_its_bytes),
		cmocka_unit_test(test_two_that_fit_run_side_by_side_without_a_close),
		cmocka_unit_test(test_two_that_do_not_fit_alternate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
