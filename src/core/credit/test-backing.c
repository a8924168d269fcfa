/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Where backing goes: host memory first, then disk, within the bounds of users and groups of
 * processes. Backing of the program that runs last moves to disk; that of the next one moves up.
 */

#include "core/test-script.h"

#include "base/util.h"

enum { PAGEABLE = SLU_WIRE_DEVICES_MAX + 1, DISK = SLU_WIRE_DEVICES_MAX + 2 };

static uint64_t limit(const struct script *s, uint64_t client, unsigned account)
{
	return s->limits[client][account].limit.limit_bytes >> 20;
}

static void say(struct script *s, uint64_t client, struct slu_message *m,
		enum slu_message_type type)
{
	slu_message_stamp(m, type);
	assert_int_equal(slu_core_message(s->core, s->now_ns, client, m), 0);
	script_step(s);
}

/* Wants @mib more than it holds, in host memory or on disk. */
static void want(struct script *s, uint64_t client, uint64_t backing_mib, uint64_t disk_mib)
{
	struct slu_message m = { .want = { .account = { SLU_TIER_PAGEABLE, 0 },
					   .is_runnable = 1,
					   .min_bytes = MIB(backing_mib),
					   .all_bytes = MIB(backing_mib),
					   .largest_bytes = MIB(disk_mib) } };

	say(s, client, &m, SLU_MSG_WANT);
}

static void sums_full(struct script *s, uint64_t client, unsigned account, uint64_t held_mib,
		      uint64_t refused_mib)
{
	const struct slu_msg_limit *last = &s->limits[client][account].limit;
	struct slu_message m = {
		.sums = { .account = { account == PAGEABLE ? SLU_TIER_PAGEABLE : SLU_TIER_DISK, 0 },
			  .seq = last->seq,
			  .ceiling_bytes = refused_mib ? MIB(held_mib)
						       : SLU_MAX(last->limit_bytes, MIB(held_mib)),
			  .held_bytes = MIB(held_mib),
			  .refused_bytes = MIB(refused_mib) }
	};

	say(s, client, &m, SLU_MSG_SUMS);
}

static void sums(struct script *s, uint64_t client, unsigned account, uint64_t held_mib)
{
	sums_full(s, client, account, held_mib, 0);
}

static void begin(struct script *s, uint64_t backing_mib, uint64_t disk_mib)
{
	struct slu_core_config config;

	script_config(&config);
	config.backing_bytes = MIB(backing_mib);
	config.disk_bytes = MIB(disk_mib);
	script_begin(s, &config, 100);
}

static void join(struct script *s, uint64_t client)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);

	hello.version = SLU_WIRE_VERSION;
	script_join(s, client, client, &hello);
}

/*
 * The client holds so much from now on. The others hold what they did and give up slack if asked.
 */
static void own(struct script *s, uint64_t client, uint64_t backing_mib, uint64_t disk_mib)
{
	static uint64_t held_mib[SCRIPT_CLIENTS];

	held_mib[client] = backing_mib;
	want(s, client, backing_mib + disk_mib, disk_mib);
	script_pass(s, 20);
	for (uint64_t i = 1; i < SCRIPT_CLIENTS; i++)
		if (i != client && s->limits[i][PAGEABLE].limit.seq)
			sums(s, i, PAGEABLE, held_mib[i]);
	if (backing_mib)
		sums(s, client, PAGEABLE, backing_mib);
	if (disk_mib)
		sums(s, client, DISK, disk_mib);
	script_pass(s, 20);
}

