/* SPDX-License-Identifier: Apache-2.0 */

/* Quotas of device time: of two programs of one user and one of another. */

#include "core/test-script.h"

#include <string.h>

#define ANNA  77
#define BERTA 78

static void give_quota(struct script *s, uint64_t client, uint64_t user, uint64_t ms,
		       uint64_t period_ms)
{
	struct slu_core_bounds bounds = {
		.quotas = { [SLU_CORE_QUOTA_USER] = { user, 0, MS(ms), MS(period_ms) } },
	};

	slu_core_bound(s->core, s->now_ns, client, &bounds);
}

static void join(struct script *s, uint64_t client, uint64_t user, uint64_t ms, uint64_t period_ms)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct slu_core_join join = {
		.client = client,
		.group = client,
		.name = "program",
		.hello = &hello,
		.bounds.quotas = { [SLU_CORE_QUOTA_USER] = { user, 0, MS(ms), MS(period_ms) } },
	};

	assert_int_equal(slu_core_hello(s->core, s->now_ns, &join), 0);
	script_step(s);
}

static void run(struct script *s, uint64_t client)
{
	script_want(s, client, 0, 10, true);
	script_obey(s, client, 10, true);
}

static void begin(struct script *s)
{
	struct slu_core_config config;

	script_config(&config);
	script_begin(s, &config, 100);
}

static void test_a_program_over_its_quota_is_closed_and_waits(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	join(&s, 1, ANNA, 1000, 10000);
	run(&s, 1);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_pass(&s, 900);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_forget(&s);
	/* a tenth of what it uses becomes free meanwhile */
	script_pass(&s, 250);
	assert_non_null(script_find(&s, 1, SLU_MSG_CLOSE));
	script_obey(&s, 1, 10, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_true(script_group(&s, 1).is_over_quota);
	assert_non_null(strstr(script_group(&s, 1).reason, "quota.user_time"));
	assert_non_null(strstr(script_group(&s, 1).reason, "1.00 s of device time in 10.0 s"));
	script_end(&s);
}

static void test_it_goes_on_when_a_slice_is_free_again(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	join(&s, 1, ANNA, 1000, 10000);
	run(&s, 1);
	script_pass(&s, 1200);
	script_obey(&s, 1, 10, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	script_forget(&s);
	/* a slice of 100 ms takes a second to become free */
	script_pass(&s, 500);
	assert_null(script_find(&s, 1, SLU_MSG_TURN));
	script_pass(&s, 1500);
	assert_non_null(script_find(&s, 1, SLU_MSG_TURN));
	script_end(&s);
}

static void test_programs_of_one_user_share_the_quota_also_after_their_end(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	join(&s, 1, ANNA, 1000, 100000);
	run(&s, 1);
	script_pass(&s, 900);
	slu_core_dead(s.core, s.now_ns, 1);
	script_step(&s);
	join(&s, 2, ANNA, 1000, 100000);
	join(&s, 3, BERTA, 1000, 100000);
	run(&s, 2);
	run(&s, 3);
	script_pass(&s, 300);
	script_obey(&s, 2, 10, true);
	assert_true(script_group(&s, 2).is_over_quota);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	assert_false(script_group(&s, 3).is_over_quota);
	assert_int_equal(script_state(&s, 3), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_a_larger_quota_counts_at_once(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	join(&s, 1, ANNA, 1000, 100000);
	run(&s, 1);
	script_pass(&s, 1200);
	script_obey(&s, 1, 10, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	give_quota(&s, 1, ANNA, 5000, 100000);
	script_step(&s);
	assert_false(script_group(&s, 1).is_over_quota);
	assert_int_equal(script_state(&s, 1), SLU_CORE_FILLING);
	script_end(&s);
}

static void test_rest_does_not_count(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	join(&s, 1, ANNA, 1000, 100000);
	run(&s, 1);
	script_pass(&s, 500);
	script_idle(&s, 1, 0);
	script_pass(&s, 5000);
	assert_false(script_group(&s, 1).is_over_quota);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_over_its_quota_is_closed_and_waits),
		cmocka_unit_test(test_it_goes_on_when_a_slice_is_free_again),
		cmocka_unit_test(test_programs_of_one_user_share_the_quota_also_after_their_end),
		cmocka_unit_test(test_a_larger_quota_counts_at_once),
		cmocka_unit_test(test_rest_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
