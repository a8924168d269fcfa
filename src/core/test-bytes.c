/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Limits by script: which client gives, which gets, in what order, and what the core learns of the
 * device.
 */

#include "core/test-script.h"

#include "base/util.h"

static void run(struct script *s, uint64_t client, uint64_t all)
{
	script_want(s, client, 0, all, true);
	script_obey(s, client, all, true);
	assert_int_equal(script_state(s, client), SLU_CORE_RUNNING);
}

/* @client ran with @all MiB and is idle now, still holding them. */
static void leave(struct script *s, uint64_t client, uint64_t all)
{
	run(s, client, all);
	assert_int_equal(slu_core_park(s->core, s->now_ns, client, true), 0);
	script_step(s);
	assert_int_equal(slu_core_park(s->core, s->now_ns, client, false), 0);
	script_rest(s, client, 0, false, 0);
	script_obey(s, client, all, false);
	assert_int_equal(script_state(s, client), SLU_CORE_IDLE);
	assert_int_equal(script_account(s, client, 0).held_bytes, MIB(all));
}

static void test_rule_1_at_most_one_limit_is_unanswered(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 20, true);
	assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 1);
	script_want(&s, 1, 0, 40, true);
	script_want(&s, 1, 0, 60, true);
	assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 1);
	script_sums(&s, 1, 0, 20);
	assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 2);
	assert_true(script_limit(&s, 1, 0) >= 60);
	script_end(&s);
}