static void host_memory_is_given_first_then_disk_then_nothing(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 64, 100);
	join(&s, 1);
	want(&s, 1, 60, 60);
	assert_true(limit(&s, 1, PAGEABLE) >= 60);
	assert_int_equal(limit(&s, 1, DISK), 0);
	sums(&s, 1, PAGEABLE, 60);
	want(&s, 1, 80, 20);
	assert_int_equal(limit(&s, 1, DISK), 20);
	sums(&s, 1, DISK, 20);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	want(&s, 1, 170, 110);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void one_allocation_is_worth_less_than_what_is_asked_ahead(void **state)
{
	struct slu_message m = { .want = { .account = { SLU_TIER_PAGEABLE, 0 },
					   .min_bytes = MIB(10),
					   .all_bytes = MIB(160),
					   .largest_bytes = MIB(160) } };
	struct script s;

	(void)state;
	begin(&s, 64, 20);
	join(&s, 1);
	say(&s, 1, &m, SLU_MSG_WANT);
	assert_int_equal(limit(&s, 1, PAGEABLE), 64);
	sums(&s, 1, PAGEABLE, 60);
	m.want.min_bytes = MIB(70);
	m.want.all_bytes = MIB(220);
	say(&s, 1, &m, SLU_MSG_WANT);
	assert_int_equal(limit(&s, 1, DISK), 20);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void who_cannot_have_bytes_on_disk_gets_none(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct script s;

	(void)state;
	begin(&s, 64, 100);
	hello.version = 1;
	script_join(&s, 1, 1, &hello);
	want(&s, 1, 80, 80);
	assert_int_equal(limit(&s, 1, DISK), 0);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* Otherwise asking, granting and refusing would repeat for ever. */
static void a_disk_that_refused_is_left_alone_for_a_while(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 64, 100);
	join(&s, 1);
	want(&s, 1, 80, 80);
	assert_int_equal(limit(&s, 1, DISK), 80);
	sums_full(&s, 1, DISK, 0, 80);
	want(&s, 1, 80, 80);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_forget(&s);
	script_pass(&s, 2000);
	want(&s, 1, 80, 80);
	assert_int_equal(limit(&s, 1, DISK), 80);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void expect_denial(struct script *s, const char *words)
{
	const struct slu_core_action *deny = script_find(s, 1, SLU_MSG_DENY);

	assert_non_null(deny);
	if (!strstr(deny->reason, words))
		fail_msg("'%s' does not say '%s'", deny->reason, words);
	script_forget(s);
}

static void a_denial_tells_a_full_disk_from_a_budget_that_is_used_up(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 64, 100);
	join(&s, 1);
	want(&s, 1, 80, 80);
	sums_full(&s, 1, DISK, 0, 80);
	want(&s, 1, 80, 80);
	expect_denial(&s, "(memory.disk_folder) is full");
	/* the disk has free bytes again, so now the budget is the obstacle */
	script_pass(&s, 2000);
	want(&s, 1, 80, 80);
	sums(&s, 1, DISK, 80);
	want(&s, 1, 200, 120);
	expect_denial(&s, "disk (memory.disk_max) are used up");
	/* its disk failed: it no longer asks for any */
	want(&s, 1, 200, 0);
	expect_denial(&s, "(memory.disk_folder) did not take what was written");
	script_end(&s);
}

static struct slu_core_bounds bounds_of(uint64_t user, uint64_t backing_mib, uint64_t disk_mib)
{
	return (struct slu_core_bounds){
		.n_pageable = 1,
		.n_disk = 1,
		.pageable = { { user, MIB(backing_mib) } },
		.disk = { { user, MIB(disk_mib) } },
	};
}

static void programs_of_one_user_share_their_bound(void **state)
{
	struct slu_core_bounds a = bounds_of(1000, 50, 30), b = bounds_of(1001, 50, 30);
	struct script s;

	(void)state;
	begin(&s, 200, 100);
	for (uint64_t i = 1; i <= 3; i++) {
		join(&s, i);
		slu_core_bound(s.core, s.now_ns, i, i < 3 ? &a : &b);
	}
	own(&s, 1, 40, 0);
	want(&s, 2, 20, 20);
	/* the unused part of the first client's grant is taken back before any disk is granted */
	if (!limit(&s, 2, DISK)) {
		sums(&s, 1, PAGEABLE, 40);
		script_pass(&s, 50);
	}
	assert_int_equal(limit(&s, 2, PAGEABLE), 0);
	assert_int_equal(limit(&s, 2, DISK), 20);
	sums(&s, 2, DISK, 20);
	want(&s, 2, 40, 40);
	assert_non_null(script_find(&s, 2, SLU_MSG_DENY));
	/* the other user is not affected */
	want(&s, 3, 45, 45);
	assert_true(limit(&s, 3, PAGEABLE) >= 45);
	script_end(&s);
}

static void a_program_is_bound_by_each_group_that_it_is_in(void **state)
{
	struct slu_core_bounds bounds = bounds_of(1000, 150, 100);
	struct script s;

	(void)state;
	begin(&s, 200, 100);
	join(&s, 1);
	bounds.pageable[bounds.n_pageable++] = (struct slu_core_bound){ 77, MIB(30) };
	bounds.pageable[bounds.n_pageable++] = (struct slu_core_bound){ 78, MIB(90) };
	slu_core_bound(s.core, s.now_ns, 1, &bounds);
	want(&s, 1, 40, 40);
	assert_int_equal(limit(&s, 1, PAGEABLE), 0);
	assert_int_equal(limit(&s, 1, DISK), 40);
	sums(&s, 1, DISK, 40);
	want(&s, 1, 30, 0);
	assert_int_equal(limit(&s, 1, PAGEABLE), 30);
	script_end(&s);
}

/* Three programs of one user own at most 60 MiB; the fourth is another user's. */
static void a_quota_counts_all_that_programs_of_a_user_own(void **state)
{
	struct slu_core_bounds a = {
		.quotas = { [SLU_CORE_QUOTA_USER] = { 1000, MIB(60), 0, 0 } },
	};
	struct slu_core_bounds b = {
		.quotas = { [SLU_CORE_QUOTA_USER] = { 1001, MIB(60), 0, 0 } },
	};
	struct script s;

	(void)state;
	begin(&s, 200, 100);
	for (uint64_t i = 1; i <= 4; i++) {
		join(&s, i);
		slu_core_bound(s.core, s.now_ns, i, i < 4 ? &a : &b);
	}
	own(&s, 2, 30, 0);
	own(&s, 3, 20, 0);
	script_pass(&s, 20);
	want(&s, 1, 10, 10);
	/* unused parts of the grants of its user are taken back first */
	sums(&s, 2, PAGEABLE, 30);
	sums(&s, 3, PAGEABLE, 20);
	assert_int_equal(limit(&s, 1, PAGEABLE), 10);
	sums(&s, 1, PAGEABLE, 10);
	want(&s, 1, 11, 11);
	expect_denial(&s, "of its user (quota.user_memory: 60.0 MiB) is used up");
	want(&s, 4, 50, 0);
	assert_true(limit(&s, 4, PAGEABLE) >= 50);
	script_end(&s);
}

/* One runs, two wait; the bytes of the next are on disk, those of the last in memory. */
static void who_is_next_comes_up_and_who_is_last_goes_down(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 128, 200);
	for (uint64_t i = 1; i <= 3; i++)
		join(&s, i);
	own(&s, 1, 64, 0);
	own(&s, 3, 64, 0);
	own(&s, 2, 0, 64);
	script_want(&s, 1, 0, 64, true);
	script_obey(&s, 1, 64, true);
	script_want(&s, 2, 0, 64, true);
	script_want(&s, 3, 0, 64, true);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_pass(&s, 20);
	/* the last one gives up host memory and gets bytes on disk instead */
	assert_int_equal(limit(&s, 3, PAGEABLE), 0);
	assert_int_equal(limit(&s, 3, DISK), 64);
	assert_int_equal(limit(&s, 1, PAGEABLE), 64);
	assert_int_equal(limit(&s, 2, PAGEABLE), 0);
	sums(&s, 3, DISK, 64);
	sums(&s, 3, PAGEABLE, 0);
	script_pass(&s, 20);
	assert_true(limit(&s, 2, PAGEABLE) >= 60);
	assert_int_equal(s.limits[2][PAGEABLE].limit.pace, SLU_PACE_AHEAD);
	script_end(&s);
}

