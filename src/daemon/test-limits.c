/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdbool.h>

#include "base/util.h"
#include "daemon/limits.h"

static void test_the_last_allowed_charge_is_granted_and_the_next_is_not(void **state)
{
	struct slu_limits *limits;
	struct slu_charge charges[4];

	(void)state;
	assert_int_equal(slu_limits_new(&limits), 0);
	slu_limits_set(limits, SLU_LIMITS_SESSIONS, 2, 3);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_SESSIONS, 1, &charges[0]), 0);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_SESSIONS, 1, &charges[1]), 0);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_SESSIONS, 1, &charges[2]),
			 SLU_LIMITS_E_USER);
	assert_int_equal(slu_charge_take(limits, 8, SLU_LIMITS_SESSIONS, 1, &charges[2]), 0);
	assert_int_equal(slu_charge_take(limits, 9, SLU_LIMITS_SESSIONS, 1, &charges[3]),
			 SLU_LIMITS_E_TOTAL);
	assert_int_equal(slu_limits_n_users(limits), 2);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(charges); i++)
		slu_charge_give(&charges[i]);
	assert_int_equal(slu_limits_n_users(limits), 0);
	slu_limits_free(limits);
}

static void test_kinds_do_not_mix(void **state)
{
	struct slu_limits *limits;
	struct slu_charge a, b;

	(void)state;
	assert_int_equal(slu_limits_new(&limits), 0);
	slu_limits_set(limits, SLU_LIMITS_GROUPS, 0, 0);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_GROUPS, 1, &a), SLU_LIMITS_E_USER);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_PROGRAMS, 5, &b), 0);
	assert_int_equal(slu_limits_used(limits, 7, SLU_LIMITS_GROUPS), 0);
	assert_int_equal(slu_limits_used(limits, 7, SLU_LIMITS_PROGRAMS), 5);
	slu_charge_give(&b);
	slu_limits_free(limits);
}

static void test_a_charge_that_cannot_grow_is_unchanged(void **state)
{
	struct slu_limits *limits;
	struct slu_charge charge;

	(void)state;
	assert_int_equal(slu_limits_new(&limits), 0);
	slu_limits_set(limits, SLU_LIMITS_QUEUE_BYTES, 100, 1000);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_QUEUE_BYTES, 0, &charge), 0);
	assert_int_equal(slu_charge_change(&charge, 100), 0);
	assert_int_equal(slu_charge_change(&charge, 101), SLU_LIMITS_E_USER);
	assert_int_equal(slu_charge_change(&charge, UINT64_MAX), SLU_LIMITS_E_USER);
	assert_int_equal(slu_limits_used(limits, 7, SLU_LIMITS_QUEUE_BYTES), 100);
	assert_int_equal(slu_charge_change(&charge, 3), 0);
	assert_int_equal(slu_limits_used(limits, 7, SLU_LIMITS_QUEUE_BYTES), 3);
	slu_charge_give(&charge);
	slu_charge_give(&charge);
	slu_limits_free(limits);
}

static void test_a_lowered_bound_refuses_new_ones_and_keeps_the_old(void **state)
{
	struct slu_limits *limits;
	struct slu_charge a, b;

	(void)state;
	assert_int_equal(slu_limits_new(&limits), 0);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_GROUPS, 50, &a), 0);
	slu_limits_set(limits, SLU_LIMITS_GROUPS, 10, 10);
	assert_int_equal(slu_charge_take(limits, 7, SLU_LIMITS_GROUPS, 1, &b), SLU_LIMITS_E_USER);
	assert_int_equal(slu_charge_change(&a, 20), 0);
	slu_charge_give(&a);
	slu_limits_free(limits);
}

static void test_each_user_gets_half_of_what_the_others_leave_and_root_the_rest(void **state)
{
	struct slu_limits *limits;
	struct slu_charge charges[64] = {};
	unsigned n = 0, had = 64;

	(void)state;
	assert_int_equal(slu_limits_new(&limits), 0);
	slu_limits_share(limits);
	slu_limits_set(limits, SLU_LIMITS_SESSIONS, 64, 64);
	for (uid_t uid = 1; uid <= 5; uid++) {
		unsigned first = n;

		while (!slu_charge_take(limits, uid, SLU_LIMITS_SESSIONS, 1, &charges[n]))
			n++;
		assert_true(n > first && n - first <= had);
		had = n - first;
	}
	assert_true(n <= 60);
	while (n < 64)
		assert_int_equal(slu_charge_take(limits, 0, SLU_LIMITS_SESSIONS, 1, &charges[n++]),
				 0);
	for (unsigned i = 0; i < n; i++)
		slu_charge_give(&charges[i]);
	slu_limits_free(limits);
}

static void test_random_charges_end_at_zero_and_agree_with_a_naive_sum(void **state)
{
	uint64_t seed = slu_test_seed(20261116), sums[4][_SLU_LIMITS_MAX] = {};
	struct slu_limits *limits;
	struct slu_charge charges[64] = {};
	unsigned owner[64];

	(void)state;
	assert_int_equal(slu_limits_new(&limits), 0);
	for (int kind = 0; kind < _SLU_LIMITS_MAX; kind++)
		slu_limits_set(limits, kind, 200, 500);
	for (int step = 0; step < 20000; step++) {
		unsigned i = slu_test_random(&seed) % 64, uid = slu_test_random(&seed) % 4;
		enum slu_limits_kind kind = slu_test_random(&seed) % _SLU_LIMITS_MAX;
		uint64_t amount = slu_test_random(&seed) % 100, total = 0;
		bool fits;
		int r;

		if (charges[i].limits) {
			sums[owner[i]][charges[i].kind] -= charges[i].amount;
			slu_charge_give(&charges[i]);
			continue;
		}
		for (unsigned u = 0; u < 4; u++)
			total += sums[u][kind];
		fits = !amount || (sums[uid][kind] + amount <= 200 && total + amount <= 500);
		r = slu_charge_take(limits, uid, kind, amount, &charges[i]);
		assert_int_equal(!r, fits);
		if (!r) {
			owner[i] = uid;
			sums[uid][kind] += amount;
		}
		assert_int_equal(slu_limits_used(limits, uid, kind), sums[uid][kind]);
	}
	for (unsigned i = 0; i < 64; i++)
		slu_charge_give(&charges[i]);
	slu_limits_free(limits);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_allowed_charge_is_granted_and_the_next_is_not),
		cmocka_unit_test(test_kinds_do_not_mix),
		cmocka_unit_test(test_a_charge_that_cannot_grow_is_unchanged),
		cmocka_unit_test(test_a_lowered_bound_refuses_new_ones_and_keeps_the_old),
		cmocka_unit_test(
			test_each_user_gets_half_of_what_the_others_leave_and_root_the_rest),
		cmocka_unit_test(test_random_charges_end_at_zero_and_agree_with_a_naive_sum),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
