/* SPDX-License-Identifier: Apache-2.0 */

/* Orphans, adoption, lost connections, death: which clients exist, and what they are charged. */

#include "core/test-script.h"

#include "base/util.h"

static void run(struct script *s, uint64_t client, uint64_t all)
{
	script_want(s, client, 0, all, true);
	script_obey(s, client, all, true);
	assert_int_equal(script_state(s, client), SLU_CORE_RUNNING);
}

/* The daemon dies; a new one reads the roster. The clients keep their epochs and bytes. */
static void restart(struct script *s)
{
	struct slu_core_config config;

	script_config(&config);
	config.generation = 2;
	slu_core_free(s->core);
	s->core = NULL;
	s->n_said = 0;
	assert_int_equal(slu_core_new(&config, s->now_ns, &s->core), 0);
	assert_int_equal(slu_core_device_add(s->core, s->now_ns, "GPU 0", MIB(100), 0), 0);
	for (unsigned i = 0; i < SCRIPT_CLIENTS; i++)
		if (s->in_roster[i]) {
			s->roster[i].name = "orphan";
			assert_int_equal(slu_core_orphan(s->core, s->now_ns, &s->roster[i]), 0);
		}
	script_step(s);
}

static struct slu_msg_hello rejoining(const struct script *s, uint64_t client, uint64_t all_mib,
				      bool gate_is_open)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);

	hello.devices[0].epoch = s->epochs[client][0];
	hello.devices[0].held_bytes = s->held[client][0];
	hello.devices[0].min_bytes = hello.devices[0].all_bytes = MIB(all_mib);
	hello.devices[0].gate_is_open = gate_is_open;
	hello.devices[0].is_runnable = true;
	return hello;
}

static void test_an_orphan_is_charged_but_no_victim_and_the_grace_gives_no_turn(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	restart(&s);
	assert_true(script_account(&s, 1, 0).charge_bytes >= MIB(60));
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_want(&s, 2, 0, 20, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_string_equal(script_group(&s, 2).reason,
			    "for programs of the last daemon to come back");
	script_pass(&s, 300);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	script_obey(&s, 2, 20, true);
	script_want(&s, 2, 0, 80, true);
	assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 0);
	script_end(&s);
}

static void test_a_reported_turn_is_adopted(void **state)
{
	struct slu_msg_hello hello;
	struct script s;
	struct slu_epoch epoch;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	epoch = s.epochs[1][0];
	restart(&s);
	hello = rejoining(&s, 1, 60, true);
	script_join(&s, 1, 1, &hello);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_true(slu_epoch_equal(script_group(&s, 1).epoch, epoch));
	assert_null(script_find(&s, 1, SLU_MSG_CLOSE));
	assert_null(script_find(&s, 1, SLU_MSG_TURN));
	assert_int_equal(script_account(&s, 1, 0).charge_bytes, MIB(60));
	script_end(&s);
}

static void test_a_second_turn_that_does_not_fit_is_closed(void **state)
{
	struct slu_msg_hello hello;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	restart(&s);
	hello = rejoining(&s, 1, 60, true);
	script_join(&s, 1, 1, &hello);
	s.epochs[2][0] = (struct slu_epoch){ 1, 99 };
	s.held[2][0] = MIB(40);
	hello = rejoining(&s, 2, 60, true);
	script_join(&s, 2, 2, &hello);
	assert_int_equal(script_state(&s, 2), SLU_CORE_DRAINING);
	assert_non_null(script_find(&s, 2, SLU_MSG_CLOSE));
	assert_int_equal(script_find(&s, 2, SLU_MSG_CLOSE)->message.close.epoch.counter, 99);
	script_rest(&s, 2, 0, true, 0);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_turns_side_by_side_are_both_adopted(void **state)
{
	struct slu_msg_hello hello;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t i = 1; i <= 2; i++) {
		script_join_plain(&s, i, SLU_MODE_ALL);
		run(&s, i, 40);
	}
	restart(&s);
	for (uint64_t i = 1; i <= 2; i++) {
		hello = rejoining(&s, i, 40, true);
		script_join(&s, i, i, &hello);
	}
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_half_a_grant_adopted_is_completed(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join(&s, 2, 1, &hello);
	run(&s, 1, 30);
	restart(&s);
	hello = rejoining(&s, 1, 30, true);
	script_join(&s, 1, 1, &hello);
	s.epochs[2][0] = (struct slu_epoch){};
	hello = rejoining(&s, 2, 30, false);
	script_join(&s, 2, 1, &hello);
	assert_non_null(script_find(&s, 2, SLU_MSG_TURN));
	assert_true(slu_epoch_equal(s.epochs[1][0], s.epochs[2][0]));
	script_end(&s);
}

static void test_epochs_of_a_new_daemon_are_new(void **state)
{
	struct script s;
	struct slu_epoch before;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 30);
	before = s.epochs[1][0];
	slu_core_dead(s.core, s.now_ns, 1);
	script_step(&s);
	restart(&s);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 2, 30);
	assert_false(slu_epoch_equal(before, s.epochs[2][0]));
	assert_int_equal(s.epochs[2][0].generation, 2);
	script_end(&s);
}

