/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bound that each policy states on the wait of a program, against random programs: priorities,
 * bursts and rests, sizes, arrivals and ends are drawn from a seed. The bound is added up here from
 * the words at the head of the policy, program by program, and knows nothing of its state.
 */

#include "core/sched/test-scene.h"

#include <stdlib.h>

#include "base/util.h"

#define SLICE_MS 40
#define AGE_MS	 600
#define SEEDS	 5
#define PLAY_MS	 4000

static uint64_t random_next(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *random >> 33;
}

static uint64_t between(uint64_t *random, uint64_t least, uint64_t most)
{
	return least + random_next(random) % (most - least + 1);
}

/* A drain and a switch: three ticks of the scene, and one until the end of the tick. */
#define SWITCH_MS (4 * SCENE_TICK_MS)

/* W D + 2 L, where turns are at least a slice: a switch for each slice of it. */
static uint64_t fair_bound(const enum slu_core_priority *priorities, unsigned n, unsigned self)
{
	static const uint64_t quarters[] = {
		[SLU_CORE_PRIORITY_NORMAL] = 4,
		[SLU_CORE_PRIORITY_HIGH] = 16,
		[SLU_CORE_PRIORITY_LOW] = 1,
	};
	uint64_t sum = 0;

	for (unsigned id = 1; id <= n; id++) {
		uint64_t slices = quarters[priorities[id]] + 2;

		sum += id == self ? 0 : slices * (SLICE_MS + SWITCH_MS);
	}
	return sum;
}

/* age_ns + (n + 1) (L + drain + switch); the others are n - 1. */
static uint64_t age_bound(const enum slu_core_priority *priorities, unsigned n, unsigned self)
{
	(void)priorities;
	(void)self;
	return AGE_MS + n * (SLICE_MS + SWITCH_MS);
}

static const struct {
	const char *policy;
	uint64_t (*bound_ms)(const enum slu_core_priority *priorities, unsigned n, unsigned self);
} rows[] = {
	{ "fair", fair_bound }, { "srtf", age_bound },	  { "priority", age_bound },
	{ "pack", age_bound },	{ "desktop", age_bound },
};

static void play(size_t row, uint64_t seed)
{
	enum slu_core_priority priorities[SCRIPT_CLIENTS] = { 0 };
	uint64_t random = seed * 7919 + row, bound_ms;
	unsigned n = (unsigned)between(&random, 2, 8);
	struct slu_core_config config;
	struct scene scene;

	script_config(&config);
	config.policy = rows[row].policy;
	config.slice_ns = MS(SLICE_MS);
	config.need_window_ns = 0;
	config.round_trip_ns = MS(1);
	config.age_ns = MS(AGE_MS);
	scene_begin(&scene, &config);
	for (unsigned id = 1; id <= n; id++) {
		bool is_endless = between(&random, 0, 2) > 0;
		uint64_t rest_ms = is_endless ? 0 : between(&random, 10, 300);

		scene.s.priority = priorities[id] = (enum slu_core_priority)between(&random, 0, 2);
		scene_add_sized(&scene, between(&random, 5, 200), rest_ms,
				between(&random, 20, 95));
		if (between(&random, 0, 3) == 0)
			scene.actors[id].work_ms = between(&random, 50, 2000);
		scene_play(&scene, between(&random, 0, PLAY_MS / n));
	}
	scene_play(&scene, PLAY_MS);
	for (unsigned id = 1; id <= n; id++) {
		bound_ms = rows[row].bound_ms(priorities, n, id);
		if (scene.actors[id].longest_ms > bound_ms)
			fail_msg(
				"%s, seed %llu: program %u of %u waited %llu ms, the bound is %llu",
				rows[row].policy, (unsigned long long)seed, id, n,
				(unsigned long long)scene.actors[id].longest_ms,
				(unsigned long long)bound_ms);
	}
	script_end(&scene.s);
}

static void test_no_wait_exceeds_the_bound_of_the_policy(void **state)
{
	(void)state;
	for (size_t row = 0; row < SLU_ARRAY_SIZE(rows); row++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			play(row, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_wait_exceeds_the_bound_of_the_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