static void test_i11_no_more_bytes_leave_than_are_lacking(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	leave(&s, 1, 70);
	script_forget(&s);
	script_want(&s, 2, 0, 50, true);
	script_obey(&s, 2, 50, true); /* its 30 MiB are free, 20 lack, some of it slack */
	script_pass(&s, 20);
	assert_true(script_limit(&s, 1, 0) >= 50);
	script_obey(&s, 1, 70, false);
	script_obey(&s, 2, 50, true);
	assert_int_equal(script_limit(&s, 1, 0), 50);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_a_user_with_more_than_half_gives_before_the_longest_idle(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	s.user = 2;
	script_join_plain(&s, 1, SLU_MODE_ALL);
	s.user = 1;
	for (uint64_t i = 2; i <= 4; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	leave(&s, 1, 28); /* the longest idle, and its user has less than half */
	for (uint64_t i = 2; i <= 3; i++) {
		s.now_ns += MS(10);
		leave(&s, i, 28);
	}
	s.now_ns += MS(10);
	script_want(&s, 4, 0, 40, true);
	for (unsigned round = 0; round < 4; round++) {
		for (uint64_t i = 1; i <= 4; i++)
			script_obey(&s, i, i == 4 ? 40 : 28, i == 4);
		script_pass(&s, 20);
	}
	assert_int_equal(script_state(&s, 4), SLU_CORE_RUNNING);
	assert_int_equal(script_account(&s, 1, 0).held_bytes, MIB(28));
	assert_true(script_account(&s, 2, 0).held_bytes < MIB(28));
	script_end(&s);
}

static void test_the_longest_idle_gives_first_and_one_at_a_time(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	leave(&s, 2, 40);
	s.now_ns += MS(10);
	leave(&s, 1, 40);
	script_pass(&s, 100);
	script_forget(&s);
	script_want(&s, 3, 0, 80, true);
	for (unsigned i = 0; i < 4 && script_limit(&s, 2, 0) == 40; i++) {
		script_pass(&s, 20);
		script_obey(&s, 3, 80, true);
	}
	/* 60 lack: 40 come from the longest idle; the other moves after it (rule 27) */
	assert_int_equal(script_limit(&s, 2, 0), 0);
	assert_true(script_limit(&s, 1, 0) >= 40);
	script_sums(&s, 1, 0, 40); /* its slack */
	script_obey(&s, 2, 40, false);
	script_pass(&s, 20);
	assert_int_equal(script_limit(&s, 1, 0), 20);
	script_end(&s);
}

static void test_rule_27_a_mover_without_progress_loses_its_direction(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.fill_deadline_ns = MS(10000);
	script_begin(&s, &config, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	leave(&s, 2, 40);
	s.now_ns += MS(10);
	leave(&s, 1, 40);
	script_pass(&s, 100);
	script_want(&s, 3, 0, 80, true);
	for (unsigned i = 0; i < 4 && script_limit(&s, 2, 0) == 40; i++) {
		script_pass(&s, 20);
		script_obey(&s, 3, 80, true);
	}
	script_sums(&s, 1, 0, 40); /* its slack */
	script_sums(&s, 2, 0, 40); /* it heard the LIMIT, but moves nothing */
	script_pass(&s, 900);
	assert_int_equal(script_limit(&s, 1, 0), 40);
	script_pass(&s, 100);
	assert_true(script_limit(&s, 1, 0) < 40);
	script_end(&s);
}

static void test_rule_9_a_running_program_keeps_its_bytes(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_want(&s, 2, 0, 60, true);
	for (unsigned i = 0; i < 5; i++) {
		script_pass(&s, 15);
		script_obey(&s, 1, 60, true);
		script_obey(&s, 2, 60, true);
		assert_true(script_limit(&s, 1, 0) >= 60);
	}
	/* and its slack is fetched ahead for the next one (rule 28) */
	assert_int_equal(script_limit(&s, 2, 0), 40);
	assert_int_equal(script_last_limit(&s, 2)->pace, SLU_PACE_AHEAD);
	script_end(&s);
}

static void test_rule_8_bytes_below_a_floor_stay_and_others_give_the_rest(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	leave(&s, 1, 40);
	s.now_ns += MS(10);
	leave(&s, 2, 40);
	script_pass(&s, 100);
	script_want(&s, 3, 0, 70, true);
	for (unsigned i = 0; i < 4 && script_limit(&s, 1, 0) == 40; i++) {
		script_pass(&s, 20);
		script_obey(&s, 3, 70, true);
	}
	assert_true(script_limit(&s, 1, 0) < 40);
	script_sums(&s, 2, 0, 40); /* its slack */
	script_sums_full(&s, 1,
			 (struct slu_msg_sums){ .account = { SLU_TIER_DEVICE, 0 },
						.is_final = 1,
						.seq = s.limits[1][0].limit.seq,
						.ceiling_bytes = MIB(25),
						.held_bytes = MIB(25),
						.floor_bytes = MIB(25) });
	script_pass(&s, 20);
	assert_int_equal(script_limit(&s, 2, 0), 5);
	script_end(&s);
}

static void test_rule_10_slack_is_not_taken_before_it_could_be_used(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.round_trip_ns = MS(50);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 50);
	assert_true(script_limit(&s, 1, 0) > 50);
	script_want(&s, 2, 0, 80, true); /* waits for its turn, and its bytes come ahead */
	assert_true(script_limit(&s, 1, 0) > 50);
	script_pass(&s, 49);
	assert_true(script_limit(&s, 1, 0) > 50);
	script_pass(&s, 1);
	assert_int_equal(script_limit(&s, 1, 0), 50);
	script_end(&s);
}

static void test_rule_10_a_client_whose_limit_was_lowered_asks_and_gets_again(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 50);
	script_want(&s, 2, 0, 80, true);
	script_pass(&s, 20);
	script_obey(&s, 1, 50, true);
	script_obey(&s, 2, 80, true); /* 50 MiB came ahead */
	assert_int_equal(script_limit(&s, 2, 0), 50);
	script_want(&s, 1, 0, 60, true); /* an allocation of the runner: NOW beats AHEAD */
	script_obey(&s, 2, 80, true);
	script_obey(&s, 1, 60, true);
	assert_true(script_limit(&s, 1, 0) >= 60);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_rule_12_a_fallen_goal_is_sent_though_the_bytes_stay(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(200);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_MAPPED);
	script_want(&s, 1, 0, 150, true);
	assert_int_equal(script_limit(&s, 1, 0), 100);
	assert_int_equal(s.limits[1][0].limit.goal_bytes, MIB(100));
	/* its pinned share and one unit */
	assert_int_equal(s.limits[1][SLU_WIRE_DEVICES_MAX].limit.limit_bytes, MIB(51));
	script_sums(&s, 1, 0, 60);
	script_forget(&s);
	script_refuse(&s, 1, 70, 10);
	assert_non_null(script_last_limit(&s, 1));
	assert_int_equal(script_last_limit(&s, 1)->limit_bytes, MIB(70));
	assert_int_equal(script_last_limit(&s, 1)->goal_bytes, MIB(70));
	script_end(&s);
}

static void test_rule_14_a_refusal_is_learned_and_rule_16_forgotten_slowly(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 160);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 120, true);
	script_refuse(&s, 1, 80, 40);
	assert_int_equal(script_estimate(&s, 0), 80);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING); /* it cannot be filled any more */
	script_rest(&s, 1, 0, true, 0);
	script_pass(&s, 399); /* the period is 200 ms, doubled by the refusal */
	assert_int_equal(script_estimate(&s, 0), 80);
	script_pass(&s, 1);
	assert_int_equal(script_estimate(&s, 0), 90);
	script_end(&s);
}

