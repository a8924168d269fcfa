/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "nvml/usage.h"

#define MS UINT64_C(1000000)

static void only_the_last_second_counts_and_only_who_is_asked_for(void **state)
{
	static const uint64_t now = 5000 * MS;
	static const struct dev_board_job jobs[] = {
		{ 1000 * MS, 3000 * MS, 0, 1, DEV_BOARD_ENGINE_COMPUTE, 7 },
		{ 3900 * MS, 4100 * MS, 0, 1, DEV_BOARD_ENGINE_COMPUTE, 7 },
		{ 4500 * MS, 4700 * MS, 0, 1, DEV_BOARD_ENGINE_COMPUTE, 8 },
		{ 4900 * MS, 6000 * MS, 0, 1, DEV_BOARD_ENGINE_IN, 7 },
		{ 4200 * MS, 4250 * MS, 0, 1, DEV_BOARD_ENGINE_OUT, 8 },
		{ 4300 * MS, 4300 * MS, 0, 1, 99, 8 },
	};
	static const struct {
		const char *what;
		uint64_t now_ns;
		uint32_t who;
		unsigned compute, bus;
	} rows[] = {
		{ "all: what began before and what ends later is cut", now, 0, 30, 10 },
		{ "the first process", now, 7, 10, 10 },
		{ "the second process", now, 8, 20, 5 },
		{ "nobody", now, 9, 0, 0 },
		{ "long after", 60000 * MS, 0, 0, 0 },
		{ "all of the time", 2500 * MS, 0, 100, 0 },
		{ "before a second has passed", 500 * MS, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dev_nvml_usage u = dev_nvml_usage(jobs, sizeof(jobs) / sizeof(jobs[0]),
							 rows[i].now_ns, rows[i].who);

		if (u.compute_percent != rows[i].compute || u.bus_percent != rows[i].bus)
			fail_msg("%s: %u %% and %u %%", rows[i].what, u.compute_percent,
				 u.bus_percent);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_last_second_counts_and_only_who_is_asked_for),
	};

	return cmocka_run_group_tests_name("nvml-usage", tests, NULL, NULL);
}
