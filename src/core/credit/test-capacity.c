/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "core/credit/account.h"
#include "core/credit/capacity.h"

static void test_rule_14_a_refusal_leaves_nothing_free(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account a;

	(void)state;
	slu_core_capacity_init(&c, true, 160, 0, 0);
	slu_core_account_init(&a, &c, NULL, NULL);
	slu_core_account_report(&a, 100, 0);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 60);
	slu_core_capacity_refused(&c, 5);
	assert_int_equal(slu_core_capacity_bytes(&c), 100);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 0);
	assert_int_equal(c.n_refusals, 1);
	slu_core_account_deinit(&a);
	slu_core_capacity_deinit(&c);
}

static void test_rule_16_the_estimate_rises_in_steps_and_each_refusal_doubles_the_wait(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account a;
	uint64_t due;

	(void)state;
	slu_core_capacity_init(&c, true, 160, 0, 0);
	assert_false(slu_core_capacity_can_rise(&c, 100, &due));
	for (unsigned i = 0, back_off = 2; i < 8;
	     i++, back_off = back_off < 64 ? back_off * 2 : 64) {
		slu_core_capacity_refused(&c, 1000);
		assert_true(slu_core_capacity_can_rise(&c, 100, &due));
		assert_int_equal(due, 1000 + 100 * back_off);
	}
	slu_core_capacity_rise(&c, 3000);
	assert_int_equal(slu_core_capacity_bytes(&c), 10);
	assert_true(slu_core_capacity_can_rise(&c, 100, &due));
	assert_int_equal(due, 3000 + 100 * 64);
	slu_core_account_init(&a, &c, NULL, NULL);
	slu_core_account_report(&a, 5, 0);
	slu_core_capacity_rise(&c, 4000);
	assert_true(slu_core_capacity_can_rise(&c, 100, &due));
	assert_int_equal(due, 4000 + 100 * 32);
	slu_core_account_deinit(&a);
	for (unsigned i = 0; i < 20; i++)
		slu_core_capacity_rise(&c, 4000);
	assert_int_equal(slu_core_capacity_bytes(&c), 160);
	assert_false(slu_core_capacity_can_rise(&c, 100, &due));
	slu_core_capacity_deinit(&c);
}

static void test_rule_16_a_departure_ends_the_long_wait(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account stays, departs;
	uint64_t due;

	(void)state;
	slu_core_capacity_init(&c, true, 160, 0, 0);
	slu_core_account_init(&stays, &c, NULL, NULL);
	slu_core_account_init(&departs, &c, NULL, NULL);
	slu_core_account_report(&stays, 50, 0);
	for (unsigned i = 0; i < 8; i++)
		slu_core_capacity_refused(&c, 1000);
	slu_core_account_deinit(&departs);
	slu_core_capacity_departed(&c, 1200);
	assert_true(slu_core_capacity_can_rise(&c, 100, &due));
	assert_int_equal(due, 1000 + 100);
	assert_int_equal(c.estimate_bytes, 50);
	slu_core_account_deinit(&stays);
	slu_core_capacity_deinit(&c);
}

static void test_rule_16_outsiders_that_leave_end_the_long_wait(void **state)
{
	struct slu_core_capacity c;
	uint64_t due;

	(void)state;
	slu_core_capacity_init(&c, true, 160, 0, 0);
	slu_core_capacity_outsiders(&c, 40);
	for (unsigned i = 0; i < 8; i++)
		slu_core_capacity_refused(&c, 1000);
	/* less than a step: the next try would be refused as well */
	slu_core_capacity_outsiders(&c, 31);
	assert_true(slu_core_capacity_can_rise(&c, 100, &due));
	assert_int_equal(due, 1000 + 100 * 64);
	slu_core_capacity_outsiders(&c, 21);
	assert_true(slu_core_capacity_can_rise(&c, 100, &due));
	assert_int_equal(due, 1000 + 100);
	slu_core_capacity_deinit(&c);
}

