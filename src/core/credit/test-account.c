/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "core/credit/account.h"
#include "core/credit/capacity.h"

struct fixture {
	struct slu_core_capacity capacity;
	struct slu_core_account one, two;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	slu_core_capacity_init(&f->capacity, true, 100, 0, 0);
	slu_core_account_init(&f->one, &f->capacity, NULL, NULL);
	slu_core_account_init(&f->two, &f->capacity, NULL, NULL);
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	slu_core_account_deinit(&f->one);
	slu_core_account_deinit(&f->two);
	slu_core_capacity_deinit(&f->capacity);
	free(f);
	return 0;
}

static int answer(struct slu_core_account *a, uint64_t seq, uint64_t ceiling, uint64_t held,
		  uint64_t refused)
{
	struct slu_msg_sums sums = {
		.seq = seq,
		.ceiling_bytes = ceiling,
		.held_bytes = held,
		.refused_bytes = refused,
	};

	return slu_core_account_answer(a, 1, &sums);
}

static void test_rule_2_a_raise_is_charged_before_it_is_answered(void **state)
{
	struct fixture *f = *state;

	slu_core_account_raise(&f->one, 1, 60, 60, SLU_PACE_NOW);
	assert_int_equal(f->one.charge_bytes, 60);
	assert_int_equal(f->capacity.charge_bytes, 60);
	assert_true(f->one.is_pending);
	assert_int_equal(slu_core_account_most_bytes(&f->two), 40);
	assert_int_equal(answer(&f->one, 1, 60, 0, 0), 0);
	assert_false(f->one.is_pending);
	assert_int_equal(f->one.charge_bytes, 60);
}

static void test_rule_2_a_lowering_frees_nothing_before_its_own_answer(void **state)
{
	struct fixture *f = *state;

	slu_core_account_report(&f->one, 80, 0);
	slu_core_account_lower(&f->one, 1, 20);
	assert_int_equal(f->one.charge_bytes, 80);
	/* a report that crossed the LIMIT on the way does not answer it */
	assert_int_equal(answer(&f->one, 0, 30, 30, 0), SLU_CORE_ACCOUNT_E_OLD);
	assert_int_equal(f->one.charge_bytes, 80);
	assert_int_equal(f->one.held_bytes, 30);
	assert_true(f->one.is_pending);
	assert_int_equal(answer(&f->one, 1, 30, 30, 0), 0);
	assert_int_equal(f->one.charge_bytes, 30);
	assert_int_equal(answer(&f->one, 1, 20, 10, 0), 0);
	assert_int_equal(f->one.charge_bytes, 20);
}

static void test_undoing_an_unmet_lowering_costs_nothing(void **state)
{
	struct fixture *f = *state;

	slu_core_account_report(&f->one, 70, 0);
	slu_core_account_report(&f->two, 30, 0);
	slu_core_account_lower(&f->one, 1, 10);
	assert_int_equal(answer(&f->one, 1, 70, 70, 0), 0);
	assert_int_equal(slu_core_account_most_bytes(&f->one), 70);
	slu_core_account_raise(&f->one, 2, 70, 70, SLU_PACE_NOW);
	assert_int_equal(f->capacity.charge_bytes, 100);
}

static void test_rule_13_a_refusal_takes_the_limit_down_to_what_is_held(void **state)
{
	struct fixture *f = *state;

	slu_core_account_raise(&f->one, 1, 60, 60, SLU_PACE_NOW);
	assert_int_equal(answer(&f->one, 1, 25, 25, 8), 0);
	assert_int_equal(f->one.limit_bytes, 25);
	assert_int_equal(f->one.charge_bytes, 25);
}

static void test_rule_14_an_old_refusal_changes_no_limit(void **state)
{
	struct fixture *f = *state;

	slu_core_account_raise(&f->one, 1, 60, 60, SLU_PACE_NOW);
	assert_int_equal(answer(&f->one, 0, 0, 0, 8), SLU_CORE_ACCOUNT_E_OLD);
	assert_int_equal(f->one.limit_bytes, 60);
	assert_int_equal(f->one.charge_bytes, 60);
}

