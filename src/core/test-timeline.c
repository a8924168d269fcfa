/* SPDX-License-Identifier: Apache-2.0 */

/* The timeline by script: which group runs when, and which gives up bytes for the next one. */

#include "core/test-script.h"

#include "base/util.h"

static void run(struct script *s, uint64_t client, uint64_t all)
{
	script_want(s, client, 0, all, true);
	script_obey(s, client, all, true);
	assert_int_equal(script_state(s, client), SLU_CORE_RUNNING);
}

/* Clients 1 to @n; the first one runs with @all MiB, and the others wait for as much. */
static void begin(struct script *s, const char *policy, uint64_t n, uint64_t all, uint64_t device)
{
	struct slu_core_config config;

	script_config(&config);
	config.policy = policy;
	script_begin(s, &config, device);
	for (uint64_t i = 1; i <= n; i++)
		script_join_plain(s, i, SLU_MODE_ALL);
	run(s, 1, all);
	for (uint64_t i = 2; i <= n; i++)
		script_want(s, i, 0, all, true);
}

/* All clients obey until nothing changes; no time passes. */
static void obey_all(struct script *s, uint64_t n, uint64_t all)
{
	for (unsigned k = 0; k < 6; k++)
		for (uint64_t i = 1; i <= n; i++)
			script_obey(s, i, all, true);
}

static void holds(const struct script *s, uint64_t client, uint64_t mib)
{
	assert_int_equal(script_account(s, client, 0).held_bytes, MIB(mib));
}

static struct slu_core_turn_view turn_at(const struct script *s, unsigned place)
{
	struct slu_core_turn_view turn = {};
	size_t cursor = 0;

	for (unsigned i = 0; i <= place; i++)
		assert_true(slu_core_timeline(s->core, 0, &cursor, &turn));
	return turn;
}

static void test_the_order_is_holder_then_waiting_then_resting(void **state)
{
	struct slu_core_turn_view turn;
	struct script s;
	size_t cursor = 0;

	(void)state;
	begin(&s, "rr", 3, 60, 100);
	script_join_plain(&s, 4, SLU_MODE_ALL);
	s.now_ns += MS(40);
	script_step(&s);
	turn = turn_at(&s, 0);
	assert_int_equal(turn.group, 1);
	assert_int_equal(turn.start_ns + turn.length_ns, s.now_ns + MS(60));
	assert_int_equal(turn.sure_percent, 100);
	turn = turn_at(&s, 1);
	assert_int_equal(turn.group, 2);
	assert_true(turn.is_next);
	assert_int_equal(turn.start_ns, s.now_ns + MS(60));
	assert_int_equal(turn.length_ns, MS(100));
	turn = turn_at(&s, 2);
	assert_int_equal(turn.group, 3);
	assert_false(turn.is_next);
	assert_int_equal(turn.start_ns, s.now_ns + MS(160));
	turn = turn_at(&s, 3);
	assert_int_equal(turn.group, 4);
	assert_true(turn.start_ns == SLU_CORE_NEVER);
	assert_int_equal(turn.sure_percent, 0);
	cursor = 4;
	assert_false(slu_core_timeline(s.core, 0, &cursor, &turn));
	script_end(&s);
}

static void test_a_group_that_cannot_fit_keeps_its_place_and_delays_no_other(void **state)
{
	struct slu_core_turn_view turn;
	struct script s;

	(void)state;
	begin(&s, "rr", 1, 60, 100);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(20));
	script_want(&s, 2, 0, 90, true);
	script_want(&s, 3, 0, 60, true);
	turn = turn_at(&s, 1);
	assert_int_equal(turn.group, 2);
	assert_int_equal(turn.sure_percent, 0);
	turn = turn_at(&s, 2);
	assert_int_equal(turn.group, 3);
	assert_true(turn.is_next);
	assert_int_equal(turn.start_ns, turn_at(&s, 1).start_ns);
	script_end(&s);
}

static void test_a_group_that_has_gone_is_not_listed(void **state)
{
	struct slu_core_turn_view turn;
	struct script s;

	(void)state;
	begin(&s, "rr", 3, 60, 100);
	slu_core_dead(s.core, s.now_ns, 2);
	turn = turn_at(&s, 1);
	assert_int_equal(turn.group, 3);
	script_end(&s);
}

/*
 * In each turn of three: the third gives up all for the second ahead of its turn, and nothing else.
 */
