/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The feedback queue: what it counts, by table, and what follows from it, in virtual time. In
 * the scenes every program needs more than half of the device, so that one runs at a time.
 */

#include "core/sched/test-scene.h"

#include "base/util.h"
#include "core/group.h"
#include "core/sched/policy-mlfq.h"
#include "core/sched/policy.h"

#define EACH_MIB SCENE_EACH_MIB
#define TICK_MS	 SCENE_TICK_MS

static void test_using_sinks_and_resting_rises(void **state)
{
	/* allotments 100, 200, 400 */
	static const struct {
		const char *what;
		unsigned level;
		uint64_t used_ns, credit_ns;
		enum slu_core_spent spent;
		uint64_t span_ns;
		size_t n_equals;
		unsigned then_level;
		uint64_t then_used_ns, then_credit_ns;
	} rows[] = {
		{ "less than the allotment", 0, 0, 0, SLU_CORE_SPENT_USING, 99, 1, 0, 99, 0 },
		{ "the allotment", 0, 0, 0, SLU_CORE_SPENT_USING, 100, 1, 1, 0, 0 },
		{ "used before counts", 0, 60, 7, SLU_CORE_SPENT_USING, 40, 1, 1, 0, 0 },
		{ "two levels in one go", 0, 0, 0, SLU_CORE_SPENT_USING, 310, 1, 2, 10, 0 },
		{ "the bottom is the bottom", 2, 0, 9, SLU_CORE_SPENT_USING, 9999, 1, 2, 399, 0 },
		{ "not rested enough", 1, 0, 0, SLU_CORE_SPENT_RESTING, 99, 1, 1, 0, 99 },
		{ "rested enough", 1, 0, 0, SLU_CORE_SPENT_RESTING, 100, 1, 0, 0, 0 },
		{ "what was used is held against it", 1, 50, 0, SLU_CORE_SPENT_RESTING, 149, 1, 1,
		  50, 149 },
		{ "and then no more", 1, 50, 0, SLU_CORE_SPENT_RESTING, 150, 1, 0, 0, 0 },
		{ "from the bottom to the top", 2, 400, 0, SLU_CORE_SPENT_RESTING, 700, 1, 0, 0,
		  0 },
		{ "forgiven at the top", 0, 90, 0, SLU_CORE_SPENT_RESTING, 190, 1, 0, 0, 0 },
		{ "not yet forgiven", 0, 90, 0, SLU_CORE_SPENT_RESTING, 189, 1, 0, 90, 189 },
		{ "rest without end", 0, 0, 0, SLU_CORE_SPENT_RESTING, UINT64_MAX, 1, 0, 0, 0 },
		{ "a quarter of waiting counts", 1, 0, 0, SLU_CORE_SPENT_WAITING, 399, 1, 1, 0,
		  99 },
		{ "and lifts", 1, 0, 0, SLU_CORE_SPENT_WAITING, 400, 1, 0, 0, 0 },
		{ "less among many equals", 1, 0, 0, SLU_CORE_SPENT_WAITING, 900, 9, 1, 0, 90 },
		{ "a level that is no more", 9, 0, 0, SLU_CORE_SPENT_RESTING, 1, 1, 2, 0, 1 },
	};
	const struct slu_core_policy *policy = slu_core_policy_find("mlfq");
	const struct slu_core_config config = { .allotment_ns = 100,
						.levels = 3,
						.wait_percent = 25 };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_mlfq_state counts = { .used_ns = rows[i].used_ns,
						 .credit_ns = rows[i].credit_ns };
		struct slu_core_group group = { .level = rows[i].level, .policy_state = &counts };

		print_message("# %s\n", rows[i].what);
		policy->count(&group, rows[i].spent, rows[i].span_ns, rows[i].n_equals, &config);
		assert_int_equal(group.level, rows[i].then_level);
		assert_int_equal(counts.used_ns, rows[i].then_used_ns);
		assert_int_equal(counts.credit_ns, rows[i].then_credit_ns);
	}
}

