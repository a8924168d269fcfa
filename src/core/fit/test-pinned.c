/* SPDX-License-Identifier: Apache-2.0 */

/* Which programs get pinned memory for host copies (rule 42), by script. */

#include "core/test-script.h"

#include "base/util.h"

static uint64_t pinned_limit(const struct script *s, uint64_t client)
{
	return s->limits[client][SLU_WIRE_DEVICES_MAX].limit.limit_bytes >> 20;
}

static void sums_pinned(struct script *s, uint64_t client, uint64_t held_mib)
{
	const struct slu_msg_limit *limit = &s->limits[client][SLU_WIRE_DEVICES_MAX].limit;

	script_sums_full(
		s, client,
		(struct slu_msg_sums){ .account = { SLU_TIER_PINNED, 0 },
				       .seq = limit->seq,
				       .ceiling_bytes = SLU_MAX(limit->limit_bytes, MIB(held_mib)),
				       .held_bytes = MIB(held_mib) });
}

static void join(struct script *s, uint64_t client, enum slu_mode mode)
{
	struct slu_msg_hello hello = script_hello(mode, 1);

	hello.devices[0].pins_copies = 1;
	script_join(s, client, client, &hello);
	sums_pinned(s, client, 10);
}

static void begin(struct script *s, uint64_t pinned_mib)
{
	struct slu_core_config config;

	script_config(&config);
	config.pinned_bytes = MIB(pinned_mib);
	config.staging_bytes = MIB(10);
	script_begin(s, &config, 100);
}

static void test_rule_42_programs_that_fit_get_no_pinned_copies(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 200);
	join(&s, 1, SLU_MODE_ALL);
	join(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 40, true);
	script_want(&s, 2, 0, 50, true);
	script_pass(&s, 100);
	assert_int_equal(pinned_limit(&s, 1), 10);
	assert_int_equal(pinned_limit(&s, 2), 10);
	script_end(&s);
}

static void test_rule_42_copies_are_pinned_in_the_order_of_turns(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 150);
	join(&s, 1, SLU_MODE_ALL);
	join(&s, 2, SLU_MODE_ALL);
	join(&s, 3, SLU_MODE_LAUNCH);
	script_want(&s, 1, 0, 70, true);
	script_obey(&s, 1, 70, true);
	script_want(&s, 2, 0, 80, true);
	script_step(&s);
	/*
	 * the running program has all, the next one the rest; mode LAUNCH does not use pinned
	 * copies
	 */
	assert_int_equal(pinned_limit(&s, 1), 80);
	assert_int_equal(pinned_limit(&s, 2), 60);
	assert_int_equal(pinned_limit(&s, 3), 10);
	assert_int_equal(s.limits[1][SLU_WIRE_DEVICES_MAX].limit.pace, SLU_PACE_AHEAD);
	script_end(&s);
}

static void test_rule_42_copies_yield_to_the_staging_of_a_new_client(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 100);
	join(&s, 1, SLU_MODE_ALL);
	join(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 70, true);
	script_obey(&s, 1, 70, true);
	script_want(&s, 2, 0, 80, true);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 1) + pinned_limit(&s, 2), 100);
	sums_pinned(&s, 1, pinned_limit(&s, 1));
	sums_pinned(&s, 2, pinned_limit(&s, 2));
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 1) + pinned_limit(&s, 2), 90);
	for (uint64_t i = 1; i <= 2; i++)
		sums_pinned(&s, i, pinned_limit(&s, i));
	assert_int_equal(pinned_limit(&s, 3), 10);
	script_end(&s);
}

/* A context that is dead unpins nothing. */
static void test_rule_44_others_give_up_copies_for_one_that_cannot(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 100);
	join(&s, 1, SLU_MODE_ALL);
	join(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 50, true);
	script_obey(&s, 1, 50, true);
	script_want(&s, 2, 0, 80, true);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 1), 60);
	assert_int_equal(pinned_limit(&s, 2), 40);
	sums_pinned(&s, 1, 60);
	sums_pinned(&s, 2, 40);
	script_join_plain(&s, 3, SLU_MODE_ALL);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 2), 30);
	sums_pinned(&s, 2, 40);
	script_pass(&s, 900);
	assert_int_equal(pinned_limit(&s, 1), 60);
	script_pass(&s, 200);
	assert_int_equal(pinned_limit(&s, 1), 50);
	sums_pinned(&s, 1, 50);
	assert_int_equal(pinned_limit(&s, 3), 10);
	assert_false(script_group(&s, 2).is_stuck);
	script_end(&s);
}

static void test_rule_42_a_program_that_rested_long_gives_up_copies(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 100);
	join(&s, 1, SLU_MODE_ALL);
	join(&s, 2, SLU_MODE_ALL);
	script_want(&s, 1, 0, 80, true);
	script_obey(&s, 1, 80, true);
	script_want(&s, 2, 0, 80, false);
	script_step(&s);
	sums_pinned(&s, 1, pinned_limit(&s, 1));
	assert_int_equal(pinned_limit(&s, 1), 90);
	assert_int_equal(pinned_limit(&s, 2), 10);
	/* the first program ends its work, the second begins */
	script_idle(&s, 1, 0);
	script_want(&s, 2, 0, 80, true);
	script_pass(&s, 200);
	script_rest(&s, 1, 0, false, 0);
	script_obey(&s, 2, 80, true);
	script_pass(&s, 5000);
	assert_int_equal(pinned_limit(&s, 1), 90); /* it may come back */
	script_pass(&s, 6000);
	script_want(&s, 2, 0, 80, true);
	assert_int_equal(pinned_limit(&s, 1), 10);
	sums_pinned(&s, 1, 10);
	assert_int_equal(pinned_limit(&s, 2), 90);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_42_programs_that_fit_get_no_pinned_copies),
		cmocka_unit_test(test_rule_42_copies_are_pinned_in_the_order_of_turns),
		cmocka_unit_test(test_rule_42_copies_yield_to_the_staging_of_a_new_client),
		cmocka_unit_test(test_rule_44_others_give_up_copies_for_one_that_cannot),
		cmocka_unit_test(test_rule_42_a_program_that_rested_long_gives_up_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
