/* SPDX-License-Identifier: Apache-2.0 */

/* What SRTF, PRIORITY, PACK and DESKTOP are for, in virtual time. */

#include "core/sched/test-scene.h"

#include "base/util.h"

#define SLICE_MS 40

static void orders_begin(struct scene *scene, const char *policy)
{
	struct slu_core_config config;

	script_config(&config);
	config.policy = policy;
	config.slice_ns = MS(SLICE_MS);
	config.need_window_ns = 0;
	config.round_trip_ns = MS(1);
	config.age_ns = MS(5000);
	scene_begin(scene, &config);
}

/* A job that computes for @work_ms and ends. */
static unsigned add_job(struct scene *scene, uint64_t work_ms, uint64_t expect_ms, uint64_t mib)
{
	unsigned id;

	scene->s.expect_ns = MS(expect_ms);
	id = scene_add_sized(scene, 1000, 0, mib);
	scene->actors[id].work_ms = work_ms;
	return id;
}

static void test_srtf_runs_the_shortest_first(void **state)
{
	struct scene scene;
	unsigned longest, shortest, middle;

	(void)state;
	orders_begin(&scene, "srtf");
	longest = add_job(&scene, 2000, 2000, 60);
	scene_play(&scene, 200);
	middle = add_job(&scene, 600, 600, 60);
	shortest = add_job(&scene, 100, 100, 60);
	scene_play(&scene, 4000);
	assert_true(scene.actors[shortest].ended_ms < 450);
	assert_true(scene.actors[middle].ended_ms < 1200);
	assert_true(scene.actors[longest].ended_ms < 3100);
	/* the longest was interrupted once, and nobody after it had begun to pay off */
	assert_true(scene.actors[longest].ended_ms > 2600);
	script_end(&scene.s);
}

/* Both fit; next to each other each would take longer. */
static void test_srtf_runs_one_at_a_time(void **state)
{
	struct scene scene;
	unsigned first, second;

	(void)state;
	orders_begin(&scene, "srtf");
	first = add_job(&scene, 1000, 1000, 30);
	second = add_job(&scene, 300, 300, 30);
	scene_play(&scene, 2000);
	assert_true(scene.actors[second].ended_ms < 400);
	assert_true(scene.actors[first].ended_ms > 1250 && scene.actors[first].ended_ms < 1500);
	script_end(&scene.s);
}

/* It will end before the newcomer would: interrupting it helps nobody. */
static void test_srtf_does_not_interrupt_what_ends_soon(void **state)
{
	struct scene scene;
	unsigned first, second;

	(void)state;
	orders_begin(&scene, "srtf");
	first = add_job(&scene, 1000, 1000, 60);
	scene_play(&scene, 800);
	second = add_job(&scene, 300, 300, 60);
	scene_play(&scene, 1000);
	assert_true(scene.actors[first].ended_ms < 1100);
	assert_true(scene.actors[second].ended_ms > scene.actors[first].ended_ms);
	script_end(&scene.s);
}

static void test_srtf_learns_from_programs_that_ended(void **state)
{
	struct scene scene;
	unsigned known, other;

	(void)state;
	orders_begin(&scene, "srtf");
	scene.s.name = "trainer";
	(void)add_job(&scene, 500, 0, 60);
	scene_play(&scene, 1000);
	assert_true(scene.actors[1].has_ended);
	known = add_job(&scene, 500, 0, 60); /* 500 ms are expected */
	scene_play(&scene, 20);
	scene.s.name = "unknown";
	other = add_job(&scene, 300, 300, 60);
	scene_play(&scene, 2500);
	/* an unknown program would have kept its turn until it had used 300 ms and a slice */
	assert_true(scene.actors[other].ended_ms < 1500);
	assert_true(scene.actors[known].ended_ms > scene.actors[other].ended_ms);
	script_end(&scene.s);
}

static void test_srtf_serves_unknown_programs_by_least_use(void **state)
{
	struct scene scene;
	unsigned old, newcomer;

	(void)state;
	orders_begin(&scene, "srtf");
	old = scene_add(&scene, 1000, 0);
	scene_play(&scene, 2000);
	newcomer = scene_add(&scene, 1000, 0);
	scene_play(&scene, 1000);
	assert_true(scene.actors[newcomer].ran_ms > 900);
	scene_play(&scene, 4000);
	assert_true(scene.actors[old].ran_ms > 2900);
	script_end(&scene.s);
}