static void test_a_change_comes_when_it_was_announced(void **state)
{
	const struct slu_core_policy *policy = slu_core_policy_find("mlfq");
	const struct slu_core_config config = { .allotment_ns = 1000,
						.levels = 4,
						.wait_percent = 30 };

	(void)state;
	for (unsigned level = 0; level < 4; level++)
		for (unsigned spent = 0; spent <= SLU_CORE_SPENT_WAITING; spent++)
			for (size_t n = 1; n < 6; n++) {
				struct slu_mlfq_state counts = { .used_ns = 333, .credit_ns = 111 };
				struct slu_core_group group = { .level = level,
								.policy_state = &counts };
				uint64_t remaining = policy->change_ns(&group, spent, n, &config);

				if (remaining == SLU_CORE_NEVER) {
					assert_true(spent == SLU_CORE_SPENT_USING ? level == 3
										  : level == 0);
					continue;
				}
				policy->count(&group, spent, remaining - 1, n, &config);
				assert_int_equal(group.level, level);
				remaining = policy->change_ns(&group, spent, n, &config);
				assert_in_range(remaining, 1, 8);
				policy->count(&group, spent, remaining, n, &config);
				assert_int_not_equal(group.level, level);
			}
}

static void test_when_a_turn_is_over(void **state)
{
	static const struct {
		const char *what;
		unsigned holder, asker;
		uint64_t switch_ns, over_ns;
		uint64_t holder_recent_ns, asker_recent_ns;
		bool is_returned;
	} rows[] = {
		{ "a slice for an equal", 0, 0, 3, 1100 },
		{ "slices double downwards", 2, 2, 3, 1400 },
		{ "a long switch lengthens the slice", 0, 0, 50, 1500 },
		{ "never for a lower one", 1, 2, 3, SLU_CORE_NEVER },
		{ "a round trip for a higher one", 2, 1, 3, 1005 },
		{ "as long as the switch for a higher one", 2, 0, 50, 1050 },
		{ "and for an equal that rested and used less", 2, 2, 50, 1050, 201, 99, true },
		{ "not one that has only begun", 2, 2, 3, 1400, 99, 0, true },
		{ "not where it used as much", 2, 2, 3, 1400, 201, 101, true },
		{ "nor where it did not rest", 2, 2, 3, 1400, 201, 99, false },
		{ "nor for a lower one", 1, 2, 3, SLU_CORE_NEVER, 201, 99, true },
	};
	const struct slu_core_policy *policy = slu_core_policy_find("mlfq");
	const struct slu_core_config config = { .allotment_ns = 1000,
						.levels = 4,
						.slice_ns = 100,
						.slice_min_switches = 10,
						.round_trip_ns = 5 };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_mlfq_state of_holder = { .recent_ns = rows[i].holder_recent_ns };
		struct slu_mlfq_state of_asker = { .recent_ns = rows[i].asker_recent_ns };
		struct slu_core_group holder = { .running_ns = 1000,
						 .switch_ns = rows[i].switch_ns,
						 .level = rows[i].holder,
						 .policy_state = &of_holder };
		struct slu_core_group asker = { .is_returned = rows[i].is_returned,
						.level = rows[i].asker,
						.policy_state = &of_asker };

		print_message("# %s\n", rows[i].what);
		assert_true(policy->over_ns(&holder, &asker, &config) == rows[i].over_ns);
	}
}

static void test_the_higher_level_goes_first(void **state)
{
	const struct slu_core_policy *policy = slu_core_policy_find("mlfq");
	struct slu_mlfq_state same = {};
	struct slu_core_group old_low = { .order = 1, .level = 1, .policy_state = &same };
	struct slu_core_group young_top = { .order = 9, .policy_state = &same };
	struct slu_core_group top = { .order = 5, .policy_state = &same };

	(void)state;
	assert_true(policy->precedes(&young_top, &old_low));
	assert_false(policy->precedes(&old_low, &young_top));
	assert_true(policy->precedes(&top, &young_top));
}

static void test_equals_are_ordered_by_use_and_after_a_long_wait_by_age(void **state)
{
	const struct slu_core_policy *policy = slu_core_policy_find("mlfq");
	const struct slu_core_config config = {
		.allotment_ns = 100, .slice_ns = 50, .levels = 3, .wait_percent = 1
	};
	struct slu_mlfq_state of_heavy = {}, of_light = {};
	struct slu_core_group heavy = { .order = 1, .policy_state = &of_heavy };
	struct slu_core_group light = { .order = 2, .policy_state = &of_light };

	(void)state;
	policy->count(&heavy, SLU_CORE_SPENT_USING, 90, 1, &config);
	policy->count(&light, SLU_CORE_SPENT_USING, 10, 1, &config);
	assert_true(policy->precedes(&light, &heavy));
	policy->count(&heavy, SLU_CORE_SPENT_WAITING, 50, 1, &config);
	assert_true(policy->precedes(&light, &heavy));
	policy->count(&heavy, SLU_CORE_SPENT_WAITING, 1, 1, &config);
	assert_true(policy->precedes(&heavy, &light));
	policy->count(&light, SLU_CORE_SPENT_WAITING, 51, 1, &config);
	assert_true(policy->precedes(&heavy, &light));
	/* use is forgotten after a while */
	assert_true(of_heavy.recent_ns > 70);
	policy->count(&heavy, SLU_CORE_SPENT_RESTING, 4000, 1, &config);
	assert_int_equal(of_heavy.recent_ns, 0);
}