static void test_unmovable_memory_above_the_limit_is_charged(void **state)
{
	struct fixture *f = *state;

	slu_core_account_raise(&f->one, 1, 10, 10, SLU_PACE_NOW);
	assert_int_equal(answer(&f->one, 0, 25, 25, 0), SLU_CORE_ACCOUNT_E_OLD);
	assert_int_equal(f->one.charge_bytes, 25);
}

static void test_rule_31_credit_dies_with_the_connection_and_the_charge_stays(void **state)
{
	struct fixture *f = *state;

	slu_core_account_raise(&f->one, 1, 60, 60, SLU_PACE_NOW);
	assert_int_equal(answer(&f->one, 1, 60, 40, 0), 0);
	slu_core_account_void(&f->one);
	assert_int_equal(f->one.limit_bytes, 40);
	assert_int_equal(f->one.charge_bytes, 60);
	slu_core_account_report(&f->one, 45, 0);
	assert_int_equal(f->one.charge_bytes, 45);
	assert_int_equal(f->one.limit_bytes, 45);
	assert_int_equal(f->one.seq, 0);
}

static void test_claims_larger_than_any_memory_are_cut(void **state)
{
	struct fixture *f = *state;

	slu_core_account_report(&f->one, UINT64_MAX, UINT64_MAX);
	slu_core_account_report(&f->two, UINT64_MAX, 0);
	assert_int_equal(f->capacity.charge_bytes, 2 * SLU_CORE_BYTES_MAX);
	slu_core_capacity_check(&f->capacity);
}

/* The sums of the capacity equal those of the accounts after every step and answer. */
static void test_sums_stay_true_under_random_use(void **state)
{
	struct fixture *f = *state;
	struct slu_core_account *accounts[] = { &f->one, &f->two };
	uint64_t seed = slu_test_seed(20260101);

	for (unsigned i = 0; i < 20000; i++) {
		struct slu_core_account *a = accounts[slu_test_random(&seed) % 2];
		uint64_t x = slu_test_random(&seed) % 120;

		switch (slu_test_random(&seed) % 5) {
		case 0:
			x = SLU_MIN(x, slu_core_account_most_bytes(a));
			if (!a->is_pending && x >= a->limit_bytes) {
				slu_core_account_raise(a, i, x, x, SLU_PACE_NOW);
				if (f->capacity.charge_bytes > 100)
					assert_true(f->capacity.held_bytes > 0);
			}
			break;
		case 1:
			if (!a->is_pending && x < a->limit_bytes)
				slu_core_account_lower(a, i, x);
			break;
		case 2:
			x = SLU_MIN(x, a->charge_bytes);
			answer(a, a->seq, SLU_MAX(x, a->limit_bytes), x, 0);
			break;
		case 3:
			if (a->seq)
				answer(a, a->seq - 1, SLU_MIN(x, a->charge_bytes),
				       SLU_MIN(x, a->charge_bytes), 0);
			break;
		default:
			if (x == 0)
				slu_core_account_void(a);
			break;
		}
		slu_core_capacity_check(&f->capacity);
	}
}

static void test_rule_41_unconfirmed_claims_do_not_count(void **state)
{
	struct fixture *f = *state;

	slu_core_account_question(&f->one, 20);
	slu_core_account_report(&f->one, 80, 80);
	assert_int_equal(f->one.held_bytes, 20);
	assert_int_equal(f->one.floor_bytes, 20);
	assert_int_equal(f->capacity.charge_bytes, 20);
	assert_int_equal(f->one.claim_bytes, 80);
	assert_int_equal(answer(&f->one, 0, 90, 90, 0), 0);
	assert_int_equal(f->capacity.charge_bytes, 20);
	/* the device reports more, and then less: granted bytes count in any case */
	slu_core_account_confirm(&f->one, 50, false);
	assert_int_equal(f->one.held_bytes, 50);
	assert_int_equal(f->capacity.charge_bytes, 50);
	slu_core_account_confirm(&f->one, 0, false);
	assert_int_equal(f->one.held_bytes, 20);
}

