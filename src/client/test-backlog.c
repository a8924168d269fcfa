/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "client/backlog.h"

#define MOST 100

static void test_enough_launches_to_fill_the_target(void **state)
{
	static const struct {
		uint64_t each_ns;
		uint32_t least, most;
	} rows[] = {
		{ 0, MOST, MOST },
		{ 20 * SLU_NS_PER_US, MOST, MOST },
		{ SLU_NS_PER_MS, 9, 10 },
		{ 4 * SLU_NS_PER_MS, 2, 2 },
		{ 15 * SLU_NS_PER_MS, 2, 2 }, /* the next one is waiting already */
		{ 70 * SLU_NS_PER_MS, 1, 1 },
		{ SLU_NS_PER_MS, 9, 10 }, /* and short ones again */
		{ 2 * SLU_NS_PER_US, MOST, MOST },
	};
	struct slu_backlog b = { 0 };

	assert_int_equal(slu_backlog_limit(&b, MOST), SLU_BACKLOG_UNKNOWN);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		for (unsigned k = 0; k < 40; k++)
			slu_backlog_learn(&b, 4, 4 * rows[i].each_ns, true);
		assert_in_range(slu_backlog_limit(&b, MOST), rows[i].least, rows[i].most);
	}
}

/* A report of many launches weighs no more than the newest launches of several reports would. */
static void test_one_report_of_many_launches_is_soon_outweighed(void **state)
{
	struct slu_backlog b = { 0 };

	slu_backlog_learn(&b, 100000, 100000 * SLU_NS_PER_US, true);
	assert_int_equal(slu_backlog_limit(&b, MOST), MOST);
	for (unsigned k = 0; k < 4; k++)
		slu_backlog_learn(&b, 1, 70 * SLU_NS_PER_MS, true);
	assert_in_range(slu_backlog_limit(&b, MOST), 1, 2);
}

static void test_an_end_noticed_late_does_not_make_launches_long(void **state)
{
	struct slu_backlog b = { 0 };
	uint32_t before;

	for (unsigned k = 0; k < 40; k++)
		slu_backlog_learn(&b, 4, 4 * SLU_NS_PER_MS, true);
	before = slu_backlog_limit(&b, MOST);
	slu_backlog_learn(&b, 1, 100 * SLU_NS_PER_S, false);
	assert_int_equal(slu_backlog_limit(&b, MOST), before);
	/* but short launches are noticed */
	for (unsigned k = 0; k < 200; k++)
		slu_backlog_learn(&b, 1, SLU_NS_PER_US, false);
	assert_int_equal(slu_backlog_limit(&b, MOST), MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_launches_to_fill_the_target),
		cmocka_unit_test(test_one_report_of_many_launches_is_soon_outweighed),
		cmocka_unit_test(test_an_end_noticed_late_does_not_make_launches_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