static void scene_config(struct slu_core_config *ret_config)
{
	script_config(ret_config);
	ret_config->policy = "mlfq";
	ret_config->slice_ns = MS(40);
	ret_config->allotment_ns = MS(80);
	ret_config->levels = 5;
	ret_config->wait_percent = 50;
	ret_config->round_trip_ns = MS(1);
	ret_config->need_window_ns = 0;
}

static unsigned level(const struct scene *scene, unsigned id)
{
	return script_group(&scene->s, id).level;
}

static void test_a_talker_goes_before_an_endless_job(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned endless, talker;

	(void)state;
	scene_config(&config);
	scene_begin(&scene, &config);
	endless = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	assert_int_equal(level(&scene, endless), 4);
	talker = scene_add(&scene, 20, 180);
	scene_play(&scene, 20000);
	print_message("# the talker waited at most %llu ms, the other one ran %llu ms\n",
		      (unsigned long long)scene.actors[talker].longest_ms,
		      (unsigned long long)scene.actors[endless].ran_ms);
	assert_int_equal(level(&scene, talker), 0);
	assert_int_equal(level(&scene, endless), 4);
	assert_true(scene.actors[talker].longest_ms <= 3 * TICK_MS);
	assert_true(scene.actors[endless].ran_ms >= 15000);
	script_end(&scene.s);
}

static void test_endless_jobs_stay_equals(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	uint64_t least = UINT64_MAX, most = 0;

	(void)state;
	scene_config(&config);
	scene_begin(&scene, &config);
	for (unsigned i = 0; i < 4; i++)
		(void)scene_add(&scene, 1000, 0);
	scene_play(&scene, 20000);
	for (unsigned id = 1; id <= scene.n; id++) {
		assert_int_equal(level(&scene, id), 4);
		least = SLU_MIN(least, scene.actors[id].ran_ms);
		most = SLU_MAX(most, scene.actors[id].ran_ms);
	}
	/* one slice of the bottom is 640 ms */
	assert_true(most - least <= 2 * 640);
	script_end(&scene.s);
}

/* Both are at the bottom; one used the device for long, and has its turn. */
static void test_a_program_back_from_rest_goes_before_an_equal_that_used_more(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned endless, talker;

	(void)state;
	scene_config(&config);
	config.levels = 3;
	scene_begin(&scene, &config);
	endless = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	talker = scene_add(&scene, 260, 60);
	while (!scene.actors[talker].is_resting)
		scene_play(&scene, TICK_MS);
	assert_int_equal(level(&scene, talker), 2);
	scene.actors[talker].burst_ms = 10;
	while (scene.actors[talker].is_resting)
		scene_play(&scene, TICK_MS);
	assert_int_equal(level(&scene, talker), 2);
	assert_int_equal(level(&scene, endless), 2);
	scene.actors[talker].longest_ms = 0;
	while (!scene.actors[talker].is_resting)
		scene_play(&scene, TICK_MS);
	print_message("# it waited %llu ms; a slice is 160 ms\n",
		      (unsigned long long)scene.actors[talker].longest_ms);
	assert_true(scene.actors[talker].longest_ms <= 3 * TICK_MS);
	script_end(&scene.s);
}

static void test_a_program_that_uses_less_than_a_third_stays_at_the_top(void **state)
{
	struct slu_core_config config;

	(void)state;
	scene_config(&config);
	for (uint64_t burst = 5; burst <= 30; burst += 5) {
		struct scene scene;
		unsigned id;

		scene_begin(&scene, &config);
		id = scene_add(&scene, burst, burst * 2 + 20);
		for (unsigned i = 0; i < 50; i++) {
			scene_play(&scene, 50);
			assert_int_equal(level(&scene, id), 0);
		}
		script_end(&scene.s);
	}
}

