/* SPDX-License-Identifier: Apache-2.0 */

/* Turns by script: which groups are admitted and closed, and what people see. */

#include "core/test-script.h"

#include "base/util.h"

/* Brings a client of its own group to RUNNING with @all MiB on device 0. */
static void run(struct script *s, uint64_t client, uint64_t all)
{
	script_want(s, client, 0, all, true);
	script_obey(s, client, all, true);
	assert_int_equal(script_state(s, client), SLU_CORE_RUNNING);
}

/* Two programs that exclude each other: 1 runs, 2 waits. */
static void begin_pair(struct script *s, const struct slu_core_config *config)
{
	script_begin(s, config, 100);
	script_join_plain(s, 1, SLU_MODE_ALL);
	script_join_plain(s, 2, SLU_MODE_ALL);
	run(s, 1, 60);
	script_want(s, 2, 0, 60, true);
	for (unsigned i = 0; i < 3; i++) {
		script_pass(s, 10);
		script_obey(s, 1, 60, true);
		script_obey(s, 2, 60, true);
	}
	assert_int_equal(script_state(s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_state(s, 2), SLU_CORE_WAITING);
}

static void answer_pair(struct script *s, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < 4; i++) {
		script_obey(s, from, 60, true);
		script_obey(s, to, 60, true);
	}
}

static bool was_reported(const struct script *s, const char *words)
{
	for (size_t i = 0; i < s->n_said; i++)
		if (strstr(s->said[i].reason, words))
			return true;
	return false;
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
	begin_pair(&s, NULL);
	assert_string_equal(script_group(&s, 2).reason, "for one's turn to end");
	for (unsigned i = 0; i < 6; i++) {
		uint64_t from = 1 + i % 2, to = 2 - i % 2;

		script_pass(&s, 100);
		assert_int_equal(script_state(&s, from), SLU_CORE_DRAINING);
		script_obey(&s, from, 60, true);
		assert_int_equal(script_state(&s, from), SLU_CORE_WAITING);
		assert_int_equal(script_state(&s, to), SLU_CORE_FILLING);
		answer_pair(&s, from, to);
		assert_int_equal(script_state(&s, to), SLU_CORE_RUNNING);
	}
	assert_true(was_reported(&s, "one's turn is over: 100 ms held, 100 ms used, two waits"));
	script_end(&s);
}

static void test_rule_19_a_slice_lasts_its_minimum_of_switches(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.slice_min_switches = 10;
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 60, true);
	script_pass(&s, 50); /* the switch takes 50 ms, so the slice is 500 ms */
	script_obey(&s, 1, 60, true);
	script_want(&s, 2, 0, 60, true);
	script_pass(&s, 499);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_pass(&s, 1);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_end(&s);
}

static void test_a_fill_that_stalled_does_not_lengthen_the_turn(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.slice_min_switches = 4;
	config.fill_deadline_ns = MS(10000);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 60, true);
	/* stopped; half a second of it counts, the time that a large unit may take */
	script_pass(&s, 4000);
	script_obey(&s, 1, 60, true);
	assert_true(was_reported(&s, "one runs, the switch took 500 ms"));
	script_want(&s, 2, 0, 60, true);
	script_obey(&s, 1, 60, true);
	script_pass(&s, 1999);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_pass(&s, 1);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_end(&s);
}