static void test_priority_is_strict_until_age(void **state)
{
	struct scene scene;
	unsigned low, high;

	(void)state;
	orders_begin(&scene, "priority");
	scene.s.priority = SLU_CORE_PRIORITY_LOW;
	low = scene_add(&scene, 1000, 0);
	scene_play(&scene, 500);
	scene.s.priority = SLU_CORE_PRIORITY_HIGH;
	high = scene_add(&scene, 1000, 0);
	scene_play(&scene, 4500);
	assert_true(scene.actors[high].ran_ms > 4400);
	assert_true(scene.actors[high].longest_ms <= 4 * SCENE_TICK_MS);
	assert_true(scene.actors[low].ran_ms <= 520);
	scene_play(&scene, 1000);
	/* one slice, because it is old */
	assert_true(scene.actors[low].ran_ms >= 520);
	assert_true(scene.actors[low].ran_ms <= 520 + 2 * SLICE_MS);
	script_end(&scene.s);
}

static void test_a_change_of_priority_acts_on_running_programs(void **state)
{
	static const char *const policies[] = { "priority", "fair", "srtf", "desktop", "mlfq" };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies); i++) {
		uint64_t before[3];
		struct scene scene;

		orders_begin(&scene, policies[i]);
		scene.s.priority = SLU_CORE_PRIORITY_HIGH;
		(void)scene_add(&scene, 1000, 0);
		scene.s.priority = SLU_CORE_PRIORITY_LOW;
		(void)scene_add(&scene, 1000, 0);
		scene_play(&scene, 2000);
		slu_core_steer(scene.s.core, scene.s.now_ns, 1, SLU_CORE_PRIORITY_LOW, 0);
		slu_core_steer(scene.s.core, scene.s.now_ns, 2, SLU_CORE_PRIORITY_HIGH, 0);
		for (unsigned id = 1; id <= 2; id++)
			before[id] = scene.actors[id].ran_ms;
		scene_play(&scene, 2000);
		print_message("# %s: %llu and %llu ms, then %llu and %llu\n", policies[i],
			      (unsigned long long)before[1], (unsigned long long)before[2],
			      (unsigned long long)(scene.actors[1].ran_ms - before[1]),
			      (unsigned long long)(scene.actors[2].ran_ms - before[2]));
		assert_true(before[1] > 3 * before[2]);
		assert_true(scene.actors[2].ran_ms - before[2] >
			    3 * (scene.actors[1].ran_ms - before[1]));
		script_end(&scene.s);
	}
}

static void test_pack_lets_small_ones_pass_until_age(void **state)
{
	struct scene scene;
	unsigned first, large, small;

	(void)state;
	orders_begin(&scene, "pack");
	first = scene_add_sized(&scene, 1000, 0, 50);
	scene_play(&scene, 100);
	large = scene_add_sized(&scene, 1000, 0, 90);
	small = scene_add_sized(&scene, 1000, 0, 30);
	scene_play(&scene, 1000);
	assert_true(scene.actors[small].ran_ms > 900);
	assert_int_equal(scene.actors[large].ran_ms, 0);
	assert_true(scene.actors[first].ran_ms > 1000);
	scene_play(&scene, 5000);
	assert_true(scene.actors[large].ran_ms > SLICE_MS);
	script_end(&scene.s);
}

static void test_desktop_puts_people_first_and_packs_the_rest(void **state)
{
	struct scene scene;
	unsigned first, second, talker;

	(void)state;
	orders_begin(&scene, "desktop");
	first = scene_add_sized(&scene, 1000, 0, 40);
	second = scene_add_sized(&scene, 1000, 0, 40);
	scene_play(&scene, 1000);
	talker = scene_add_sized(&scene, 20, 180, 60);
	scene_play(&scene, 4000);
	assert_int_equal(script_group(&scene.s, first).level, 1);
	assert_int_equal(script_group(&scene.s, talker).level, 0);
	assert_true(scene.actors[talker].longest_ms <= 4 * SCENE_TICK_MS);
	/* both run between its bursts */
	assert_true(scene.actors[first].ran_ms > 3800);
	assert_true(scene.actors[second].ran_ms > 3800);
	script_end(&scene.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_srtf_runs_the_shortest_first),
		cmocka_unit_test(test_srtf_runs_one_at_a_time),
		cmocka_unit_test(test_srtf_does_not_interrupt_what_ends_soon),
		cmocka_unit_test(test_srtf_learns_from_programs_that_ended),
		cmocka_unit_test(test_srtf_serves_unknown_programs_by_least_use),
		cmocka_unit_test(test_priority_is_strict_until_age),
		cmocka_unit_test(test_a_change_of_priority_acts_on_running_programs),
		cmocka_unit_test(test_pack_lets_small_ones_pass_until_age),
		cmocka_unit_test(test_desktop_puts_people_first_and_packs_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
