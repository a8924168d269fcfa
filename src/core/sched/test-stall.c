/* SPDX-License-Identifier: Apache-2.0 */

/* Programs whose copies do not end, on a device of 100; deadlines are 1000 ms. */

#include "core/test-script.h"

/* 1 and 2 need 60 each. 1 has run, and must give up bytes for 2, which has the turn. */
static void begin_owing(struct script *s)
{
	script_begin(s, NULL, 100);
	script_join_plain(s, 1, SLU_MODE_ALL);
	script_join_plain(s, 2, SLU_MODE_ALL);
	script_join_plain(s, 3, SLU_MODE_ALL);
	script_want(s, 1, 0, 60, true);
	script_obey(s, 1, 60, true);
	assert_int_equal(script_state(s, 1), SLU_CORE_RUNNING);
	script_want(s, 2, 0, 60, true);
	script_pass(s, 100);
	script_sums(s, 1, 0, 60);
	script_sums(s, 2, 0, 0);
	script_rest(s, 1, 0, true, 0);
	assert_int_equal(script_state(s, 2), SLU_CORE_FILLING);
	script_sums(s, 1, 0, 60); /* it begins to, but no copy ends */
	script_sums(s, 2, 0, 0);
	assert_int_equal(script_limit(s, 1, 0), 40);
}

/* 1 alone: it has its turn and all its limits, and places 10 of 60. */
static void begin_stalled(struct script *s)
{
	script_begin(s, NULL, 100);
	script_join_plain(s, 1, SLU_MODE_ALL);
	script_join_plain(s, 2, SLU_MODE_ALL);
	script_want(s, 1, 0, 60, true);
	script_sums(s, 1, 0, 10);
	assert_int_equal(script_state(s, 1), SLU_CORE_FILLING);
	script_want(s, 2, 0, 60, true);
	script_pass(s, 1000);
	script_rest(s, 1, 0, true, 0);
	script_sums(s, 1, 0, 10);
}

static void facts(struct script *s, uint64_t client, uint64_t moved_in_mib, uint64_t moved_out_mib)
{
	struct slu_message m = { .facts = { .moved_in_bytes = MIB(moved_in_mib),
					    .moved_out_bytes = MIB(moved_out_mib) } };

	slu_message_stamp(&m, SLU_MSG_FACTS);
	assert_int_equal(slu_core_message(s->core, s->now_ns, client, &m), 0);
	script_step(s);
}

static void test_bytes_that_never_leave_are_a_floor_and_others_run_in_the_rest(void **state)
{
	struct script s;

	(void)state;
	begin_owing(&s);
	script_pass(&s, 1100);
	assert_int_equal(script_state(&s, 2), SLU_CORE_DRAINING);
	script_rest(&s, 2, 0, true, 0);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_non_null(strstr(script_group(&s, 2).reason, "stuck: one has moved nothing for"));
	assert_true(script_group(&s, 1).is_stuck);
	assert_non_null(strstr(script_group(&s, 1).reason, "has moved none for"));
	script_want(&s, 3, 0, 30, true);
	script_sums(&s, 2, 0, 0);
	script_sums(&s, 2, 0, 0);
	script_obey(&s, 3, 30, true);
	assert_int_equal(script_state(&s, 3), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_a_copy_that_ends_after_all_frees_its_bytes(void **state)
{
	struct script s;

	(void)state;
	begin_owing(&s);
	script_pass(&s, 1100);
	script_rest(&s, 2, 0, true, 0);
	script_sums(&s, 1, 0, 40);
	assert_false(script_group(&s, 1).is_stuck);
	/* it has waited longest */
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_sums(&s, 2, 0, 0);
	script_obey(&s, 1, 60, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_a_unit_that_takes_long_to_come_in_is_no_stall(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 60, true);
	script_sums(&s, 1, 0, 60); /* the unit has its memory, and no byte in it */
	for (unsigned i = 1; i < 10; i++) {
		script_pass(&s, 900);
		facts(&s, 1, i, 0);
		assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
		assert_false(script_group(&s, 1).is_stuck);
	}
	script_pass(&s, 1000);
	assert_true(script_group(&s, 1).is_stuck);
	script_end(&s);
}

static void test_a_unit_that_takes_long_to_leave_is_no_stall(void **state)
{
	struct script s;

	(void)state;
	begin_owing(&s);
	for (unsigned i = 1; i < 10; i++) {
		script_pass(&s, 900);
		facts(&s, 1, 0, i);
		assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
		assert_false(script_group(&s, 1).is_stuck);
	}
	script_pass(&s, 1100);
	assert_true(script_group(&s, 1).is_stuck);
	script_end(&s);
}

static void test_a_stalled_fill_is_tried_again_less_and_less_often(void **state)
{
	uint64_t wait_ms = 1000;
	struct script s;

	(void)state;
	begin_stalled(&s);
	assert_true(script_group(&s, 1).is_stuck);
	script_obey(&s, 2, 60, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	slu_core_dead(s.core, s.now_ns, 2);
	script_step(&s);
	for (unsigned i = 0; i < 5; i++, wait_ms *= 2) {
		script_pass(&s, wait_ms - 1);
		assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
		script_pass(&s, 1);
		assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
		script_sums(&s, 1, 0, 10);
		script_pass(&s, 1000);
		script_rest(&s, 1, 0, true, 0);
	}
	script_end(&s);
}

static void test_a_stalled_program_whose_copy_ends_has_its_turn_again(void **state)
{
	struct script s;

	(void)state;
	begin_stalled(&s);
	script_obey(&s, 2, 60, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_non_null(strstr(script_group(&s, 1).reason, "has moved none for"));
	facts(&s, 1, 10, 0);
	assert_false(script_group(&s, 1).is_stuck);
	assert_string_equal(script_group(&s, 1).reason, "for two's turn to end");
	script_end(&s);
}

/* Client 1 holds so much, and some of it cannot leave. */
static void hold(struct script *s, uint64_t held_mib, uint64_t floor_mib)
{
	script_sums_full(s, 1,
			 (struct slu_msg_sums){
				 .seq = s->limits[1][0].limit.seq,
				 .held_bytes = MIB(held_mib),
				 .ceiling_bytes = MIB(held_mib),
				 .floor_bytes = MIB(floor_mib),
			 });
}

static void test_unmovable_memory_beyond_the_limit_is_no_debt(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_pass(&s, 5000);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_want(&s, 1, 0, 20, true);
	hold(&s, 3, 0);
	/* more than any limit gave, and it cannot leave */
	hold(&s, 30, 30);
	assert_false(script_group(&s, 1).is_stuck);
	/* a part could leave, but nobody has asked for it for long */
	hold(&s, 40, 30);
	assert_false(script_group(&s, 1).is_stuck);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_bytes_that_never_leave_are_a_floor_and_others_run_in_the_rest),
		cmocka_unit_test(test_a_copy_that_ends_after_all_frees_its_bytes),
		cmocka_unit_test(test_a_unit_that_takes_long_to_come_in_is_no_stall),
		cmocka_unit_test(test_a_unit_that_takes_long_to_leave_is_no_stall),
		cmocka_unit_test(test_a_stalled_fill_is_tried_again_less_and_less_often),
		cmocka_unit_test(test_a_stalled_program_whose_copy_ends_has_its_turn_again),
		cmocka_unit_test(test_unmovable_memory_beyond_the_limit_is_no_debt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
