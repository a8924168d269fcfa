/* SPDX-License-Identifier: Apache-2.0 */

/* The sentences that say how a device is shared, on one of 100 MiB. */

#include "core/test-script.h"

static struct slu_core_device_view look(const struct script *s)
{
	struct slu_core_device_view view;

	slu_core_view_device(s->core, 0, &view);
	return view;
}

static void begin(struct script *s, const char *policy, uint64_t each_mib)
{
	struct slu_core_config config;

	script_config(&config);
	config.policy = policy;
	config.slice_min_switches = 10;
	config.need_window_ns = 0;
	script_begin(s, &config, 100);
	for (uint64_t i = 1; i <= 2; i++) {
		script_join_plain(s, i, SLU_MODE_ALL);
		script_want(s, i, 0, each_mib, i == 1);
	}
	script_pass(s, 20);
	script_obey(s, 1, each_mib, true);
	assert_int_equal(script_state(s, 1), SLU_CORE_RUNNING);
}

static void test_an_unused_device_has_no_sentence(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	assert_false(look(&s).has_turns);
	assert_string_equal(look(&s).sharing, "");
	script_end(&s);
}

static void test_programs_that_fit_together_take_no_turns(void **state)
{
	struct script s;

	(void)state;
	begin(&s, "rr", 40);
	script_pass(&s, 5000);
	assert_false(look(&s).has_turns);
	assert_string_equal(look(&s).sharing, "everything fits, no turns needed");
	script_end(&s);
}

/*
 * Two programs share their turns, a third waits for both: it names the one that the device shows.
 */
static void test_a_waiting_program_names_the_holder(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	/* the second to join has its turn first */
	for (uint64_t i = 2; i >= 1; i--) {
		script_want(&s, i, 0, 40, true);
		script_pass(&s, 1);
		script_obey(&s, i, 40, true);
		assert_int_equal(script_state(&s, i), SLU_CORE_RUNNING);
	}
	script_want(&s, 3, 0, 90, true);
	script_pass(&s, 1);
	assert_int_equal(script_state(&s, 3), SLU_CORE_WAITING);
	assert_int_equal(look(&s).holder, 2);
	assert_string_equal(script_group(&s, 3).reason, "for two's turn to end");
	script_end(&s);
}

static void test_a_long_turn_is_explained(void **state)
{
	static const struct {
		const char *policy;
		uint64_t ran_ms;
		bool waits;
		const char *sharing;
	} rows[] = {
		{ "rr", 50, false, "" },
		{ "rr", 150, false, "longer than slice: no other program wants the device" },
		{ "rr", 50, true, "" },
		{ "rr", 150, true,
		  "longer than slice: 10 switches at least, and this one took 20.0 ms" },
		{ "rr", 250, true, "draining: it finishes what it has launched" },
		{ "fifo", 5000, true,
		  "longer than slice: under fifo a turn ends when its holder rests" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct script s;

		print_message("# %s after %llu ms\n", rows[i].policy,
			      (unsigned long long)rows[i].ran_ms);
		begin(&s, rows[i].policy, 60);
		script_pass(&s, rows[i].ran_ms);
		script_want(&s, 2, 0, 60, rows[i].waits);
		assert_true(look(&s).has_turns);
		assert_string_equal(look(&s).sharing, rows[i].sharing);
		script_end(&s);
	}
}

/* Both are at the bottom, and the second has taken the first one's turn. */
static void test_the_slice_of_a_level_is_shown(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.policy = "mlfq";
	config.levels = 3;
	config.need_window_ns = 0;
	script_begin(&s, &config, 100);
	s.priority = SLU_CORE_PRIORITY_LOW;
	for (uint64_t i = 1; i <= 2; i++) {
		script_join_plain(&s, i, SLU_MODE_ALL);
		script_want(&s, i, 0, 60, true);
		script_obey(&s, 1, 60, true);
	}
	script_pass(&s, 110);
	for (unsigned i = 0; i < 3; i++) {
		script_obey(&s, 1, 60, true);
		script_obey(&s, 2, 60, true);
	}
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_pass(&s, 150);
	assert_string_equal(look(&s).sharing, "longer than slice: 400 ms at level 2");
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_unused_device_has_no_sentence),
		cmocka_unit_test(test_programs_that_fit_together_take_no_turns),
		cmocka_unit_test(test_a_waiting_program_names_the_holder),
		cmocka_unit_test(test_a_long_turn_is_explained),
		cmocka_unit_test(test_the_slice_of_a_level_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