static void test_rule_41_granted_bytes_count_until_the_client_gives_them_up(void **state)
{
	struct fixture *f = *state;

	slu_core_account_question(&f->one, 0);
	slu_core_account_report(&f->one, 0, 0);
	slu_core_account_raise(&f->one, 1, 60, 60, SLU_PACE_NOW);
	assert_int_equal(answer(&f->one, 1, 60, 60, 0), 0);
	slu_core_account_lower(&f->one, 1, 10);
	assert_int_equal(answer(&f->one, 2, 40, 40, 0), 0);
	assert_int_equal(f->one.charge_bytes, 40);
	assert_int_equal(answer(&f->one, 2, 60, 60, 0), 0);
	assert_int_equal(f->one.charge_bytes, 40);
	/* a client that does not answer keeps what the device reports for it */
	slu_core_account_confirm(&f->one, 15, true);
	assert_int_equal(f->one.charge_bytes, 15);
	assert_int_equal(f->capacity.charge_bytes, 15);
}

static void test_rule_41_one_refusal_counts_for_each_raise_and_less_and_less(void **state)
{
	struct fixture *f = *state;

	slu_core_account_question(&f->one, 0);
	slu_core_account_report(&f->one, 0, 0);
	assert_false(slu_core_account_take_refusal(&f->one, 1, 10));
	for (uint64_t n = 0, now = 100; n < 4; n++) {
		slu_core_account_raise(&f->one, now, 60, 60, SLU_PACE_NOW);
		assert_int_equal(answer(&f->one, n + 1, 60, 0, 60), 0);
		if (n)
			assert_false(slu_core_account_take_refusal(&f->one, now, 10));
		now += n ? 10 << (n - 1) : 0;
		assert_true(slu_core_account_take_refusal(&f->one, now, 10));
		assert_false(slu_core_account_take_refusal(&f->one, now + 1000, 10));
	}
	/* a client whose bytes grow is believed again */
	slu_core_account_raise(&f->one, 300, 60, 60, SLU_PACE_NOW);
	assert_int_equal(answer(&f->one, 5, 60, 10, 0), 0);
	assert_true(slu_core_account_take_refusal(&f->one, 300, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_rule_2_a_raise_is_charged_before_it_is_answered, begin, end),
		cmocka_unit_test_setup_teardown(
			test_rule_2_a_lowering_frees_nothing_before_its_own_answer, begin, end),
		cmocka_unit_test_setup_teardown(test_undoing_an_unmet_lowering_costs_nothing, begin,
						end),
		cmocka_unit_test_setup_teardown(
			test_rule_13_a_refusal_takes_the_limit_down_to_what_is_held, begin, end),
		cmocka_unit_test_setup_teardown(test_rule_14_an_old_refusal_changes_no_limit, begin,
						end),
		cmocka_unit_test_setup_teardown(test_unmovable_memory_above_the_limit_is_charged,
						begin, end),
		cmocka_unit_test_setup_teardown(
			test_rule_31_credit_dies_with_the_connection_and_the_charge_stays, begin,
			end),
		cmocka_unit_test_setup_teardown(test_claims_larger_than_any_memory_are_cut, begin,
						end),
		cmocka_unit_test_setup_teardown(test_sums_stay_true_under_random_use, begin, end),
		cmocka_unit_test_setup_teardown(test_rule_41_unconfirmed_claims_do_not_count, begin,
						end),
		cmocka_unit_test_setup_teardown(
			test_rule_41_granted_bytes_count_until_the_client_gives_them_up, begin,
			end),
		cmocka_unit_test_setup_teardown(
			test_rule_41_one_refusal_counts_for_each_raise_and_less_and_less, begin,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