/* It reports late that it rests, and has rested since the end of its burst. */
static void test_the_time_before_a_late_idle_counts_as_rest(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned id;

	(void)state;
	scene_config(&config);
	config.idle_ns = MS(40);
	scene_begin(&scene, &config);
	id = scene_add(&scene, 10, 60);
	for (unsigned i = 0; i < 100; i++) {
		scene_play(&scene, 50);
		assert_int_equal(level(&scene, id), 0);
	}
	script_end(&scene.s);

	/* a program that computes sinks nevertheless */
	scene_begin(&scene, &config);
	id = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	assert_int_equal(level(&scene, id), 4);
	script_end(&scene.s);
}

static void test_a_holder_that_lacks_its_bytes_does_not_sink(void **state)
{
	struct slu_msg_hello hello = script_hello(SLU_MODE_LAUNCH, 1);
	struct slu_core_config config;
	struct script s;

	(void)state;
	scene_config(&config);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_LAUNCH);
	/* another program keeps 40 unmovable MiB */
	hello.devices[0].held_bytes = hello.devices[0].floor_bytes = MIB(40);
	script_join(&s, 2, 2, &hello);
	script_want_min(&s, 1, 50, 90);
	script_sums(&s, 1, 0, 50);
	script_ready(&s, 1, 0);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	script_want_min(&s, 1, 65, 90);
	script_pass(&s, 2000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_true(script_account(&s, 1, 0).held_bytes < MIB(65));
	assert_int_equal(script_group(&s, 1).level, 0);
	/* the missing bytes come: from here on it uses the device */
	script_want_min(&s, 1, 50, 90);
	script_pass(&s, 2000);
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_true(script_group(&s, 1).level > 0);
	script_end(&s);
}

/*
 * Enough talkers to keep the device busy, each of them at the top, and one that sank to the bottom
 * first. The bound of policy-mlfq.c: A (2^(p + 1) − 1) / R, and one slice for each talker.
 */
static uint64_t starve(uint64_t wait_percent, unsigned n_talkers, uint64_t burst, uint64_t play_ms)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned victim;
	uint64_t longest;

	scene_config(&config);
	config.wait_percent = wait_percent;
	scene_begin(&scene, &config);
	victim = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	assert_int_equal(level(&scene, victim), 4);
	for (unsigned i = 0; i < n_talkers; i++)
		(void)scene_add(&scene, burst, burst * 2 + 10);
	scene_play(&scene, play_ms);
	longest = SLU_MAX(scene.actors[victim].longest_ms,
			  scene.now_ms - scene.actors[victim].wanted_ms);
	script_end(&scene.s);
	return longest;
}

static void test_no_program_waits_longer_than_the_bound(void **state)
{
	uint64_t worst = 0;

	(void)state;
	for (unsigned n = 4; n <= 6; n += 2)
		for (uint64_t burst = 10; burst <= 30; burst += 20) {
			/* A = 80, p = 4, R = 1/(n + 2) in whole percents */
			uint64_t bound = 80 * 31 * 100 / (100 / (n + 2)) + n * (40 + 4 * TICK_MS);
			uint64_t longest = starve(50, n, burst, bound + 100);

			print_message("# %u talkers, bursts of %llu ms: %llu ms, bound %llu ms\n",
				      n, (unsigned long long)burst, (unsigned long long)longest,
				      (unsigned long long)bound);
			assert_true(longest <= bound);
			worst = SLU_MAX(worst, longest);
		}
	/* the bound is not trivial: without ageing there is none */
	assert_true(worst > 1000);
	assert_true(starve(0, 5, 20, 18000) > 17000);
}

static void test_the_timeline_follows_the_levels(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	struct slu_core_turn_view turns[3];
	unsigned endless, second, fresh;
	size_t cursor = 0;

	(void)state;
	scene_config(&config);
	scene_begin(&scene, &config);
	endless = scene_add(&scene, 1000, 0);
	second = scene_add(&scene, 1000, 0);
	scene_play(&scene, 4000);
	if (script_state(&scene.s, endless) != SLU_CORE_RUNNING) {
		endless = 2;
		second = 1;
	}
	fresh = scene_add(&scene, 20, 100);
	for (unsigned i = 0; i < 3; i++)
		assert_true(slu_core_timeline(scene.s.core, 0, &cursor, &turns[i]));
	assert_int_equal(turns[0].group, endless);
	assert_int_equal(turns[1].group, fresh);
	assert_int_equal(turns[2].group, second);
	assert_int_equal(turns[1].length_ns, MS(40));
	assert_int_equal(turns[2].length_ns, MS(640));
	script_end(&scene.s);
}

