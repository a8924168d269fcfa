/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory that the driver pages, by script: it gets bytes in a turn and keeps no program from
 * running.
 */

#include "core/test-script.h"

/* @client wants @units MiB, and has @paged MiB more that the driver pages. */
static void want(struct script *s, uint64_t client, uint64_t units, uint64_t paged)
{
	script_want_min(s, client, units, units + paged);
}

/* Both obey until no message is new. */
static void answer_all(struct script *s, uint64_t one_mib, uint64_t two_mib, bool two_is_runnable)
{
	for (unsigned i = 0; i < 8; i++) {
		script_obey(s, 1, one_mib, true);
		script_obey(s, 2, two_mib, two_is_runnable);
		script_pass(s, 5);
	}
}

static void begin(struct script *s, enum slu_mode mode)
{
	script_begin(s, NULL, 100);
	script_join_plain(s, 1, mode);
	script_join_plain(s, 2, SLU_MODE_ALL);
}

static void test_paged_memory_above_the_device_delays_no_turn(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	want(&s, 1, 20, 300);
	answer_all(&s, 20, 0, false);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_limit(&s, 1, 0), 100);
	script_pass(&s, 6000);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_units_that_do_not_fit_are_still_denied(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	want(&s, 1, 101, 10);
	script_pass(&s, 6000);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_others_give_up_what_they_can_for_paged_memory(void **state)
{
	static const struct {
		uint64_t paged_mib, remaining_mib; /* of the program that held 60 of 100 MiB */
	} rows[] = { { 30, 60 }, { 70, 30 }, { 100, 0 }, { 300, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct script s;

		begin(&s, SLU_MODE_ALL);
		script_want(&s, 2, 0, 60, true);
		answer_all(&s, 0, 60, true);
		script_idle(&s, 2, 0);
		want(&s, 1, 0, rows[i].paged_mib);
		answer_all(&s, 0, 60, false);
		script_pass(&s, 200);
		answer_all(&s, 0, 60, false);
		assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
		assert_true(script_limit(&s, 1, 0) >=
			    (rows[i].paged_mib < 100 ? rows[i].paged_mib : 100));
		assert_int_equal(s.held[2][0] >> 20, rows[i].remaining_mib);
		script_end(&s);
	}
}

static void test_paged_bytes_are_given_back_right_after_the_turn(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	want(&s, 1, 5, 300);
	answer_all(&s, 5, 0, false);
	assert_int_equal(script_limit(&s, 1, 0), 100);
	script_want(&s, 2, 0, 95, true);
	script_pass(&s, 200);
	script_rest(&s, 1, 0, true, 0);
	script_obey(&s, 1, 5, true);
	script_pass(&s, 20);
	script_obey(&s, 1, 5, true);
	script_obey(&s, 2, 95, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_paged_memory_of_a_parked_program_keeps_no_program_out(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	want(&s, 1, 0, 300);
	answer_all(&s, 0, 0, false);
	assert_int_equal(slu_core_park(s.core, s.now_ns, 1, true), 0);
	script_step(&s);
	answer_all(&s, 0, 0, false);
	assert_int_equal(script_account(&s, 1, 0).charge_bytes, 0);
	script_want(&s, 2, 0, 100, true);
	answer_all(&s, 0, 100, true);
	assert_int_equal(script_state(&s, 2), SLU_CORE_RUNNING);
	script_end(&s);
}

static void test_paged_memory_counts_next_to_others(void **state)
{
	static const struct {
		uint64_t paged_mib;
		bool are_beside;
	} rows[] = { { 40, true }, { 60, false }, { 300, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct script s;

		begin(&s, SLU_MODE_ALL);
		script_want(&s, 2, 0, 40, true);
		answer_all(&s, 0, 40, true);
		want(&s, 1, 10, rows[i].paged_mib);
		script_obey(&s, 1, 10, true);
		assert_int_equal(script_state(&s, 1),
				 rows[i].are_beside ? SLU_CORE_RUNNING : SLU_CORE_WAITING);
		script_end(&s);
	}
}

static void test_members_of_a_group_whose_pages_exceed_the_device_are_split(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	unsigned n_splits = 0;
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	for (uint64_t client = 1; client <= 2; client++) {
		script_join(&s, client, 1, &hello);
		want(&s, client, 10, 70);
	}
	script_pass(&s, 3000);
	for (size_t i = 0; i < s.n_said; i++)
		n_splits += s.said[i].kind == SLU_CORE_SPLIT;
	assert_int_equal(n_splits, 1);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	script_end(&s);
}

static void test_paged_memory_is_not_fetched_ahead(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	script_want(&s, 2, 0, 40, true);
	answer_all(&s, 0, 40, true);
	script_forget(&s);
	want(&s, 1, 10, 300);
	answer_all(&s, 10, 40, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_WAITING);
	assert_int_equal(script_limit(&s, 1, 0), 10);
	assert_int_equal(script_count(&s, 1, SLU_MSG_LIMIT), 1);
	script_end(&s);
}

static void test_paged_memory_does_not_change_the_estimate(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	want(&s, 1, 20, 300);
	answer_all(&s, 20, 0, false);
	assert_int_equal(script_estimate(&s, 0), 100);
	assert_int_equal(script_account(&s, 1, 0).held_bytes, MIB(20));
	assert_int_equal(script_account(&s, 1, 0).charge_bytes, MIB(100));
	script_end(&s);
}

static void test_paged_memory_needs_no_pinned_memory(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_MAPPED); /* and the budget has no pinned memory */
	want(&s, 1, 50, 300);
	answer_all(&s, 50, 0, false);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_int_equal(script_limit(&s, 1, 0), 100);
	script_end(&s);
}

static void test_more_units_than_were_reported_count_as_units(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	want(&s, 1, 20, 60);
	answer_all(&s, 20, 0, false);
	/* the new units used the bytes that the pages had */
	script_sums(&s, 1, 0, 50);
	script_want(&s, 2, 0, 60, true);
	script_pass(&s, 200);
	script_rest(&s, 1, 0, true, 50);
	script_pass(&s, 20);
	assert_int_equal(script_state(&s, 2), SLU_CORE_WAITING);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paged_memory_above_the_device_delays_no_turn),
		cmocka_unit_test(test_units_that_do_not_fit_are_still_denied),
		cmocka_unit_test(test_others_give_up_what_they_can_for_paged_memory),
		cmocka_unit_test(test_paged_bytes_are_given_back_right_after_the_turn),
		cmocka_unit_test(test_paged_memory_of_a_parked_program_keeps_no_program_out),
		cmocka_unit_test(test_paged_memory_counts_next_to_others),
		cmocka_unit_test(test_members_of_a_group_whose_pages_exceed_the_device_are_split),
		cmocka_unit_test(test_paged_memory_is_not_fetched_ahead),
		cmocka_unit_test(test_paged_memory_does_not_change_the_estimate),
		cmocka_unit_test(test_paged_memory_needs_no_pinned_memory),
		cmocka_unit_test(test_more_units_than_were_reported_count_as_units),
	};

	return cmocka_run_group_tests_name("paged", tests, NULL, NULL);
}
