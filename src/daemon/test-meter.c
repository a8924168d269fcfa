/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "daemon/meter.h"

#define NOW (100 * SLU_NS_PER_S)

static void test_who_used_more_is_on_a_higher_level_until_it_is_long_ago(void **state)
{
	struct slu_meter meter = { 0 };
	unsigned level;

	(void)state;
	assert_int_equal(slu_meter_level(&meter, 7, NOW), 0);
	slu_meter_spend(&meter, 7, NOW, 100 * SLU_NS_PER_MS);
	slu_meter_spend(&meter, 8, NOW, 5 * SLU_NS_PER_MS);
	level = slu_meter_level(&meter, 7, NOW);
	assert_true(level > slu_meter_level(&meter, 8, NOW));
	assert_true(slu_meter_level(&meter, 8, NOW) > slu_meter_level(&meter, 9, NOW));
	assert_true(slu_meter_level(&meter, 7, NOW + SLU_NS_PER_S) < level);
	assert_int_equal(slu_meter_level(&meter, 7, NOW + 60 * SLU_NS_PER_S), 0);
	slu_meter_spend(&meter, 7, NOW, UINT64_MAX / 2);
	assert_int_equal(slu_meter_level(&meter, 7, NOW), SLU_METER_LEVELS - 1);
}

static void test_many_users_who_come_and_go_do_not_make_one_be_forgotten(void **state)
{
	struct slu_meter meter = { 0 };

	(void)state;
	slu_meter_spend(&meter, 7, NOW, SLU_NS_PER_S);
	for (uid_t uid = 1000; uid < 1000 + 10 * SLU_METER_USERS; uid++)
		slu_meter_spend(&meter, uid, NOW, SLU_NS_PER_MS);
	assert_true(slu_meter_level(&meter, 7, NOW) >= 9);
}

static void test_lines_have_a_rate(void **state)
{
	struct slu_meter meter = { 0 };
	unsigned n = 0;

	(void)state;
	while (slu_meter_may_speak(&meter, 7, NOW))
		n++;
	assert_int_equal(n, 32);
	assert_true(slu_meter_may_speak(&meter, 8, NOW));
	assert_true(slu_meter_may_speak(&meter, 7, NOW + SLU_NS_PER_S));
	assert_false(slu_meter_may_speak(&meter, 7, NOW + SLU_NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_used_more_is_on_a_higher_level_until_it_is_long_ago),
		cmocka_unit_test(test_many_users_who_come_and_go_do_not_make_one_be_forgotten),
		cmocka_unit_test(test_lines_have_a_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