static void test_rule_16_the_estimate_lies_between_held_bytes_and_what_outsiders_leave(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account a;

	(void)state;
	slu_core_capacity_init(&c, true, 100, 0, 0);
	slu_core_account_init(&a, &c, NULL, NULL);
	slu_core_capacity_outsiders(&c, 70);
	assert_int_equal(slu_core_capacity_bytes(&c), 30);
	slu_core_account_report(&a, 50, 0);
	assert_int_equal(slu_core_capacity_bytes(&c), 50);
	slu_core_capacity_outsiders(&c, 500);
	assert_int_equal(slu_core_capacity_bytes(&c), 50);
	slu_core_capacity_outsiders(&c, 0);
	assert_int_equal(slu_core_capacity_bytes(&c), 100);
	slu_core_account_deinit(&a);
	slu_core_capacity_deinit(&c);
}

static void test_a_client_that_holds_more_raises_the_estimate(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account a;

	(void)state;
	slu_core_capacity_init(&c, true, 100, 0, 0);
	slu_core_account_init(&a, &c, NULL, NULL);
	slu_core_capacity_refused(&c, 1);
	assert_int_equal(c.estimate_bytes, 0);
	slu_core_account_report(&a, 60, 0);
	assert_int_equal(c.estimate_bytes, 60);
	slu_core_account_deinit(&a);
	slu_core_capacity_deinit(&c);
}

static void test_a_budget_is_not_learned(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account a;
	uint64_t due;

	(void)state;
	slu_core_capacity_init(&c, false, 100, 0, 0);
	slu_core_account_init(&a, &c, NULL, NULL);
	slu_core_account_report(&a, 130, 0);
	assert_int_equal(slu_core_capacity_bytes(&c), 100);
	assert_int_equal(slu_core_capacity_free_bytes(&c), -30);
	assert_false(slu_core_capacity_can_rise(&c, 100, &due));
	slu_core_account_deinit(&a);
	slu_core_capacity_deinit(&c);
}

static void test_what_is_away_is_there_for_others(void **state)
{
	struct slu_core_capacity c;
	struct slu_core_account a, b;

	(void)state;
	slu_core_capacity_init(&c, true, 100, 0, 0);
	slu_core_account_init(&a, &c, NULL, NULL);
	slu_core_account_init(&b, &c, NULL, NULL);
	slu_core_account_report(&a, 40, 40);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 60);
	slu_core_account_set_away(&a, true);
	slu_core_account_set_away(&a, true);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 100);
	/* a refusal tells of what is there, and not of what is away */
	slu_core_account_report(&b, 70, 0);
	slu_core_capacity_refused(&c, 5);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 0);
	assert_int_equal(c.estimate_bytes, 70);
	/* its charge may change meanwhile */
	slu_core_account_report(&a, 30, 30);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 0);
	slu_core_capacity_check(&c);
	slu_core_capacity_forget(&c, 6);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 30);
	slu_core_account_set_away(&a, false);
	assert_int_equal(slu_core_capacity_free_bytes(&c), 0);
	slu_core_account_set_away(&a, true);
	slu_core_account_deinit(&a);
	assert_int_equal(c.away_bytes, 0);
	slu_core_account_deinit(&b);
	slu_core_capacity_deinit(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_14_a_refusal_leaves_nothing_free),
		cmocka_unit_test(
			test_rule_16_the_estimate_rises_in_steps_and_each_refusal_doubles_the_wait),
		cmocka_unit_test(test_rule_16_a_departure_ends_the_long_wait),
		cmocka_unit_test(test_rule_16_outsiders_that_leave_end_the_long_wait),
		cmocka_unit_test(
			test_rule_16_the_estimate_lies_between_held_bytes_and_what_outsiders_leave),
		cmocka_unit_test(test_a_client_that_holds_more_raises_the_estimate),
		cmocka_unit_test(test_a_budget_is_not_learned),
		cmocka_unit_test(test_what_is_away_is_there_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
