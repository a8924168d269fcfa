/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "core/core.h"
#include "core/group.h"
#include "core/sched/policy.h"

static void test_when_a_turn_is_over(void **state)
{
	static const struct {
		const char *what;
		const char *policy;
		uint64_t slice_ns, min_switches, running_ns, switch_ns;
		uint64_t over_ns;
	} rows[] = {
		{ "a slice after it began to run", "rr", 100, 0, 1000, 50, 1100 },
		{ "a long switch lengthens it", "rr", 100, 10, 1000, 50, 1500 },
		{ "a short one does not shorten it", "rr", 100, 10, 1000, 1, 1100 },
		{ "beyond all time is never", "rr", 100, 10, 1000, UINT64_MAX / 2, SLU_CORE_NEVER },
		{ "first come, first served is never over", "fifo", 100, 10, 1000, 50,
		  SLU_CORE_NEVER },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const struct slu_core_policy *policy = slu_core_policy_find(rows[i].policy);
		struct slu_core_config config = { .slice_ns = rows[i].slice_ns,
						  .slice_min_switches = rows[i].min_switches };
		struct slu_core_group group = { .running_ns = rows[i].running_ns,
						.switch_ns = rows[i].switch_ns };
		struct slu_core_group asker = {};

		print_message("# %s\n", rows[i].what);
		assert_non_null(policy);
		assert_true(policy->over_ns(&group, &asker, &config) == rows[i].over_ns);
	}
}

static void test_who_runs_next(void **state)
{
	static const struct {
		const char *what;
		uint64_t a_order, b_order;
		bool a_first;
	} rows[] = {
		{ "who came first", 1, 2, true },
		{ "who came last waits", 7, 3, false },
		{ "nobody precedes itself", 4, 4, false },
	};

	(void)state;
	for (unsigned p = 0; slu_core_policy_at(p); p++) {
		void *fresh = test_calloc(1, slu_core_policy_state_max() + 1);

		for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
			struct slu_core_group a = { .order = rows[i].a_order,
						    .policy_state = fresh };
			struct slu_core_group b = { .order = rows[i].b_order,
						    .policy_state = fresh };

			print_message("# %s: %s\n", slu_core_policy_at(p)->name, rows[i].what);
			assert_int_equal(slu_core_policy_at(p)->precedes(&a, &b), rows[i].a_first);
		}
		test_free(fresh);
	}
}

static void test_how_long_a_turn_is_expected(void **state)
{
	struct slu_core_config config = { .slice_ns = 100, .slice_min_switches = 10 };
	struct slu_core_group fresh = {}, known = { .n_turns = 4, .ran_ns = 2000, .switch_ns = 30 };
	const struct slu_core_policy *rr = slu_core_policy_find("rr");
	const struct slu_core_policy *fifo = slu_core_policy_find("fifo");

	(void)state;
	assert_int_equal(rr->length_ns(&fresh, &config), 100);
	assert_int_equal(rr->length_ns(&known, &config), 300);
	assert_int_equal(fifo->length_ns(&fresh, &config), 100);
	assert_int_equal(fifo->length_ns(&known, &config), 500);
}

static void test_policy_names_are_unique(void **state)
{
	(void)state;
	assert_null(slu_core_policy_find("no such policy"));
	assert_null(slu_core_policy_find(NULL));
	for (unsigned i = 0; slu_core_policy_at(i); i++) {
		const struct slu_core_policy *policy = slu_core_policy_at(i);

		assert_ptr_equal(slu_core_policy_find(policy->name), policy);
		assert_true(policy->about[0] != '\0');
		assert_non_null(policy->precedes);
		assert_non_null(policy->over_ns);
		assert_non_null(policy->length_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when_a_turn_is_over),
		cmocka_unit_test(test_who_runs_next),
		cmocka_unit_test(test_how_long_a_turn_is_expected),
		cmocka_unit_test(test_policy_names_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
