/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/size.h"
#include "base/util.h"

static void test_sizes_as_people_write_them(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t bytes;
	} rows[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "16G", 0, 16 * SLU_GIB },
		{ "1.5 GiB", 0, 3 * SLU_GIB / 2 },
		{ "512m", 0, 512 * SLU_MIB },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "12 parsecs", -EINVAL, 0 },
		{ "99999999T", -ERANGE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		uint64_t bytes = 77;

		assert_int_equal(slu_size_parse(rows[i].text, &bytes), rows[i].r);
		assert_int_equal(bytes, rows[i].r ? 77 : rows[i].bytes);
	}
}

static void test_times_as_people_write_them(void **state)
{
	uint64_t ns = 0;

	(void)state;
	assert_int_equal(slu_size_parse_time("250ms", &ns), 0);
	assert_int_equal(ns, 250 * SLU_NS_PER_MS);
	assert_int_equal(slu_size_parse_time("1.5 s", &ns), 0);
	assert_int_equal(ns, 1500 * SLU_NS_PER_MS);
	assert_int_equal(slu_size_parse_time("5", &ns), -EINVAL);
	assert_int_equal(slu_size_parse_time("5m", &ns), 0);
	assert_int_equal(ns, 300 * SLU_NS_PER_S);
	assert_int_equal(slu_size_parse_time("5min", &ns), 0);
	assert_int_equal(ns, 300 * SLU_NS_PER_S);
}

static void test_three_digits_and_a_unit(void **state)
{
	char buf[SLU_SIZE_STRING_MAX];

	(void)state;
	assert_string_equal(slu_size_format(buf, 0), "0 B");
	assert_string_equal(slu_size_format(buf, 1023), "1023 B");
	assert_string_equal(slu_size_format(buf, 1024), "1.00 KiB");
	assert_string_equal(slu_size_format(buf, 16 * SLU_GIB), "16.0 GiB");
	assert_string_equal(slu_size_format(buf, SLU_GIB - 1), "1.00 GiB");
	assert_string_equal(slu_size_format_time(buf, 2100 * SLU_NS_PER_MS), "2.10 s");
	assert_string_equal(slu_size_format_time(buf, 350 * SLU_NS_PER_US), "350 us");
	assert_string_equal(slu_size_format_time(buf, 300 * SLU_NS_PER_S), "300 s");
	assert_string_equal(slu_size_format_time(buf, 1200 * SLU_NS_PER_S), "20 min");
	assert_string_equal(slu_size_format_time(buf, 5 * 3600 * SLU_NS_PER_S), "5 h");
	assert_string_equal(slu_size_format_time(buf, 9 * 86400 * SLU_NS_PER_S), "9 days");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_as_people_write_them),
		cmocka_unit_test(test_times_as_people_write_them),
		cmocka_unit_test(test_three_digits_and_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
