/* SPDX-License-Identifier: Apache-2.0 */
/* When a digest is worth its time. */

#include "lib/test.h"

#include "client/hash-cost.h"

static void an_unmeasured_digest_is_tried(void **state)
{
	struct slu_hash_cost cost = { 0 };

	assert_true(slu_hash_cost_is_worth_it(&cost, 4096));
	slu_speed_note(&cost.hash_speed, 1000, 4096);
	assert_true(slu_hash_cost_is_worth_it(&cost, 4096));
}

static void a_digest_that_is_faster_than_the_copy_is_worth_it(void **state)
{
	struct slu_hash_cost cost = { 0 };

	slu_speed_note(&cost.hash_speed, 1000, 4096);
	slu_speed_note(&cost.copy_speed, 2000, 4096);
	for (unsigned i = 0; i < 100; i++)
		assert_true(slu_hash_cost_is_worth_it(&cost, 65536));
}

static void a_slower_digest_is_tried_occasionally(void **state)
{
	struct slu_hash_cost cost = { 0 };
	unsigned n = 0;

	slu_speed_note(&cost.hash_speed, 2000, 4096);
	slu_speed_note(&cost.copy_speed, 1000, 4096);
	for (unsigned i = 0; i < 160; i++)
		n += slu_hash_cost_is_worth_it(&cost, 4096);
	assert_int_equal(n, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unmeasured_digest_is_tried),
		cmocka_unit_test(a_digest_that_is_faster_than_the_copy_is_worth_it),
		cmocka_unit_test(a_slower_digest_is_tried_occasionally),
	};

	return cmocka_run_group_tests_name("hash-cost", tests, NULL, NULL);
}