static void an_idle_program_goes_down_before_one_that_waits(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 128, 200);
	for (uint64_t i = 1; i <= 4; i++)
		join(&s, i);
	own(&s, 3, 60, 0);
	own(&s, 4, 60, 0);
	script_want(&s, 1, 0, 60, true);
	script_obey(&s, 1, 60, true);
	script_want(&s, 2, 0, 60, true);
	script_want(&s, 3, 0, 60, true);
	own(&s, 2, 0, 60);
	assert_true(limit(&s, 4, PAGEABLE) < 10);
	assert_true(limit(&s, 3, PAGEABLE) >= 60);
	script_end(&s);
}

static void without_free_bytes_on_disk_no_backing_moves_there(void **state)
{
	struct script s;

	(void)state;
	begin(&s, 128, 64);
	for (uint64_t i = 1; i <= 3; i++)
		join(&s, i);
	own(&s, 3, 120, 0);
	own(&s, 2, 0, 64);
	script_want(&s, 1, 0, 60, true);
	script_obey(&s, 1, 60, true);
	script_want(&s, 2, 0, 64, true);
	script_pass(&s, 20);
	assert_true(limit(&s, 3, PAGEABLE) >= 120);
	script_end(&s);
}

static void a_smaller_budget_moves_backing_to_disk(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	begin(&s, 128, 200);
	join(&s, 1);
	own(&s, 1, 100, 0);
	script_config(&config);
	config.backing_bytes = MIB(40);
	config.disk_bytes = MIB(200);
	assert_int_equal(slu_core_configure(s.core, s.now_ns, &config), 0);
	script_pass(&s, 20);
	assert_int_equal(limit(&s, 1, PAGEABLE), 40);
	assert_true(limit(&s, 1, DISK) >= 60);
	script_end(&s);
}

