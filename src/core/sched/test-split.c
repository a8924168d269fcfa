/* SPDX-License-Identifier: Apache-2.0 */

/* Splits by script: groups whose members together exceed the device of 100 MiB. */

#include "core/test-script.h"

#include "base/util.h"

#define RUN 7 /* the group of all of them */

static void join(struct script *s, uint64_t client, enum slu_mode mode, unsigned n_devices)
{
	struct slu_msg_hello hello = script_hello(mode, n_devices);

	script_join(s, client, RUN, &hello);
}

static unsigned n_splits(const struct script *s, uint64_t client)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->n_said; i++)
		n += s->said[i].kind == SLU_CORE_SPLIT && s->said[i].client == client;
	return n;
}

/* 1 runs with 60 MiB, 2 of the same run has joined. */
static void begin_run(struct script *s, const struct slu_core_config *config)
{
	script_begin(s, config, 100);
	join(s, 1, SLU_MODE_ALL, 1);
	join(s, 2, SLU_MODE_ALL, 1);
	script_want(s, 1, 0, 60, true);
	script_obey(s, 1, 60, true);
	assert_int_equal(script_state_of(s, 1), SLU_CORE_RUNNING);
	script_forget(s);
}

static void test_a_group_that_fits_stays_together(void **state)
{
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	script_want(&s, 2, 0, 40, true);
	for (unsigned i = 0; i < 4; i++) {
		script_pass(&s, 20);
		script_obey(&s, 1, 60, true);
		script_obey(&s, 2, 40, true);
	}
	assert_int_equal(n_splits(&s, 1) + n_splits(&s, 2), 0);
	assert_int_equal(script_group_of(&s, 2), RUN);
	assert_int_equal(script_state_of(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_the_one_that_asks_leaves_and_the_other_keeps_its_turn(void **state)
{
	struct slu_epoch epoch;
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	epoch = script_group(&s, RUN).epoch;
	script_want(&s, 2, 0, 60, true);
	assert_int_equal(n_splits(&s, 2), 1);
	assert_int_equal(n_splits(&s, 1), 0);
	assert_true(script_group_of(&s, 2) != RUN);
	assert_int_equal(script_state(&s, RUN), SLU_CORE_RUNNING);
	assert_true(slu_epoch_equal(script_group(&s, RUN).epoch, epoch));
	assert_null(script_find(&s, 1, SLU_MSG_CLOSE));

	/* its part of the group's turn is closed in the ordinary way */
	assert_int_equal(script_count(&s, 2, SLU_MSG_CLOSE), 1);
	assert_int_equal(script_state_of(&s, 2), SLU_CORE_DRAINING);
	script_obey(&s, 2, 60, true);
	assert_int_equal(script_state_of(&s, 2), SLU_CORE_WAITING);

	/* and then they take turns */
	for (unsigned i = 0; i < 20; i++) {
		script_pass(&s, 50);
		script_obey(&s, 1, 60, true);
		script_obey(&s, 2, 60, true);
	}
	assert_true(script_group(&s, RUN).n_turns > 2);
	assert_true(script_group(&s, script_group_of(&s, 2)).n_turns > 2);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	assert_int_equal(n_splits(&s, 1) + n_splits(&s, 2), 1);
	script_end(&s);
}

static void test_a_member_that_was_filling_goes_on_filling(void **state)
{
	struct slu_epoch epoch;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	join(&s, 1, SLU_MODE_ALL, 1);
	join(&s, 2, SLU_MODE_ALL, 1);
	script_want(&s, 1, 0, 60, true);
	script_sums(&s, 1, 0, 30);
	epoch = script_group(&s, RUN).epoch;
	script_want(&s, 2, 0, 70, true);
	assert_int_equal(n_splits(&s, 2), 1);
	assert_int_equal(script_state(&s, RUN), SLU_CORE_FILLING);
	assert_true(slu_epoch_equal(script_group(&s, RUN).epoch, epoch));
	assert_null(script_find(&s, 1, SLU_MSG_CLOSE));
	script_end(&s);
}

static void test_a_waiting_group_keeps_its_place(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_want(&s, 3, 0, 90, true);
	script_obey(&s, 3, 90, true);
	join(&s, 1, SLU_MODE_ALL, 1);
	join(&s, 2, SLU_MODE_ALL, 1);
	script_want(&s, 1, 0, 60, true);
	script_join_plain(&s, 4, SLU_MODE_ALL);
	script_want(&s, 4, 0, 60, true);
	script_want(&s, 2, 0, 60, true);
	assert_int_equal(n_splits(&s, 2), 1);

	/* 1 came before 4, and 2 comes after it */
	script_pass(&s, 200);
	script_obey(&s, 3, 90, false);
	script_step(&s);
	assert_int_equal(script_state(&s, RUN), SLU_CORE_FILLING);
	assert_true(strstr(script_group(&s, 4).reason, "one's turn"));
	assert_true(strstr(script_group(&s, script_group_of(&s, 2)).reason, "behind four"));
	script_end(&s);
}

static void test_three_that_each_fill_the_device_become_three(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t c = 1; c <= 3; c++)
		join(&s, c, SLU_MODE_ALL, 1);
	for (uint64_t c = 1; c <= 3; c++)
		script_want(&s, c, 0, 80, true);
	assert_true(script_group_of(&s, 1) != script_group_of(&s, 2) &&
		    script_group_of(&s, 2) != script_group_of(&s, 3));
	for (unsigned i = 0; i < 60; i++) {
		script_pass(&s, 50);
		for (uint64_t c = 1; c <= 3; c++)
			script_obey(&s, c, 80, true);
		script_forget(&s);
	}
	for (uint64_t c = 1; c <= 3; c++)
		assert_true(script_group(&s, script_group_of(&s, c)).n_turns > 3);
	script_end(&s);
}

static void test_only_the_member_that_never_fits_is_denied(void **state)
{
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	script_want(&s, 2, 0, 120, true);
	script_obey(&s, 2, 0, true);
	assert_int_equal(n_splits(&s, 2), 1);
	assert_int_equal(script_count(&s, 2, SLU_MSG_DENY), 1);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_int_equal(script_state(&s, RUN), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_a_group_that_may_fit_again_is_not_split_at_once(void **state)
{
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(20));
	script_want(&s, 2, 0, 30, true);
	script_pass(&s, 2400);
	assert_int_equal(n_splits(&s, 2), 0);
	script_pass(&s, 200);
	assert_int_equal(n_splits(&s, 2), 1);
	script_end(&s);
}

static void test_an_outsider_that_leaves_splits_no_group(void **state)
{
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(20));
	script_want(&s, 2, 0, 30, true);
	script_pass(&s, 1000);
	slu_core_outsiders(s.core, s.now_ns, 0, 0);
	script_pass(&s, 10000);
	assert_int_equal(n_splits(&s, 2), 0);
	script_end(&s);
}

static void test_a_member_idle_on_a_full_device_is_split_for_one_on_another(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	assert_int_equal(slu_core_device_add(s.core, s.now_ns, "GPU 1", MIB(100), 0), 1);
	for (uint64_t c = 1; c <= 3; c++)
		join(&s, c, SLU_MODE_ALL, 2);
	script_want(&s, 1, 0, 70, false);
	script_want(&s, 2, 0, 60, false);
	script_want(&s, 3, 1, 50, true);
	assert_int_equal(n_splits(&s, 1), 1);
	assert_int_equal(script_group_of(&s, 3), RUN);
	assert_int_equal(script_state(&s, RUN), SLU_CORE_FILLING);
	assert_null(script_find(&s, 3, SLU_MSG_DENY));
	script_end(&s);
}

static void test_two_that_exceed_the_pinned_memory_are_split(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(60);
	script_begin(&s, &config, 100);
	join(&s, 1, SLU_MODE_MAPPED, 1);
	join(&s, 2, SLU_MODE_MAPPED, 1);
	script_want(&s, 1, 0, 130, true);
	script_want(&s, 2, 0, 140, true);
	assert_int_equal(n_splits(&s, 1) + n_splits(&s, 2), 1);
	assert_true(script_group_of(&s, 1) != script_group_of(&s, 2));
	script_end(&s);
}

static void test_working_sets_that_exceed_the_device_for_a_while_are_split(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	join(&s, 1, SLU_MODE_LAUNCH, 1);
	join(&s, 2, SLU_MODE_LAUNCH, 1);
	script_want_working(&s, 1, 10, 60, 60);
	script_want_working(&s, 2, 10, 60, 60);
	script_pass(&s, 40);
	script_want_working(&s, 2, 10, 30, 60);
	script_pass(&s, 100);
	assert_int_equal(n_splits(&s, 1) + n_splits(&s, 2), 0);
	script_want_working(&s, 2, 10, 60, 60);
	script_pass(&s, 40);
	assert_int_equal(n_splits(&s, 1) + n_splits(&s, 2), 0);
	script_pass(&s, 20);
	assert_int_equal(n_splits(&s, 1) + n_splits(&s, 2), 1);
	script_end(&s);
}

static void test_a_split_keeps_the_level(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.policy = "mlfq";
	config.allotment_ns = MS(100);
	begin_run(&s, &config);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_want(&s, 3, 0, 50, true);
	script_pass(&s, 250);
	script_obey(&s, 1, 60, true);
	script_obey(&s, 2, 0, false);
	assert_true(script_group(&s, RUN).level > 0);
	script_want(&s, 2, 0, 60, true);
	assert_int_equal(n_splits(&s, 2), 1);
	assert_int_equal(script_group(&s, script_group_of(&s, 2)).level,
			 script_group(&s, RUN).level);
	script_end(&s);
}

static void test_a_parked_group_is_parked_in_parts(void **state)
{
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	assert_int_equal(slu_core_park(s.core, s.now_ns, RUN, true), 0);
	assert_int_equal(slu_core_split(s.core, s.now_ns, 2), 0);
	script_step(&s);
	assert_true(script_group(&s, script_group_of(&s, 2)).is_parked);
	assert_int_equal(slu_core_split(s.core, s.now_ns, 2), SLU_CORE_E_ALONE);
	assert_int_equal(slu_core_split(s.core, s.now_ns, 9), -ENOENT);
	script_end(&s);
}

static void test_the_line_in_the_roster_has_the_new_group(void **state)
{
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	assert_int_equal(s.roster[2].group, RUN);
	script_want(&s, 2, 0, 60, true);
	assert_int_equal(s.roster[2].group, script_group_of(&s, 2));
	assert_int_equal(s.roster[1].group, RUN);
	script_end(&s);
}

/* Split in each state of its group, both parts go on in that state. */
static void test_a_member_can_leave_in_any_state(void **state)
{
	for (enum slu_core_state at = 0; at < _SLU_CORE_STATE_MAX; at++) {
		struct script s;

		(void)state;
		script_begin(&s, NULL, 100);
		join(&s, 1, SLU_MODE_ALL, 1);
		join(&s, 2, SLU_MODE_ALL, 1);
		if (at == SLU_CORE_WAITING)
			assert_int_equal(slu_core_park(s.core, s.now_ns, RUN, true), 0);
		for (uint64_t c = 1; c <= 2 && at != SLU_CORE_IDLE; c++)
			script_want(&s, c, 0, 40, true);
		for (uint64_t c = 1; c <= 2 && at > SLU_CORE_FILLING; c++)
			script_obey(&s, c, 40, true);
		if (at == SLU_CORE_DRAINING) {
			assert_int_equal(slu_core_park(s.core, s.now_ns, RUN, true), 0);
			script_step(&s);
		}
		assert_int_equal(script_state(&s, RUN), at);
		assert_int_equal(slu_core_split(s.core, s.now_ns, 2), 0);
		slu_core_check(s.core);
		script_step(&s);
		for (uint64_t c = 1; c <= 2; c++) {
			assert_int_equal(
				slu_core_park(s.core, s.now_ns, script_group_of(&s, c), false), 0);
			script_want(&s, c, 0, 40, true);
		}
		for (unsigned i = 0; i < 10; i++) {
			script_pass(&s, 20);
			script_obey(&s, 1, 40, true);
			script_obey(&s, 2, 40, true);
		}
		assert_int_equal(script_state_of(&s, 1), SLU_CORE_RUNNING);
		assert_int_equal(script_state_of(&s, 2), SLU_CORE_RUNNING);
		script_end(&s);
	}
}

static void test_a_lost_member_closes_what_it_brings_back(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct script s;

	(void)state;
	begin_run(&s, NULL);
	script_want(&s, 2, 0, 30, true);
	script_obey(&s, 2, 30, true);
	slu_core_lost(s.core, s.now_ns, 2);
	assert_int_equal(slu_core_split(s.core, s.now_ns, 2), 0);
	script_step(&s);
	assert_int_equal(script_state_of(&s, 2), SLU_CORE_DRAINING);
	assert_int_equal(script_state_of(&s, 1), SLU_CORE_RUNNING);
	hello.devices[0].epoch = s.epochs[2][0];
	hello.devices[0].held_bytes = hello.devices[0].all_bytes = MIB(30);
	hello.devices[0].gate_is_open = hello.devices[0].is_runnable = true;
	script_forget(&s);
	script_join(&s, 2, script_group_of(&s, 2), &hello);
	assert_int_equal(script_count(&s, 2, SLU_MSG_CLOSE), 1);
	script_obey(&s, 2, 30, true);
	assert_true(script_group_of(&s, 2) != RUN);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_group_that_fits_stays_together),
		cmocka_unit_test(test_the_one_that_asks_leaves_and_the_other_keeps_its_turn),
		cmocka_unit_test(test_a_member_that_was_filling_goes_on_filling),
		cmocka_unit_test(test_a_waiting_group_keeps_its_place),
		cmocka_unit_test(test_three_that_each_fill_the_device_become_three),
		cmocka_unit_test(test_only_the_member_that_never_fits_is_denied),
		cmocka_unit_test(test_a_group_that_may_fit_again_is_not_split_at_once),
		cmocka_unit_test(test_an_outsider_that_leaves_splits_no_group),
		cmocka_unit_test(test_a_member_idle_on_a_full_device_is_split_for_one_on_another),
		cmocka_unit_test(test_two_that_exceed_the_pinned_memory_are_split),
		cmocka_unit_test(test_working_sets_that_exceed_the_device_for_a_while_are_split),
		cmocka_unit_test(test_a_split_keeps_the_level),
		cmocka_unit_test(test_a_parked_group_is_parked_in_parts),
		cmocka_unit_test(test_the_line_in_the_roster_has_the_new_group),
		cmocka_unit_test(test_a_member_can_leave_in_any_state),
		cmocka_unit_test(test_a_lost_member_closes_what_it_brings_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
