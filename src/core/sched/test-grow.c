/* SPDX-License-Identifier: Apache-2.0 */

/* Programs that take unmovable memory, one MiB after the other, on a device of 100. */

#include "core/test-script.h"

/* The program has its turn and has taken @mib so far, all unmovable. */
static void grow(struct script *s, uint64_t client, uint64_t mib)
{
	script_want(s, client, 0, mib, true);
	script_sums(s, client, 0, mib);
	if (script_state(s, client) == SLU_CORE_FILLING)
		script_ready(s, client, 0);
	script_freeze(s, client, mib);
}

static void begin(struct script *s, unsigned n)
{
	struct slu_core_config config;

	script_config(&config);
	script_begin(s, &config, 100);
	for (uint64_t i = 1; i <= n; i++) {
		script_join_plain(s, i, SLU_MODE_ALL);
		grow(s, i, 1);
	}
}

/* Three programs that have 8 each and go on growing: 2 is the first to have 10. */
static void begin_growing(struct script *s)
{
	begin(s, 3);
	for (uint64_t i = 1; i <= 3; i++)
		grow(s, i, 8);
	grow(s, 2, 10);
	script_rest(s, 1, 0, true, 8);
	script_rest(s, 3, 0, true, 8);
}

static void test_all_grow_while_little_is_unmovable(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 3);
	for (uint64_t mib = 2; mib <= 8; mib++)
		for (uint64_t i = 1; i <= 3; i++)
			grow(&s, i, mib);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(script_state(&s, i), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_one_grows_and_the_others_wait_at_rest(void **state)
{
	struct script s;

	(void)state;
	begin_growing(&s);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_int_equal(script_state(&s, 3), SLU_CORE_WAITING);
	assert_string_equal(script_group(&s, 1).reason,
			    "behind two: both take memory that cannot move, one at a time");
	/* slices do not count between them */
	for (uint64_t mib = 11; mib < 80; mib++) {
		script_pass(&s, 100);
		grow(&s, 2, mib);
	}
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	assert_int_equal(script_count(&s, 2, SLU_MSG_CLOSE), 0);
	/* it ends, and the next one grows alone */
	slu_core_dead(s.core, s.now_ns, 2);
	script_step(&s);
	grow(&s, 1, 20);
	grow(&s, 3, 9);
	assert_true((script_state(&s, 1) == SLU_CORE_RUNNING) !=
		    (script_state(&s, 3) == SLU_CORE_RUNNING));
	script_end(&s);
}

static void test_a_program_that_does_not_grow_is_not_delayed(void **state)
{
	struct script s;

	(void)state;
	begin_growing(&s);
	script_join_plain(&s, 4, SLU_MODE_ALL);
	script_want(&s, 4, 0, 20, true);
	script_obey(&s, 4, 20, true);
	assert_int_equal(script_state(&s, 4), SLU_CORE_RUNNING);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_a_grower_that_stops_growing_or_rests_lets_the_others_in(void **state)
{
	struct script s;

	(void)state;
	begin_growing(&s);
	script_pass(&s, 4900);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_pass(&s, 200);
	assert_int_not_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_end(&s);

	begin_growing(&s);
	script_idle(&s, 2, 0);
	script_pass(&s, 1240);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_pass(&s, 20);
	assert_int_not_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_a_grower_without_end_gives_way_in_the_end(void **state)
{
	struct script s;
	uint64_t ms = 0;

	(void)state;
	begin_growing(&s);
	for (uint64_t i = 0; script_state(&s, 2) == SLU_CORE_RUNNING && ms < 60000; i++) {
		/* it frees most of its memory now and then, so that some bytes are always free */
		if (i % 8 == 0)
			script_freeze(&s, 2, 1);
		grow(&s, 2, 10 + i % 8);
		script_pass(&s, 500);
		ms += 500;
	}
	print_message("# after %llu ms\n", (unsigned long long)ms);
	assert_in_range(ms, 29000, 31000);
	script_end(&s);
}

/* It would need more than the others leave: then all wait as usual, and one is denied. */
static void test_a_grower_that_cannot_go_on_delays_no_program(void **state)
{
	struct script s;

	(void)state;
	begin_growing(&s);
	grow(&s, 2, 84);
	script_want(&s, 2, 0, 86, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_pass(&s, 1);
	assert_string_not_equal(script_group(&s, 1).reason,
				"behind two: both take memory that cannot move, one at a time");
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_grow_while_little_is_unmovable),
		cmocka_unit_test(test_one_grows_and_the_others_wait_at_rest),
		cmocka_unit_test(test_a_program_that_does_not_grow_is_not_delayed),
		cmocka_unit_test(test_a_grower_that_stops_growing_or_rests_lets_the_others_in),
		cmocka_unit_test(test_a_grower_without_end_gives_way_in_the_end),
		cmocka_unit_test(test_a_grower_that_cannot_go_on_delays_no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