static void test_parked_time_does_not_count(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned id;

	(void)state;
	scene_config(&config);
	scene_begin(&scene, &config);
	id = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	assert_int_equal(slu_core_park(scene.s.core, scene.s.now_ns, id, true), 0);
	scene_play(&scene, 60000);
	assert_int_equal(level(&scene, id), 4);
	script_end(&scene.s);
}

static void test_priority_decides_where_a_program_begins(void **state)
{
	struct slu_core_config config;
	unsigned low, high, normal;
	struct slu_msg_hello hello = script_hello(SLU_MODE_ALL, 1);
	struct scene scene;

	(void)state;
	scene_config(&config);
	scene_begin(&scene, &config);
	scene.s.priority = SLU_CORE_PRIORITY_LOW;
	low = scene_add(&scene, 1000000, 0);
	scene.s.priority = SLU_CORE_PRIORITY_HIGH;
	high = scene_add(&scene, 1000000, 0);
	scene.s.priority = SLU_CORE_PRIORITY_NORMAL;
	normal = scene_add(&scene, 1000000, 0);
	assert_int_equal(level(&scene, low), 4);
	assert_int_equal(level(&scene, high), 0);
	assert_int_equal(level(&scene, normal), 0);
	scene_play(&scene, 5000);
	assert_int_equal(level(&scene, high), 0);
	assert_true(level(&scene, normal) > 0);

	/* another member of the group can raise it, and cannot lower it */
	scene.s.priority = SLU_CORE_PRIORITY_LOW;
	script_join(&scene.s, 10, high, &hello);
	assert_int_equal(level(&scene, high), 0);
	scene.s.priority = SLU_CORE_PRIORITY_HIGH;
	script_join(&scene.s, 11, normal, &hello);
	assert_int_equal(level(&scene, normal), 0);
	script_end(&scene.s);
}

static void scene_configure(struct scene *scene, const struct slu_core_config *config)
{
	assert_int_equal(slu_core_configure(scene->s.core, MS(scene->now_ms), config), 0);
}

static void test_a_change_of_policy_forgets_the_levels(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned endless, low;

	(void)state;
	scene_config(&config);
	scene_begin(&scene, &config);
	endless = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	scene.s.priority = SLU_CORE_PRIORITY_LOW;
	low = scene_add(&scene, 1000, 0);
	config.share_percent = 80;
	scene_configure(&scene, &config);
	assert_int_equal(level(&scene, endless), 4); /* another setting: nothing is forgotten */
	config.policy = "rr";
	scene_configure(&scene, &config);
	scene_play(&scene, 1000);
	assert_int_equal(level(&scene, endless), 0); /* this policy has no levels */
	assert_int_equal(level(&scene, low), 0);
	config.policy = "mlfq";
	scene_configure(&scene, &config);
	assert_int_equal(level(&scene, endless), 0);
	assert_int_equal(level(&scene, low), 4);
	scene_play(&scene, 4000);
	assert_int_equal(level(&scene, endless), 4);
	script_end(&scene.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_using_sinks_and_resting_rises),
		cmocka_unit_test(test_a_change_comes_when_it_was_announced),
		cmocka_unit_test(test_when_a_turn_is_over),
		cmocka_unit_test(test_the_higher_level_goes_first),
		cmocka_unit_test(test_equals_are_ordered_by_use_and_after_a_long_wait_by_age),
		cmocka_unit_test(test_a_talker_goes_before_an_endless_job),
		cmocka_unit_test(test_endless_jobs_stay_equals),
		cmocka_unit_test(test_a_program_back_from_rest_goes_before_an_equal_that_used_more),
		cmocka_unit_test(test_a_program_that_uses_less_than_a_third_stays_at_the_top),
		cmocka_unit_test(test_the_time_before_a_late_idle_counts_as_rest),
		cmocka_unit_test(test_a_holder_that_lacks_its_bytes_does_not_sink),
		cmocka_unit_test(test_no_program_waits_longer_than_the_bound),
		cmocka_unit_test(test_the_timeline_follows_the_levels),
		cmocka_unit_test(test_parked_time_does_not_count),
		cmocka_unit_test(test_priority_decides_where_a_program_begins),
		cmocka_unit_test(test_a_change_of_policy_forgets_the_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