/* Whoever asks between a message and the next step. */
static void test_a_group_that_changed_since_the_step_is_listed_once(void **state)
{
	struct slu_core_turn_view turn;
	struct script s;
	size_t cursor = 0;
	unsigned n = 0, seen[5] = { 0 };

	(void)state;
	begin(&s, "rr", 4, 60, 100);
	for (uint64_t i = 2; i <= 4; i++)
		assert_int_equal(slu_core_park(s.core, s.now_ns, i, true), 0);
	while (slu_core_timeline(s.core, 0, &cursor, &turn)) {
		assert_true(turn.group >= 1 && turn.group <= 4);
		seen[turn.group]++;
		n++;
	}
	assert_int_equal(n, 4);
	for (unsigned i = 1; i <= 4; i++)
		assert_int_equal(seen[i], 1);
	script_end(&s);
}

static void test_rule_28_the_last_group_gives_up_bytes_for_the_next(void **state)
{
	struct script s;
	uint64_t holder = 1;

	(void)state;
	begin(&s, "rr", 3, 60, 100);
	for (unsigned turn = 0; turn < 9; turn++) {
		uint64_t next = holder % 3 + 1, last = next % 3 + 1;

		script_pass(&s, 20);
		obey_all(&s, 3, 60);
		assert_int_equal(script_state(&s, holder), SLU_CORE_RUNNING);
		holds(&s, holder, 60);
		holds(&s, next, 40);
		holds(&s, last, 0);
		script_pass(&s, 100);
		script_rest(&s, holder, 0, true, 0);
		obey_all(&s, 3, 60);
		assert_int_equal(script_state(&s, next), SLU_CORE_RUNNING);
		holds(&s, next, 60);
		holder = next;
	}
	assert_int_equal(turn_at(&s, 1).sure_percent, 100);
	script_end(&s);
}

/* Bytes beyond what the client held that a LIMIT let come ahead. */
static uint64_t fetch(struct script *s, uint64_t client, uint64_t all)
{
	uint64_t before = script_account(s, client, 0).held_bytes;

	for (unsigned k = 0; k < 6; k++)
		for (uint64_t i = 2; i <= 3; i++)
			script_obey(s, i, all, i == client);
	return (script_account(s, client, 0).held_bytes - before) >> 20;
}

static void test_rule_28_wrong_guesses_are_bounded(void **state)
{
	struct slu_core_config config;
	struct script s;
	uint64_t wrong = 0, first;

	(void)state;
	script_config(&config);
	config.slice_ns = MS(100000);
	script_begin(&s, &config, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	run(&s, 1, 60);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t client = 2 + i % 2;

		script_want(&s, client, 0, 60, true);
		script_pass(&s, 20);
		wrong += fetch(&s, client, 60);
		assert_true(wrong <= 100 + 100 / 8);
		script_want(&s, client, 0, 60, false);
	}
	assert_true(wrong >= 80);
	/* the core no longer trusts its guess of the next one, and nothing comes ahead for it */
	script_want(&s, 2, 0, 60, true);
	script_pass(&s, 20);
	assert_int_equal(fetch(&s, 2, 60), 0);
	assert_true(turn_at(&s, 1).sure_percent < 20);
	/* each turn that begins gives an eighth of the device */
	script_want(&s, 1, 0, 60, false);
	script_idle(&s, 1, 0);
	script_pass(&s, 1000);
	script_rest(&s, 1, 0, false, 0);
	for (unsigned k = 0; k < 6; k++)
		for (uint64_t i = 1; i <= 3; i++)
			script_obey(&s, i, 60, i == 2);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_want(&s, 3, 0, 60, true);
	script_pass(&s, 20);
	first = script_account(&s, 3, 0).held_bytes >> 20;
	for (unsigned k = 0; k < 6; k++)
		for (uint64_t i = 1; i <= 3; i++)
			script_obey(&s, i, 60, i != 1);
	assert_in_range(script_account(&s, 3, 0).held_bytes, MIB(first) + 1, MIB(first + 13));
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_order_is_holder_then_waiting_then_resting),
		cmocka_unit_test(test_a_group_that_cannot_fit_keeps_its_place_and_delays_no_other),
		cmocka_unit_test(test_a_group_that_has_gone_is_not_listed),
		cmocka_unit_test(test_a_group_that_changed_since_the_step_is_listed_once),
		cmocka_unit_test(test_rule_28_the_last_group_gives_up_bytes_for_the_next),
		cmocka_unit_test(test_rule_28_wrong_guesses_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
