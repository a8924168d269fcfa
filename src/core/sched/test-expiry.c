/* SPDX-License-Identifier: Apache-2.0 */

/*
 * When a turn is over: for a holder that rests, and for one that is repeatedly cut short. Each
 * program needs 60 of 100 MiB, and a switch takes 20 ms.
 */

#include "core/test-script.h"

#include "base/util.h"

#define EACH_MIB  60
#define SWITCH_MS 20

static void begin(struct script *s, const char *policy)
{
	struct slu_core_config config;

	script_config(&config);
	config.policy = policy;
	config.slice_ns = MS(1000);
	config.need_window_ns = 0;
	script_begin(s, &config, 100);
	script_join_plain(s, 1, SLU_MODE_ALL);
	script_join_plain(s, 2, SLU_MODE_ALL);
}

/* @from gives way, and @to is ready after a switch. */
static void change_over(struct script *s, uint64_t from, uint64_t to, bool from_is_runnable)
{
	assert_int_equal(script_state(s, from), SLU_CORE_DRAINING);
	script_rest(s, from, 0, from_is_runnable, 0);
	assert_int_equal(script_state(s, to), SLU_CORE_FILLING);
	script_obey(s, from, EACH_MIB, from_is_runnable);
	script_pass(s, SWITCH_MS);
	script_obey(s, to, EACH_MIB, true);
	assert_int_equal(script_state(s, to), SLU_CORE_RUNNING);
	script_forget(s);
}

/* 1 has computed for long, and 2 has the turn; the switch of both was measured. */
static void give_turn_to_two(struct script *s, const char *policy)
{
	begin(s, policy);
	script_want(s, 1, 0, EACH_MIB, true);
	script_pass(s, SWITCH_MS);
	script_obey(s, 1, EACH_MIB, true);
	script_pass(s, 30000);
	script_want(s, 2, 0, EACH_MIB, true);
	change_over(s, 1, 2, true);
}

static void test_a_holder_that_rests_keeps_its_turn_for_a_switch(void **state)
{
	static const char *const policies[] = { "mlfq", "rr" };

	(void)state;
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(policies); i++) {
		struct script s;

		print_message("# %s\n", policies[i]);
		give_turn_to_two(&s, policies[i]);
		script_idle(&s, 2, 0);
		script_pass(&s, SWITCH_MS - 1);
		assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
		script_pass(&s, 1);
		change_over(&s, 2, 1, false);
		script_end(&s);
	}
}

static void test_pauses_shorter_than_a_switch_end_no_turn(void **state)
{
	struct script s;

	(void)state;
	give_turn_to_two(&s, "mlfq");
	for (unsigned i = 0; i < 20; i++) {
		script_idle(&s, 2, 0);
		script_pass(&s, SWITCH_MS - 1);
		script_want(&s, 2, 0, EACH_MIB, true);
		script_pass(&s, 5);
	}
	assert_int_equal(script_count(&s, 2, SLU_MSG_CLOSE), 0);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

/* It talks to a person: no program waits for the next question. */
static void test_a_holder_whose_last_pause_was_long_is_not_waited_for(void **state)
{
	struct script s;

	(void)state;
	give_turn_to_two(&s, "mlfq");
	script_idle(&s, 2, 0);
	script_pass(&s, SWITCH_MS);
	change_over(&s, 2, 1, false);
	script_pass(&s, 5000);
	script_want(&s, 2, 0, EACH_MIB, true);
	change_over(&s, 1, 2, true);
	script_idle(&s, 2, 0);
	change_over(&s, 2, 1, false);
	script_end(&s);
}

static void test_an_urgent_program_does_not_wait_for_a_resting_holder(void **state)
{
	struct script s;

	(void)state;
	give_turn_to_two(&s, "mlfq");
	script_idle(&s, 2, 0);
	script_pass(&s, SWITCH_MS);
	change_over(&s, 2, 1, false);
	script_pass(&s, 2 * SWITCH_MS);
	script_idle(&s, 1, 0);
	script_want(&s, 2, 0, EACH_MIB, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_end(&s);
}

/* Return: how long 1, on a lower level than 2, runs when 2 wants the device as soon as 1 has it. */
static uint64_t cut_short(struct script *s)
{
	uint64_t ms = 0;

	script_want(s, 2, 0, EACH_MIB, true);
	while (script_state(s, 1) == SLU_CORE_RUNNING && ms < 1000) {
		script_pass(s, 1);
		ms++;
	}
	change_over(s, 1, 2, true);
	script_idle(s, 2, 0);
	if (script_state(s, 2) == SLU_CORE_RUNNING)
		script_pass(s, SWITCH_MS);
	change_over(s, 2, 1, false);
	return ms;
}

static void test_a_holder_that_was_cut_short_runs_longer_next_time(void **state)
{
	struct script s;

	(void)state;
	give_turn_to_two(&s, "mlfq");
	script_idle(&s, 2, 0);
	script_pass(&s, SWITCH_MS);
	change_over(&s, 2, 1, false);
	assert_int_equal(cut_short(&s), SWITCH_MS);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(cut_short(&s), 2 * SWITCH_MS);
	/* a turn of four switches is forgiven */
	script_pass(&s, 4 * SWITCH_MS);
	(void)cut_short(&s);
	assert_int_equal(cut_short(&s), SWITCH_MS);
	script_end(&s);
}

/* It held the device for 330 ms, of which it rested 210. */
static void test_held_time_and_used_time_differ(void **state)
{
	const struct slu_core_action *close;
	struct script s;

	(void)state;
	begin(&s, "rr");
	script_want(&s, 1, 0, EACH_MIB, true);
	script_obey(&s, 1, EACH_MIB, true);
	script_pass(&s, 100);
	script_idle(&s, 1, 0);
	script_pass(&s, 210);
	script_want(&s, 1, 0, EACH_MIB, true);
	script_pass(&s, 20);
	script_idle(&s, 1, 0);
	script_want(&s, 2, 0, EACH_MIB, true);
	close = script_find(&s, 1, SLU_MSG_CLOSE);
	assert_non_null(close);
	assert_string_equal(close->reason,
			    "one's turn is over: 330 ms held, 120 ms used, now idle, two waits");
	assert_int_equal(script_group(&s, 1).ran_ns, MS(330));
	assert_int_equal(script_group(&s, 1).used_ns, MS(120));
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_holder_that_rests_keeps_its_turn_for_a_switch),
		cmocka_unit_test(test_pauses_shorter_than_a_switch_end_no_turn),
		cmocka_unit_test(test_a_holder_whose_last_pause_was_long_is_not_waited_for),
		cmocka_unit_test(test_an_urgent_program_does_not_wait_for_a_resting_holder),
		cmocka_unit_test(test_held_time_and_used_time_differ),
		cmocka_unit_test(test_a_holder_that_was_cut_short_runs_longer_next_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
