/* SPDX-License-Identifier: Apache-2.0 */

/*
 * By script: a client that was split from its run returns when they fit together, and a run that
 * waits for unmovable bytes of others is split if that helps. The device has 100 MiB, the patience
 * is 5 s.
 */

#include "core/test-script.h"

#include "base/util.h"

#define RUN 7 /* the group of all of them */

static void join(struct script *s, uint64_t client)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);

	script_join(s, client, RUN, &hello);
}

/* 1 runs with 60 MiB; 2 wanted 60 and was split; now it wants @mib, and rests. */
static void begin_split(struct script *s, uint64_t mib)
{
	script_begin(s, NULL, 100);
	join(s, 1);
	join(s, 2);
	script_want(s, 1, 0, 60, true);
	script_obey(s, 1, 60, true);
	script_want(s, 2, 0, 60, true);
	assert_int_not_equal(script_group_of(s, 2), RUN);
	script_want(s, 2, 0, mib, false);
	script_forget(s);
}

static void pass(struct script *s, uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i += 50) {
		script_pass(s, 50);
		script_obey(s, 1, 60, true);
		script_obey(s, 2, 0, false);
	}
}

static void test_a_client_that_fits_with_its_run_again_is_united(void **state)
{
	struct slu_core_group_view view;
	struct script s;

	(void)state;
	begin_split(&s, 20);
	pass(&s, 4900);
	assert_int_not_equal(script_group_of(&s, 2), RUN);
	pass(&s, 400);
	assert_int_equal(script_group_of(&s, 2), RUN);
	assert_int_equal(s.roster[2].group, RUN);
	/* the turn of its run is its turn */
	script_want(&s, 2, 0, 20, true);
	script_obey(&s, 2, 20, true);
	view = script_group(&s, RUN);
	assert_int_equal(view.state, SLU_CORE_RUNNING);
	assert_int_equal(script_count(&s, 1, SLU_MSG_CLOSE), 0);
	assert_non_null(script_find(&s, 2, SLU_MSG_TURN));
	script_end(&s);
}

static void test_a_client_that_would_just_fit_stays_split(void **state)
{
	struct script s;

	(void)state;
	begin_split(&s, 35);
	pass(&s, 20000);
	assert_int_not_equal(script_group_of(&s, 2), RUN);
	script_end(&s);
}

static void test_a_client_split_by_request_stays_so(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	join(&s, 1);
	join(&s, 2);
	assert_int_equal(slu_core_split(s.core, s.now_ns, 2), 0);
	script_step(&s);
	script_pass(&s, 20000);
	assert_int_not_equal(script_group_of(&s, 2), RUN);
	script_end(&s);
}

static void test_united_groups_get_the_lower_level(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.policy = "mlfq";
	config.allotment_ns = MS(100);
	config.levels = 5;
	script_begin(&s, &config, 100);
	join(&s, 1);
	join(&s, 2);
	script_want(&s, 1, 0, 60, true);
	script_obey(&s, 1, 60, true);
	script_want(&s, 2, 0, 60, true);
	script_want(&s, 2, 0, 20, false);
	pass(&s, 6000);
	assert_int_equal(script_group_of(&s, 2), RUN);
	assert_int_equal(script_group(&s, RUN).level, 4);
	script_end(&s);
}

/* 3 keeps @kept MiB that cannot move; 1 and 2 of the run want 30 each when 4 ends. */
static void begin_kept(struct script *s, uint64_t kept)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);

	script_begin(s, NULL, 100);
	hello.devices[0].held_bytes = hello.devices[0].floor_bytes = MIB(kept);
	hello.devices[0].min_bytes = hello.devices[0].all_bytes = MIB(kept);
	script_join(s, 3, 3, &hello);
	script_join_plain(s, 4, SLU_MODE_ALL);
	script_want(s, 4, 0, 100 - kept, true);
	join(s, 1);
	join(s, 2);
	script_want(s, 1, 0, 30, true);
	script_want(s, 2, 0, 30, true);
	assert_int_equal(script_state_of(s, 1), SLU_CORE_WAITING);
	slu_core_dead(s->core, s->now_ns, 4);
	script_step(s);
}

static void test_a_group_that_is_kept_out_is_split(void **state)
{
	struct script s;

	(void)state;
	begin_kept(&s, 50);
	script_pass(&s, 2400);
	assert_int_equal(script_group_of(&s, 2), RUN);
	assert_int_equal(script_state_of(&s, 1), SLU_CORE_WAITING);
	script_pass(&s, 200);
	assert_int_not_equal(script_group_of(&s, 2), RUN);
	assert_int_equal(script_state_of(&s, 1), SLU_CORE_FILLING);
	/* and united when the program that kept the bytes has gone */
	slu_core_dead(s.core, s.now_ns, 3);
	script_want(&s, 2, 0, 30, false);
	for (unsigned i = 0; i < 120; i++) {
		script_pass(&s, 50);
		script_obey(&s, 1, 30, true);
		script_obey(&s, 2, 30, false);
	}
	assert_int_equal(script_group_of(&s, 2), RUN);
	script_end(&s);
}

static void test_a_split_that_does_not_help_is_not_made(void **state)
{
	struct script s;

	(void)state;
	begin_kept(&s, 75);
	script_pass(&s, 20000);
	assert_int_equal(script_group_of(&s, 2), RUN);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_null(script_find(&s, 2, SLU_MSG_DENY));
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_client_that_fits_with_its_run_again_is_united),
		cmocka_unit_test(test_a_client_that_would_just_fit_stays_split),
		cmocka_unit_test(test_a_client_split_by_request_stays_so),
		cmocka_unit_test(test_united_groups_get_the_lower_level),
		cmocka_unit_test(test_a_group_that_is_kept_out_is_split),
		cmocka_unit_test(test_a_split_that_does_not_help_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
