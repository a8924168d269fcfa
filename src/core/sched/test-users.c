/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Users first, then programs: under each policy, programs of one user leave another user's program
 * its half of the device, whatever they do.
 */

#include "core/sched/test-scene.h"

#include "base/util.h"
#include "core/sched/policy.h"

#define SLICE_MS 40
#define PLAY_MS	 4000

/* A burst ends within a tick of the scene, so short ones count as less than they are. */
#define HAS_HALF(ms) ((ms) >= PLAY_MS * 3 / 8)

enum { ALICE = 1, BOB = 2 };

static void begin(struct scene *scene, const char *policy)
{
	struct slu_core_config config;

	script_config(&config);
	config.policy = policy;
	config.slice_ns = MS(SLICE_MS);
	config.allotment_ns = MS(2 * SLICE_MS);
	config.need_window_ns = 0;
	config.round_trip_ns = MS(1);
	config.age_ns = MS(100 * PLAY_MS); /* age helps nobody here */
	scene_begin(scene, &config);
}

static uint64_t ran_ms(const struct scene *scene, unsigned first, unsigned last)
{
	uint64_t sum = 0;

	for (unsigned id = first; id <= last; id++)
		sum += scene->actors[id].ran_ms;
	return sum;
}

static const struct {
	const char *what;
	enum slu_core_priority priority;
	uint64_t burst_ms, rest_ms, mib;
} rows[] = {
	{ "eight busy programs", SLU_CORE_PRIORITY_NORMAL, 1000, 0, SCENE_EACH_MIB },
	{ "eight programs of high priority", SLU_CORE_PRIORITY_HIGH, 1000, 0, SCENE_EACH_MIB },
	{ "eight programs that answer and rest", SLU_CORE_PRIORITY_NORMAL, 15, 60, SCENE_EACH_MIB },
	{ "eight small programs side by side", SLU_CORE_PRIORITY_NORMAL, 1000, 0, 11 },
};

static void play(const char *policy, size_t row)
{
	struct scene scene;
	unsigned alice;

	begin(&scene, policy);
	scene.s.user = BOB;
	scene.s.priority = rows[row].priority;
	for (unsigned n = 0; n < 8; n++)
		scene_add_sized(&scene, rows[row].burst_ms, rows[row].rest_ms, rows[row].mib);
	scene.s.user = ALICE;
	scene.s.priority = SLU_CORE_PRIORITY_NORMAL;
	alice = scene_add(&scene, 1000, 0);
	scene_play(&scene, PLAY_MS);
	if (!HAS_HALF(scene.actors[alice].ran_ms) || !HAS_HALF(ran_ms(&scene, 1, 8)))
		fail_msg("%s, %s: %llu ms for the other user, %llu ms for them", policy,
			 rows[row].what, (unsigned long long)scene.actors[alice].ran_ms,
			 (unsigned long long)ran_ms(&scene, 1, 8));
	script_end(&scene.s);
}

static void test_eight_programs_leave_another_user_half_under_each_policy(void **state)
{
	const struct slu_core_policy *policy;

	(void)state;
	for (unsigned p = 0; (policy = slu_core_policy_at(p)); p++)
		for (size_t row = 0; row < SLU_ARRAY_SIZE(rows); row++)
			play(policy->name, row);
}

/* Each of them is new, and at the top of its policy. */
static void test_programs_that_end_and_start_again_gain_nothing(void **state)
{
	const struct slu_core_policy *policy;

	(void)state;
	for (unsigned p = 0; (policy = slu_core_policy_at(p)); p++) {
		struct scene scene;
		unsigned alice;

		begin(&scene, policy->name);
		scene.s.user = ALICE;
		alice = scene_add(&scene, 1000, 0);
		scene.s.user = BOB;
		for (unsigned n = 0; n < 12; n++) {
			unsigned bob = scene_add(&scene, 1000, 0);

			scene.actors[bob].work_ms = SLICE_MS - SCENE_TICK_MS;
			while (!scene.actors[bob].has_ended)
				scene_play(&scene, SCENE_TICK_MS);
		}
		if (scene.actors[alice].ran_ms < ran_ms(&scene, alice + 1, alice + 12) * 3 / 4)
			fail_msg("%s: %llu ms next to %llu ms of programs that end", policy->name,
				 (unsigned long long)scene.actors[alice].ran_ms,
				 (unsigned long long)ran_ms(&scene, alice + 1, alice + 12));
		script_end(&scene.s);
	}
}

/* What a user did not want is no claim, and what nobody else wanted is no debt. */
static void test_a_user_who_returns_shares_from_then_on(void **state)
{
	struct scene scene;
	unsigned alice, bob;
	uint64_t before_ms;

	(void)state;
	begin(&scene, "rr");
	scene.s.user = BOB;
	bob = scene_add(&scene, 1000, 0);
	scene_play(&scene, PLAY_MS);
	before_ms = scene.actors[bob].ran_ms;
	scene.s.user = ALICE;
	alice = scene_add(&scene, 1000, 0);
	scene_play(&scene, PLAY_MS);
	assert_true(HAS_HALF(scene.actors[alice].ran_ms));
	assert_true(HAS_HALF(scene.actors[bob].ran_ms - before_ms));
	script_end(&scene.s);
}

/* Of one user the policy decides alone: a short program goes before long ones. */
static void test_inside_a_user_the_policy_decides(void **state)
{
	struct scene scene;
	unsigned loud, quick;

	(void)state;
	begin(&scene, "mlfq");
	scene.s.user = BOB;
	loud = scene_add(&scene, 1000, 0);
	scene.s.user = ALICE;
	scene_add(&scene, 1000, 0);
	quick = scene_add(&scene, 10, 300);
	scene_play(&scene, PLAY_MS);
	assert_true(HAS_HALF(scene.actors[loud].ran_ms));
	assert_true(scene.actors[quick].longest_ms <= 3 * SLICE_MS);
	script_end(&scene.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eight_programs_leave_another_user_half_under_each_policy),
		cmocka_unit_test(test_programs_that_end_and_start_again_gain_nothing),
		cmocka_unit_test(test_a_user_who_returns_shares_from_then_on),
		cmocka_unit_test(test_inside_a_user_the_policy_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