static void test_rule_31_a_lost_client_keeps_its_charge_and_its_turn(void **state)
{
	struct script s;
	struct slu_core_account_view account;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	slu_core_lost(s.core, s.now_ns, 1);
	script_step(&s);
	account = script_account(&s, 1, 0);
	assert_int_equal(account.limit_bytes, MIB(60));
	assert_true(account.charge_bytes > MIB(60));
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	/* it gets no message, whatever others need */
	script_forget(&s);
	script_want(&s, 2, 0, 80, true);
	script_pass(&s, 5000);
	assert_null(script_find(&s, 1, SLU_MSG_CLOSE));
	assert_null(script_find(&s, 1, SLU_MSG_LIMIT));
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_non_null(strstr(script_group(&s, 2).reason, "one is not back yet"));
	script_end(&s);
}

static void test_a_lost_client_that_comes_back_goes_on(void **state)
{
	struct slu_msg_hello hello;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	slu_core_lost(s.core, s.now_ns, 1);
	script_pass(&s, 50);
	hello = rejoining(&s, 1, 60, true);
	script_join(&s, 1, 1, &hello);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_account(&s, 1, 0).charge_bytes, MIB(60));
	script_end(&s);
}

static void test_a_close_that_died_with_the_connection_is_sent_again(void **state)
{
	struct slu_msg_hello hello;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	run(&s, 1, 60);
	assert_int_equal(slu_core_park(s.core, s.now_ns, 1, true), 0);
	script_step(&s);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	slu_core_lost(s.core, s.now_ns, 1);
	script_pass(&s, 2000);
	assert_true(script_group(&s, 1).is_stuck);
	script_forget(&s);
	hello = rejoining(&s, 1, 60, true);
	script_join(&s, 1, 1, &hello);
	assert_non_null(script_find(&s, 1, SLU_MSG_CLOSE));
	assert_false(script_group(&s, 1).is_stuck);
	script_rest(&s, 1, 0, true, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_end(&s);
}

static void test_i9_death_gives_everything_back_and_lets_the_next_in(void **state)
{
	struct slu_core_device_view device;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_want(&s, 2, 0, 80, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	slu_core_dead(s.core, s.now_ns, 1);
	script_step(&s);
	assert_false(s.in_roster[1]);
	assert_int_equal(script_state(&s, 2), SLU_CORE_FILLING);
	slu_core_dead(s.core, s.now_ns, 2);
	slu_core_dead(s.core, s.now_ns, 2); /* a second report changes nothing */
	script_step(&s);
	slu_core_view_device(s.core, 0, &device);
	assert_int_equal(device.charge_bytes, 0);
	assert_int_equal(slu_core_deadline_ns(s.core), SLU_CORE_NEVER);
	script_end(&s);
}

static void test_death_of_a_member_does_not_end_its_groups_turn(void **state)
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
	slu_core_dead(s.core, s.now_ns, 2); /* the one that was not ready yet */
	script_step(&s);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_late_and_wrong_messages_are_ignored(void **state)
{
	struct slu_message m = { .want = { .account = { SLU_TIER_DEVICE, 7 } } };
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 2);
	struct slu_core_join join = { .client = 5, .group = 5, .name = "x", .hello = &hello };
	struct slu_core_orphan orphan = { .client = 1, .group = 1, .name = "x" };
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	slu_message_stamp(&m, SLU_MSG_WANT);
	assert_int_equal(slu_core_message(s.core, s.now_ns, 1, &m), SLU_CORE_E_UNKNOWN);
	m.want.account.device = 0;
	assert_int_equal(slu_core_message(s.core, s.now_ns, 9, &m), SLU_CORE_E_UNKNOWN);
	slu_core_lost(s.core, s.now_ns, 1);
	assert_int_equal(slu_core_message(s.core, s.now_ns, 1, &m), SLU_CORE_E_UNKNOWN);
	/* an unknown device, the same one twice, a line that exists already */
	join.devices[1] = 3;
	assert_int_equal(slu_core_hello(s.core, s.now_ns, &join), -EINVAL);
	join.devices[1] = 0;
	assert_int_equal(slu_core_hello(s.core, s.now_ns, &join), -EINVAL);
	assert_int_equal(slu_core_orphan(s.core, s.now_ns, &orphan), -EEXIST);
	script_step(&s);
	script_end(&s);
}

static void test_settings_change_while_it_runs(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	run(&s, 1, 60);
	script_want(&s, 2, 0, 60, true);
	script_config(&config);
	config.policy = "nonsense";
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), -EINVAL);
	config.policy = "rr";
	config.slice_ns = MS(20);
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), 0);
	script_step(&s);
	script_pass(&s, 20);
	assert_int_equal(script_state(&s, 1), SLU_CORE_DRAINING);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_orphan_is_charged_but_no_victim_and_the_grace_gives_no_turn),
		cmocka_unit_test(test_a_reported_turn_is_adopted),
		cmocka_unit_test(test_a_second_turn_that_does_not_fit_is_closed),
		cmocka_unit_test(test_turns_side_by_side_are_both_adopted),
		cmocka_unit_test(test_half_a_grant_adopted_is_completed),
		cmocka_unit_test(test_epochs_of_a_new_daemon_are_new),
		cmocka_unit_test(test_rule_31_a_lost_client_keeps_its_charge_and_its_turn),
		cmocka_unit_test(test_a_lost_client_that_comes_back_goes_on),
		cmocka_unit_test(test_a_close_that_died_with_the_connection_is_sent_again),
		cmocka_unit_test(test_i9_death_gives_everything_back_and_lets_the_next_in),
		cmocka_unit_test(test_death_of_a_member_does_not_end_its_groups_turn),
		cmocka_unit_test(test_late_and_wrong_messages_are_ignored),
		cmocka_unit_test(test_settings_change_while_it_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