static void test_fifo_ends_a_turn_only_when_its_holder_is_idle(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.policy = "fifo";
	begin_pair(&s, &config);
	script_pass(&s, 60000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_idle(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	assert_true(was_reported(&s, "used, now idle"));
	script_end(&s);
}

static void test_idle_alone_closes_nobody(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_idle(&s, 1, 0);
	script_pass(&s, 5000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_true(script_group(&s, 1).is_idle);
	script_want(&s, 1, 0, 60, true);
	assert_false(script_group(&s, 1).is_idle);
	script_end(&s);
}

static void test_rule_21_between_90_and_100_percent_turns_alternate(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 50);
	script_want(&s, 2, 0, 45, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	script_pass(&s, 100);
	script_obey(&s, 1, 50, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	script_end(&s);
}

static void test_rule_21_a_need_that_falls_counts_for_a_while(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_want(&s, 1, 0, 30, true);
	script_sums(&s, 1, 0, 30);
	script_want(&s, 2, 0, 50, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	script_pass(&s, 50);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_rule_21_nothing_is_let_in_before_the_next(void **state)
{
	struct script s;

	(void)state;
	begin_pair(&s, NULL);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_want(&s, 3, 0, 10, true);
	assert_int_equal(script_state(&s, 3), SLU_CORE_WAITING);
	assert_string_equal(script_group(&s, 3).reason, "behind two, which is next");
	script_end(&s);
}

static void test_rule_22_one_that_cannot_fit_now_is_passed_over(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(50)); /* 60 are held, so the device has 60 */
	script_want(&s, 2, 0, 70, true);
	assert_non_null(strstr(script_group(&s, 2).reason, "needs 70.0 MiB, the device has 60.0"));
	script_idle(&s, 1, 0);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_want(&s, 3, 0, 20, true);
	script_obey(&s, 1, 60, false);
	assert_int_equal(script_state(&s, 3), SLU_CORE_FILLING);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_rule_23_a_late_member_gets_the_same_epoch(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 30);
	script_join(&s, 2, 1, &hello);
	script_want(&s, 2, 0, 20, true);
	assert_non_null(script_find(&s, 2, SLU_MSG_TURN));
	assert_true(slu_epoch_equal(s.epochs[1][0], s.epochs[2][0]));
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_rule_19_the_slice_begins_when_the_last_wanting_member_is_ready(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join(&s, 1, 1, &hello);
	script_join(&s, 2, 1, &hello);
	script_want(&s, 1, 0, 30, true);
	script_want(&s, 2, 0, 30, true);
	script_sums(&s, 1, 0, 30);
	script_ready(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_sums(&s, 2, 0, 30);
	script_ready(&s, 2, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_rule_19_a_launch_program_runs_when_its_window_holds_the_command(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_want_min(&s, 1, 40, 160);
	script_ready(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_sums(&s, 1, 0, 40);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_a_program_is_not_idle_while_its_bytes_come_in(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want_min(&s, 1, 60, 60);
	script_ready(&s, 1, 0);
	script_sums(&s, 1, 0, 20);
	script_want(&s, 2, 0, 60, true);
	script_idle(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_sums(&s, 1, 0, 60);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_idle(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_end(&s);
}

static void test_rule_24_a_rest_of_another_epoch_changes_nothing(void **state)
{
	struct script s;
	struct slu_epoch epoch;

	(void)state;
	begin_pair(&s, NULL);
	epoch = s.epochs[1][0];
	s.epochs[1][0].counter += 7;
	script_rest(&s, 1, 0, true, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	s.epochs[1][0] = epoch;
	script_pass(&s, 100);
	script_rest(&s, 1, 0, true, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_a_drain_past_its_deadline_is_stuck_and_others_run_in_the_rest(void **state)
{
	struct script s;

	(void)state;
	begin_pair(&s, NULL);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_want(&s, 3, 0, 20, true);
	script_pass(&s, 100);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	assert_string_equal(script_group(&s, 2).reason, "for one to finish a launch");
	assert_int_equal(script_state(&s, 3), SLU_CORE_WAITING);
	script_pass(&s, 1000);
	assert_true(script_group(&s, 1).is_stuck);
	assert_true(was_reported(&s, "one is stuck"));
	assert_non_null(strstr(script_group(&s, 2).reason, "stuck: one has not answered for"));
	assert_int_equal(script_state(&s, 3), SLU_CORE_FILLING);
	/* it goes on: nothing was lost */
	script_rest(&s, 1, 0, true, 0);
	assert_false(script_group(&s, 1).is_stuck);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_rule_34_a_fill_without_progress_is_closed(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 40, true);
	script_sums(&s, 1, 0, 0);
	script_pass(&s, 900);
	script_sums(&s, 1, 0, 10); /* bytes placed: progress */
	script_pass(&s, 900);
	script_sums(&s, 1, 0, 10); /* a report without new bytes: no progress */
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_pass(&s, 100);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	assert_true(was_reported(&s, "placed nothing for"));
	script_end(&s);
}

static void test_rule_7_what_cannot_fit_is_denied_after_the_patience(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(50));
	script_want(&s, 1, 0, 60, true);
	script_pass(&s, 4999);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_pass(&s, 1);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY), 1);
	script_pass(&s, 4999);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY), 1);
	script_end(&s);
}

static void test_rule_7_what_never_could_fit_is_denied_at_once_and_once(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 101, true);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY), 1);
	script_pass(&s, 1000);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY), 1);
	script_want(&s, 1, 0, 90, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_end(&s);
}

static void test_rule_5_an_allocation_too_large_is_denied_and_the_turn_goes_on(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_want(&s, 1, 0, 120, true);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY), 1);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_count(&s, 1, SLU_MSG_CLOSE), 0);
	script_end(&s);
}

static void test_rule_7_no_program_is_denied_for_bytes_that_another_keeps(void **state)
{
	struct script s;

	(void)state;
	begin_pair(&s, NULL);
	script_pass(&s, 1100);
	assert_true(script_group(&s, 1).is_stuck);
	script_pass(&s, 60000);
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	script_end(&s);
}

static void test_rule_30_staging_counts_before_admission(void **state)
{
	struct slu_core_config config;
	struct slu_msg_hello hello = script_hello(SLU_MODE_MAPPED, 1);
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(40);
	config.staging_bytes = MIB(4);
	script_begin(&s, &config, 100);
	/* 39 MiB beyond the device, one for the largest unit: all that staging leaves */
	hello.devices[0].held_bytes = MIB(100);
	hello.devices[0].min_bytes = hello.devices[0].all_bytes = MIB(139);
	hello.devices[0].largest_bytes = MIB(1);
	hello.devices[0].is_runnable = 1;
	script_join(&s, 1, 1, &hello);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_pass(&s, 6000);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_rule_26_a_deadlock_is_reported(void **state)
{
	struct script s;

	(void)state;
	begin_pair(&s, NULL);
	script_idle(&s, 1, 0);
	script_sums_full(&s, 1,
			 (struct slu_msg_sums){ .seq = s.limits[1][0].limit.seq,
						.ceiling_bytes = MIB(60),
						.held_bytes = MIB(60),
						.floor_bytes = MIB(60) });
	script_rest(&s, 1, 0, false, 60);
	assert_true(was_reported(&s, "deadlock: two waits for bytes that one keeps"));
	assert_non_null(strstr(script_group(&s, 2).reason, "one keeps bytes that cannot move now"));
	script_end(&s);
}

/* Holds 45 MiB that cannot move. */
static void join_frozen(struct script *s, uint64_t client)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_LAUNCH, 1);

	hello.devices[0].held_bytes = hello.devices[0].floor_bytes = MIB(45);
	hello.devices[0].min_bytes = hello.devices[0].all_bytes = MIB(45);
	script_join(s, client, client, &hello);
}

static void begin_frozen(struct script *s)
{
	script_begin(s, NULL, 100);
	join_frozen(s, 1);
	join_frozen(s, 2);
}

static void test_rule_26_no_denial_while_the_keeper_rests(void **state)
{
	struct script s;

	(void)state;
	begin_frozen(&s);
	script_want_min(&s, 2, 60, 60);
	script_pass(&s, 60000);
	assert_true(was_reported(&s, "deadlock: two waits for bytes that one keeps"));
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	script_end(&s);
}

static void test_rule_26_a_deadlock_of_waiting_programs_is_broken(void **state)
{
	struct script s;

	(void)state;
	begin_frozen(&s);
	script_want_min(&s, 2, 60, 60);
	script_pass(&s, 60000);
	script_want_min(&s, 1, 60, 60);
	script_pass(&s, 4900);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY) + script_count(&s, 2, SLU_MSG_DENY), 0);
	script_pass(&s, 200);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_non_null(script_find(&s, 2, SLU_MSG_DENY));
	assert_non_null(strstr(script_find(&s, 2, SLU_MSG_DENY)->reason,
			       "others keep the rest, cannot move it and wait as well"));

	/* it asks again, and then the other one is denied */
	script_want_min(&s, 2, 60, 60);
	script_pass(&s, 5100);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY), 1);
	assert_int_equal(script_count(&s, 2, SLU_MSG_DENY), 1);
	script_end(&s);
}