static void what_a_dead_program_had_on_disk_is_free_again(void **state)
{
	struct slu_core_budget_view backing, disk;
	struct script s;

	(void)state;
	begin(&s, 10, 100);
	join(&s, 1);
	own(&s, 1, 0, 100);
	assert_int_equal(s.roster[1].disk_bytes, MIB(100));
	slu_core_view_backing(s.core, &backing, &disk);
	assert_int_equal(disk.charge_bytes, MIB(100));
	slu_core_dead(s.core, s.now_ns, 1);
	script_step(&s);
	slu_core_view_backing(s.core, &backing, &disk);
	assert_int_equal(disk.charge_bytes, 0);
	join(&s, 2);
	want(&s, 2, 80, 80);
	assert_int_equal(limit(&s, 2, DISK), 80);
	script_end(&s);
}

static void an_orphan_keeps_its_bytes_on_disk(void **state)
{
	const struct slu_core_orphan orphan = {
		.client = 1, .group = 1, .name = "orphan", .n_devices = 1, .disk_bytes = MIB(70)
	};
	struct script s;

	(void)state;
	begin(&s, 10, 100);
	assert_int_equal(slu_core_orphan(s.core, s.now_ns, &orphan), 0);
	join(&s, 2);
	want(&s, 2, 40, 40);
	assert_int_equal(limit(&s, 2, DISK), 0);
	assert_non_null(script_find(&s, 2, SLU_MSG_DENY));
	want(&s, 2, 30, 30);
	assert_int_equal(limit(&s, 2, DISK), 30);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_memory_is_given_first_then_disk_then_nothing),
		cmocka_unit_test(one_allocation_is_worth_less_than_what_is_asked_ahead),
		cmocka_unit_test(who_cannot_have_bytes_on_disk_gets_none),
		cmocka_unit_test(a_disk_that_refused_is_left_alone_for_a_while),
		cmocka_unit_test(a_denial_tells_a_full_disk_from_a_budget_that_is_used_up),
		cmocka_unit_test(programs_of_one_user_share_their_bound),
		cmocka_unit_test(a_program_is_bound_by_each_group_that_it_is_in),
		cmocka_unit_test(a_quota_counts_all_that_programs_of_a_user_own),
		cmocka_unit_test(who_is_next_comes_up_and_who_is_last_goes_down),
		cmocka_unit_test(an_idle_program_goes_down_before_one_that_waits),
		cmocka_unit_test(without_free_bytes_on_disk_no_backing_moves_there),
		cmocka_unit_test(a_smaller_budget_moves_backing_to_disk),
		cmocka_unit_test(what_a_dead_program_had_on_disk_is_free_again),
		cmocka_unit_test(an_orphan_keeps_its_bytes_on_disk),
	};

	return cmocka_run_group_tests_name("core backing", tests, NULL, NULL);
}
