/* SPDX-License-Identifier: Apache-2.0 */

/* FAIR: shares, newcomers, and programs that return, in virtual time. */

#include "core/sched/test-scene.h"

#include "base/util.h"

#define SLICE_MS 40

static void fair_begin(struct scene *scene)
{
	struct slu_core_config config;

	script_config(&config);
	config.policy = "fair";
	config.slice_ns = MS(SLICE_MS);
	config.need_window_ns = 0;
	scene_begin(scene, &config);
}

static unsigned add_endless(struct scene *scene, enum slu_core_priority priority)
{
	scene->s.priority = priority;
	return scene_add(scene, 1000, 0);
}

static void test_endless_jobs_share_by_weight(void **state)
{
	static const struct {
		const char *what;
		enum slu_core_priority a, b;
		uint64_t parts; /* of a, where b has one */
	} rows[] = {
		{ "equals", SLU_CORE_PRIORITY_NORMAL, SLU_CORE_PRIORITY_NORMAL, 1 },
		{ "high and normal", SLU_CORE_PRIORITY_HIGH, SLU_CORE_PRIORITY_NORMAL, 4 },
		{ "normal and low", SLU_CORE_PRIORITY_NORMAL, SLU_CORE_PRIORITY_LOW, 4 },
		{ "high and low", SLU_CORE_PRIORITY_HIGH, SLU_CORE_PRIORITY_LOW, 16 },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct scene scene;
		unsigned a, b;
		double parts;

		fair_begin(&scene);
		a = add_endless(&scene, rows[i].a);
		b = add_endless(&scene, rows[i].b);
		scene_play(&scene, 60000);
		parts = (double)scene.actors[a].ran_ms / (double)scene.actors[b].ran_ms;
		print_message("# %s: %.2f\n", rows[i].what, parts);
		assert_true(parts > 0.85 * (double)rows[i].parts);
		assert_true(parts < 1.15 * (double)rows[i].parts);
		script_end(&scene.s);
	}
}

/* The first one ran alone for long: that is no debt, and the other one has no claim. */
static void test_a_newcomer_does_not_monopolise(void **state)
{
	struct scene scene;
	unsigned old, newcomer;
	uint64_t before;

	(void)state;
	fair_begin(&scene);
	old = add_endless(&scene, SLU_CORE_PRIORITY_NORMAL);
	scene_play(&scene, 20000);
	newcomer = add_endless(&scene, SLU_CORE_PRIORITY_NORMAL);
	before = scene.actors[old].ran_ms;
	scene_play(&scene, 2000);
	assert_true(scene.actors[newcomer].ran_ms >= 800);
	assert_true(scene.actors[old].ran_ms - before >= 800);
	script_end(&scene.s);
}

/* The other one begins while the first rests, so that nobody's time says where the clock is. */
static void test_a_program_that_returns_does_not_wait_for_a_newcomer(void **state)
{
	struct scene scene;
	unsigned old, newcomer;
	uint64_t before;

	(void)state;
	fair_begin(&scene);
	old = scene_add(&scene, 20000, 500);
	while (!scene.actors[old].is_resting)
		scene_play(&scene, SCENE_TICK_MS);
	scene_play(&scene, 100);
	newcomer = add_endless(&scene, SLU_CORE_PRIORITY_NORMAL);
	while (scene.actors[old].is_resting)
		scene_play(&scene, SCENE_TICK_MS);
	before = scene.actors[old].ran_ms;
	scene_play(&scene, 2000);
	assert_true(scene.actors[old].ran_ms - before >= 700);
	assert_true(scene.actors[newcomer].ran_ms >= 700);
	script_end(&scene.s);
}

/* Two that fit side by side use time at different rates; neither pays for it later. */
static void test_what_nobody_else_wanted_is_no_debt(void **state)
{
	struct scene scene;
	unsigned high, low, newcomer;
	uint64_t before;

	(void)state;
	fair_begin(&scene);
	scene.s.priority = SLU_CORE_PRIORITY_HIGH;
	high = scene_add_sized(&scene, 1000, 0, 40);
	scene.s.priority = SLU_CORE_PRIORITY_LOW;
	low = scene_add_sized(&scene, 1000, 0, 40);
	scene_play(&scene, 30000);
	assert_true(scene.actors[low].ran_ms > 29000);
	scene.actors[high].work_ms = 1; /* ends */
	scene.s.priority = SLU_CORE_PRIORITY_NORMAL;
	newcomer = scene_add_sized(&scene, 1000, 0, 90);
	before = scene.actors[low].ran_ms;
	scene_play(&scene, 4000);
	print_message("# low ran %llu ms, the newcomer %llu ms\n",
		      (unsigned long long)(scene.actors[low].ran_ms - before),
		      (unsigned long long)scene.actors[newcomer].ran_ms);
	assert_true(scene.actors[low].ran_ms - before >= 400);
	assert_true(scene.actors[newcomer].ran_ms >= 2400);
	script_end(&scene.s);
}

static void test_a_priority_counts_after_a_change_of_the_policy(void **state)
{
	struct slu_core_config config;
	struct scene scene;
	unsigned a, b;

	(void)state;
	script_config(&config);
	config.slice_ns = MS(SLICE_MS);
	config.need_window_ns = 0;
	scene_begin(&scene, &config); /* rr */
	a = add_endless(&scene, SLU_CORE_PRIORITY_HIGH);
	b = add_endless(&scene, SLU_CORE_PRIORITY_NORMAL);
	scene_play(&scene, 5000);
	config.policy = "fair";
	assert_int_equal(slu_core_configure(scene.s.core, scene.s.now_ns, &config), 0);
	scene.actors[a].ran_ms = scene.actors[b].ran_ms = 0;
	scene_play(&scene, 10000);
	assert_true(scene.actors[a].ran_ms > 3 * scene.actors[b].ran_ms);
	assert_true(scene.actors[b].ran_ms > 1000);
	script_end(&scene.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endless_jobs_share_by_weight),
		cmocka_unit_test(test_a_newcomer_does_not_monopolise),
		cmocka_unit_test(test_a_program_that_returns_does_not_wait_for_a_newcomer),
		cmocka_unit_test(test_what_nobody_else_wanted_is_no_debt),
		cmocka_unit_test(test_a_priority_counts_after_a_change_of_the_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