static void test_rule_26_a_deadlock_ends_when_bytes_can_leave(void **state)
{
	struct script s;

	(void)state;
	begin_frozen(&s);
	script_want_min(&s, 1, 60, 60);
	script_want_min(&s, 2, 60, 60);
	script_pass(&s, 1000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_sums(&s, 2, 0, 45);
	script_pass(&s, 10);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	assert_int_equal(script_count(&s, 1, SLU_MSG_DENY) + script_count(&s, 2, SLU_MSG_DENY), 0);
	script_end(&s);
}

static void test_a_parked_group_gets_no_turn_and_gives_its_bytes(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	assert_int_equal(slu_core_park(s.core, s.now_ns, 1, true), 0);
	script_step(&s);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_rest(&s, 1, 0, true, 0);
	assert_int_equal(script_limit(&s, 1, 0), 0);
	script_sums(&s, 1, 0, 0);
	script_pass(&s, 5000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_string_equal(script_group(&s, 1).reason, "parked");
	assert_int_equal(slu_core_park(s.core, s.now_ns, 1, false), 0);
	script_step(&s);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	assert_int_equal(slu_core_park(s.core, s.now_ns, 99, true), -ENOENT);
	script_end(&s);
}

static void test_a_withdrawn_request_is_forgotten(void **state)
{
	struct script s;

	(void)state;
	begin_pair(&s, NULL);
	script_want(&s, 2, 0, 60, false);
	assert_int_equal(script_state(&s, 2), SLU_CORE_IDLE);
	script_pass(&s, 5000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_each_device_has_its_own_next_group(void **state)
{
	struct slu_msg_hello both = script_hello(SLU_MODE_ALL, 2);
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	assert_int_equal(slu_core_device_add(s.core, s.now_ns, "GPU 1", MIB(100), 0), 1);
	script_join(&s, 1, 1, &both);
	script_want(&s, 1, 0, 60, true);
	assert_int_equal(script_count(&s, 1, SLU_MSG_TURN), 2);
	script_want(&s, 1, 1, 70, true);
	script_sums(&s, 1, 0, 60);
	script_ready(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_sums(&s, 1, 1, 70);
	script_ready(&s, 1, 1);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	/* the other one wants only device 0, and waits until the group's turn ends on both */
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 2, 0, 50, true);
	script_pass(&s, 100);
	assert_int_equal(script_count(&s, 1, SLU_MSG_CLOSE), 2);
	script_rest(&s, 1, 0, true, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_rest(&s, 1, 1, true, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_alone_gets_its_turn_and_its_bytes),
		cmocka_unit_test(test_two_that_fit_run_side_by_side_without_a_close),
		cmocka_unit_test(test_two_that_do_not_fit_alternate),
		cmocka_unit_test(test_rule_19_a_slice_lasts_its_minimum_of_switches),
		cmocka_unit_test(test_a_fill_that_stalled_does_not_lengthen_the_turn),
		cmocka_unit_test(test_fifo_ends_a_turn_only_when_its_holder_is_idle),
		cmocka_unit_test(test_idle_alone_closes_nobody),
		cmocka_unit_test(test_rule_21_between_90_and_100_percent_turns_alternate),
		cmocka_unit_test(test_rule_21_a_need_that_falls_counts_for_a_while),
		cmocka_unit_test(test_rule_21_nothing_is_let_in_before_the_next),
		cmocka_unit_test(test_rule_22_one_that_cannot_fit_now_is_passed_over),
		cmocka_unit_test(test_rule_23_a_late_member_gets_the_same_epoch),
		cmocka_unit_test(
			test_rule_19_the_slice_begins_when_the_last_wanting_member_is_ready),
		cmocka_unit_test(
			test_rule_19_a_launch_program_runs_when_its_window_holds_the_command),
		cmocka_unit_test(test_a_program_is_not_idle_while_its_bytes_come_in),
		cmocka_unit_test(test_rule_24_a_rest_of_another_epoch_changes_nothing),
		cmocka_unit_test(
			test_a_drain_past_its_deadline_is_stuck_and_others_run_in_the_rest),
		cmocka_unit_test(test_rule_34_a_fill_without_progress_is_closed),
		cmocka_unit_test(test_rule_7_what_cannot_fit_is_denied_after_the_patience),
		cmocka_unit_test(test_rule_7_what_never_could_fit_is_denied_at_once_and_once),
		cmocka_unit_test(
			test_rule_5_an_allocation_too_large_is_denied_and_the_turn_goes_on),
		cmocka_unit_test(test_rule_7_no_program_is_denied_for_bytes_that_another_keeps),
		cmocka_unit_test(test_rule_30_staging_counts_before_admission),
		cmocka_unit_test(test_rule_26_a_deadlock_is_reported),
		cmocka_unit_test(test_rule_26_no_denial_while_the_keeper_rests),
		cmocka_unit_test(test_rule_26_a_deadlock_of_waiting_programs_is_broken),
		cmocka_unit_test(test_rule_26_a_deadlock_ends_when_bytes_can_leave),
		cmocka_unit_test(test_a_parked_group_gets_no_turn_and_gives_its_bytes),
		cmocka_unit_test(test_a_withdrawn_request_is_forgotten),
		cmocka_unit_test(test_each_device_has_its_own_next_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
