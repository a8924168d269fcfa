/* SPDX-License-Identifier: Apache-2.0 */

/* Pinned memory for copies (rule 30), by script. */

#include "core/test-script.h"

#include "base/util.h"

static void test_rule_30_staging_is_granted_while_the_budget_lasts(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(40);
	config.staging_bytes = MIB(16);
	script_begin(&s, &config, 100);
	for (uint64_t i = 1; i <= 3; i++)
		script_join_plain(&s, i, SLU_MODE_ALL);
	assert_int_equal(s.limits[1][SLU_WIRE_DEVICES_MAX].limit.limit_bytes, MIB(16));
	assert_int_equal(s.limits[2][SLU_WIRE_DEVICES_MAX].limit.limit_bytes, MIB(16));
	assert_null(script_find(&s, 3, SLU_MSG_LIMIT));
	slu_core_dead(s.core, s.now_ns, 1);
	script_step(&s);
	assert_int_equal(s.limits[3][SLU_WIRE_DEVICES_MAX].limit.limit_bytes, MIB(16));
	script_end(&s);
}

static void test_rule_30_a_client_that_never_pins_gets_no_staging(void **state)
{
	struct slu_msg_hello one = script_hello(SLU_MODE_LAUNCH, 1);
	struct slu_msg_hello two = script_hello(SLU_MODE_LAUNCH, 2);
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(16);
	config.staging_bytes = MIB(16);
	script_begin(&s, &config, 100);
	assert_int_equal(slu_core_device_add(s.core, s.now_ns, "GPU 1", MIB(100), 0), 1);
	one.devices[0].never_pins = 1;
	script_join(&s, 1, 1, &one);
	assert_null(script_find(&s, 1, SLU_MSG_LIMIT));
	/* one device that can use it is enough; and there is no more of it */
	two.devices[1].never_pins = 1;
	script_join(&s, 2, 2, &two);
	assert_int_equal(s.limits[2][SLU_WIRE_DEVICES_MAX].limit.limit_bytes, MIB(16));
	script_end(&s);
}

static void sums_pinned(struct script *s, uint64_t client, uint64_t held_mib, bool is_final)
{
	const struct slu_msg_limit *limit = &s->limits[client][SLU_WIRE_DEVICES_MAX].limit;

	script_sums_full(
		s, client,
		(struct slu_msg_sums){ .account = { SLU_TIER_PINNED, 0 },
				       .is_final = is_final,
				       .seq = limit->seq,
				       .ceiling_bytes = SLU_MAX(limit->limit_bytes, MIB(held_mib)),
				       .held_bytes = MIB(held_mib),
				       .floor_bytes = MIB(held_mib) });
}

static uint64_t pinned_limit(const struct script *s, uint64_t client)
{
	return s->limits[client][SLU_WIRE_DEVICES_MAX].limit.limit_bytes >> 20;
}

static void test_rule_30_staging_shrinks_with_its_budget(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(60);
	config.staging_bytes = MIB(16);
	script_begin(&s, &config, 100);
	for (uint64_t i = 1; i <= 3; i++) {
		script_join_plain(&s, i, SLU_MODE_ALL);
		sums_pinned(&s, i, 16, false);
	}
	script_want(&s, 3, 0, 40, true);
	script_obey(&s, 3, 40, true);
	assert_int_equal(script_state(&s, 3), SLU_CORE_RUNNING);
	script_forget(&s);

	/* the last to join gives up first, although it runs, and no client more than is needed */
	config.pinned_bytes = MIB(32);
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), 0);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 3), 0);
	assert_int_equal(pinned_limit(&s, 2), 16);
	assert_null(script_find(&s, 3, SLU_MSG_CLOSE));
	sums_pinned(&s, 3, 16, true);
	script_pass(&s, 500);
	assert_int_equal(pinned_limit(&s, 3), 0);
	assert_int_equal(pinned_limit(&s, 2), 16);
	sums_pinned(&s, 3, 0, false);

	/* and back again */
	config.pinned_bytes = MIB(20);
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), 0);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 2), 0);
	assert_int_equal(pinned_limit(&s, 1), 16);
	sums_pinned(&s, 2, 0, false);
	config.pinned_bytes = MIB(60);
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), 0);
	script_step(&s);
	assert_int_equal(pinned_limit(&s, 2), 16);
	assert_int_equal(pinned_limit(&s, 3), 16);
	script_end(&s);
}

static void test_rule_30_unused_credit_goes_before_staging(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(100);
	config.staging_bytes = MIB(16);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_MAPPED);
	sums_pinned(&s, 1, 16, false);
	script_join_plain(&s, 2, SLU_MODE_ALL);
	sums_pinned(&s, 2, 16, false);
	/* 30 MiB and one unit are to be mapped; nothing is mapped yet */
	script_want(&s, 1, 0, 130, true);
	assert_int_equal(pinned_limit(&s, 1), 47);
	sums_pinned(&s, 1, 16, false);
	script_want(&s, 1, 0, 90, true);
	script_pass(&s, 200);
	config.pinned_bytes = MIB(32);
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), 0);
	script_pass(&s, 200);
	assert_int_equal(pinned_limit(&s, 1), 16);
	assert_int_equal(pinned_limit(&s, 2), 16);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_30_staging_is_granted_while_the_budget_lasts),
		cmocka_unit_test(test_rule_30_a_client_that_never_pins_gets_no_staging),
		cmocka_unit_test(test_rule_30_staging_shrinks_with_its_budget),
		cmocka_unit_test(test_rule_30_unused_credit_goes_before_staging),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