static void test_rule_14_a_refusal_under_an_older_limit_is_only_noted(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_want(&s, 1, 0, 60, true);
	script_sums_full(&s, 1,
			 (struct slu_msg_sums){ .account = { SLU_TIER_DEVICE, 0 },
						.seq = 0,
						.refused_bytes = MIB(5) });
	assert_int_equal(script_estimate(&s, 0), 100);
	assert_true(script_account(&s, 1, 0).is_pending);
	script_end(&s);
}

static void test_rule_17_outsiders_stop_raises_and_bytes_at_rest_leave(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	leave(&s, 1, 40);
	script_pass(&s, 100);
	assert_true(script_account(&s, 1, 0).charge_bytes > MIB(40));
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(70));
	script_step(&s);
	assert_int_equal(script_estimate(&s, 0), 40);
	assert_int_equal(script_limit(&s, 1, 0), 30);
	script_sums(&s, 1, 0, 30);
	assert_int_equal(script_estimate(&s, 0), 30);
	script_forget(&s);
	script_want(&s, 2, 0, 30, true);
	assert_int_equal(script_limit(&s, 2, 0), 0);
	script_end(&s);
}

static void test_a_silent_client_is_reported_and_its_charge_is_a_floor(void **state)
{
	struct slu_core_client_view view;
	struct script s;
	size_t cursor = 0;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	leave(&s, 1, 60);
	script_want(&s, 2, 0, 90, true);
	script_obey(&s, 2, 90, true);
	script_pass(&s, 20);
	assert_true(script_account(&s, 1, 0).is_pending);
	script_pass(&s, 1000);
	assert_true(slu_core_view_client(s.core, &cursor, &view));
	assert_true(view.is_silent);
	/* the fill that waits for it cannot end: it is closed, and says why it waits */
	script_obey(&s, 2, 90, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_non_null(strstr(script_group(&s, 2).reason, "silent: one has not answered for"));
	script_sums(&s, 1, 0, 0);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	script_end(&s);
}

/* A holder that was stopped while it had slack: no other client may use what it may hold. */
static void test_a_silent_holder_counts_with_its_slack(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	assert_true(script_account(&s, 1, 0).charge_bytes > MIB(60));
	script_want(&s, 2, 0, 20, true);
	script_obey(&s, 2, 20, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_pass(&s, 20);
	/* needs of 60 and 40 would fit, but it is silent, so its slack cannot be taken back */
	script_want(&s, 2, 0, 40, true);
	assert_true(script_account(&s, 1, 0).is_pending);
	script_pass(&s, 3000);
	assert_non_null(strstr(script_group(&s, 2).reason, "silent: one has not answered for"));
	assert_true(script_limit(&s, 2, 0) < 40);
	/* it answers again */
	script_sums(&s, 1, 0, 60);
	script_obey(&s, 2, 40, true);
	assert_int_equal(script_limit(&s, 2, 0), 40);
	script_end(&s);
}

static void test_rule_28_ahead_takes_nothing_from_an_earlier_group(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	leave(&s, 3, 30);
	run(&s, 1, 60);
	script_want(&s, 2, 0, 80, true);
	for (unsigned i = 0; i < 5; i++) {
		script_pass(&s, 15);
		for (uint64_t c = 1; c <= 3; c++)
			script_obey(&s, c, c == 1 ? 60 : c == 2 ? 80 : 30, c != 3);
	}
	assert_int_equal(script_limit(&s, 1, 0), 60);
	assert_int_equal(script_limit(&s, 3, 0), 0);
	assert_int_equal(script_limit(&s, 2, 0), 40);
	script_end(&s);
}

static void test_rule_28_now_beats_ahead_until_the_bytes_arrived(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 60, true);
	script_want(&s, 2, 0, 80, true);
	script_sums(&s, 1, 0, 60); /* allocated, and still on their way over the bus */
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	assert_int_equal(script_limit(&s, 2, 0), 0);
	script_ready(&s, 1, 0);
	assert_true(script_limit(&s, 2, 0) > 0);
	assert_int_equal(script_last_limit(&s, 2)->pace, SLU_PACE_AHEAD);
	script_end(&s);
}

static void want_backing(struct script *s, uint64_t client, uint64_t mib)
{
	struct slu_message m = { .want = { .account = { SLU_TIER_PAGEABLE, 0 },
					   .all_bytes = MIB(mib) } };

	slu_message_stamp(&m, SLU_MSG_WANT);
	assert_int_equal(slu_core_message(s->core, s->now_ns, client, &m), 0);
	script_step(s);
}

static void sums_backing(struct script *s, uint64_t client, uint64_t held_mib)
{
	const struct slu_msg_limit *limit = &s->limits[client][SLU_WIRE_DEVICES_MAX + 1].limit;

	script_sums_full(
		s, client,
		(struct slu_msg_sums){ .account = { SLU_TIER_PAGEABLE, 0 },
				       .seq = limit->seq,
				       .ceiling_bytes = SLU_MAX(limit->limit_bytes, MIB(held_mib)),
				       .held_bytes = MIB(held_mib) });
}

static void test_rule_4_backing_credit_is_reserved_taken_back_and_denied(void **state)
{
	struct script s;
	const size_t backing = SLU_WIRE_DEVICES_MAX + 1;

	(void)state;
	script_begin(&s, NULL, 100); /* backing is 1024 MiB */
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	want_backing(&s, 1, 600);
	assert_true(s.limits[1][backing].limit.limit_bytes >= MIB(600));
	sums_backing(&s, 1, 500);
	want_backing(&s, 2, 480); /* possible only with what the other one does not use */
	assert_null(script_find(&s, 2, SLU_MSG_LIMIT));
	script_pass(&s, 10);
	assert_int_equal(s.limits[1][backing].limit.limit_bytes, MIB(500));
	sums_backing(&s, 1, 500);
	assert_true(s.limits[2][backing].limit.limit_bytes >= MIB(480));
	sums_backing(&s, 2, 480);
	script_forget(&s);
	want_backing(&s, 1, 800);
	script_pass(&s, 20);
	sums_backing(&s, 2, 480);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_int_equal(script_find(&s, 1, SLU_MSG_DENY)->message.deny.account.tier,
			 SLU_TIER_PAGEABLE);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_1_at_most_one_limit_is_unanswered),
		cmocka_unit_test(test_i11_no_more_bytes_leave_than_are_lacking),
		cmocka_unit_test(test_a_user_with_more_than_half_gives_before_the_longest_idle),
		cmocka_unit_test(test_the_longest_idle_gives_first_and_one_at_a_time),
		cmocka_unit_test(test_rule_27_a_mover_without_progress_loses_its_direction),
		cmocka_unit_test(test_rule_9_a_running_program_keeps_its_bytes),
		cmocka_unit_test(test_rule_8_bytes_below_a_floor_stay_and_others_give_the_rest),
		cmocka_unit_test(test_rule_10_slack_is_not_taken_before_it_could_be_used),
		cmocka_unit_test(test_rule_10_a_client_whose_limit_was_lowered_asks_and_gets_again),
		cmocka_unit_test(test_rule_12_a_fallen_goal_is_sent_though_the_bytes_stay),
		cmocka_unit_test(test_rule_14_a_refusal_is_learned_and_rule_16_forgotten_slowly),
		cmocka_unit_test(test_rule_14_a_refusal_under_an_older_limit_is_only_noted),
		cmocka_unit_test(test_rule_17_outsiders_stop_raises_and_bytes_at_rest_leave),
		cmocka_unit_test(test_a_silent_client_is_reported_and_its_charge_is_a_floor),
		cmocka_unit_test(test_a_silent_holder_counts_with_its_slack),
		cmocka_unit_test(test_rule_28_ahead_takes_nothing_from_an_earlier_group),
		cmocka_unit_test(test_rule_28_now_beats_ahead_until_the_bytes_arrived),
		cmocka_unit_test(test_rule_4_backing_credit_is_reserved_taken_back_and_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
