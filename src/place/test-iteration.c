/* SPDX-License-Identifier: Apache-2.0 */

/* Iterations that are found in keys of points, and points in which there are none. */

#include "lib/test.h"

#include "base/util.h"
#include "place/iteration.h"

enum { STEP_NS = 10 };

/* Each letter is a point with that key; what lives behind it is what @live says of the letter. */
static void meet_all(struct slu_iteration *it, const char *keys, uint64_t (*live)(char))
{
	for (; *keys; keys++)
		slu_iteration_meet(it, (it->n_points + 1) * STEP_NS, (uint64_t)*keys, live(*keys));
}

/* The later in the alphabet, the less lives. */
static uint64_t live_falls(char key)
{
	return (uint64_t)('z' - key);
}

static uint64_t live_same(char key)
{
	return 5;
}

static void periods_are_found(void **state)
{
	static const struct {
		const char *what, *keys;
		unsigned period;
		bool is_at_boundary;
		unsigned points_to_boundary;
	} rows[] = {
		{ "nothing yet", "", 0, false, 0 },
		{ "one point, too few of them", "aaaaaa", 0, false, 0 },
		{ "one point, over and over", "aaaaaaa", 1, true, 1 },
		{ "two points, at the boundary", "abababab", 2, true, 2 },
		{ "two points, behind it", "ababababa", 2, false, 1 },
		{ "after another beginning", "xyzzyabcabcabcabc", 3, true, 3 },
		{ "the same key twice in it", "abbcabbcabbcab", 4, false, 2 },
		{ "a row of the same with an end", "aaaaabaaaaabaaaaab", 6, true, 6 },
		{ "not the third time", "abcabcabd", 0, false, 0 },
		{ "lost", "abcabcabcabcx", 0, false, 0 },
		{ "lost, and found again", "abcabcabcxabcabcabc", 3, true, 3 },
		{ "no repetition", "abcdefghijklmnopqrstuvwxyz", 0, false, 0 },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_iteration it = { 0 };

		print_message("# %s\n", rows[i].what);
		meet_all(&it, rows[i].keys, live_falls);
		assert_int_equal(it.period, rows[i].period);
		assert_int_equal(slu_iteration_is_at_boundary(&it), rows[i].is_at_boundary);
		assert_int_equal(slu_iteration_period_ns(&it), rows[i].period * STEP_NS);
		if (!rows[i].period) {
			assert_true(slu_iteration_next_ns(&it) == SLU_ITERATION_UNKNOWN);
			assert_true(slu_iteration_persistent_bytes(&it) == SLU_ITERATION_UNKNOWN);
			assert_int_equal(slu_iteration_confidence(&it), 0);
			continue;
		}
		assert_int_equal(slu_iteration_next_ns(&it),
				 (it.n_points + rows[i].points_to_boundary) * STEP_NS);
		assert_true(slu_iteration_confidence(&it) >= 50);
	}
}

static void the_boundary_is_where_least_lives(void **state)
{
	struct slu_iteration it = { 0 };

	meet_all(&it, "abcdabcdabcd", live_falls);
	assert_int_equal(slu_iteration_persistent_bytes(&it), live_falls('d'));
	/* of equals it is the same one each time */
	it = (struct slu_iteration){ 0 };
	for (unsigned i = 0; i < 40; i++) {
		meet_all(&it, (const char[]){ "cab"[i % 3], '\0' }, live_same);
		if (it.period)
			assert_int_equal(slu_iteration_is_at_boundary(&it), i % 3 == 1);
	}
	assert_int_equal(it.period, 3);
}

static void confidence_grows_with_each_iteration(void **state)
{
	struct slu_iteration it = { 0 };
	unsigned last = 0;

	for (unsigned i = 0; i < 100; i++) {
		meet_all(&it, "abc", live_falls);
		assert_true(slu_iteration_confidence(&it) >= last);
		last = slu_iteration_confidence(&it);
	}
	assert_in_range(last, 95, 99);
	meet_all(&it, "x", live_falls);
	assert_int_equal(slu_iteration_confidence(&it), 0);
}

static void a_program_that_tells_is_believed(void **state)
{
	struct slu_iteration it = { 0 };

	meet_all(&it, "abcabcabc", live_falls);
	slu_iteration_tell(&it, 1000, 7);
	assert_int_equal(it.period, 0);
	meet_all(&it, "abcabcabc", live_falls);
	slu_iteration_tell(&it, 1300, 8);
	assert_true(slu_iteration_is_at_boundary(&it));
	assert_int_equal(slu_iteration_next_ns(&it), 1600);
	assert_int_equal(slu_iteration_persistent_bytes(&it), 8);
	meet_all(&it, "a", live_falls);
	assert_true(slu_iteration_is_at_boundary(&it));
}

/*
 * Random iterations, with noise before and between: what is found has the right length as soon as
 * three of them were whole, and noise ends it.
 */
static void random_iterations_are_found(void **state)
{
	uint64_t seed = slu_test_seed(1);

	for (unsigned round = 0; round < 300; round++) {
		unsigned period = 1 + (unsigned)(slu_test_random(&seed) % SLU_ITERATION_PERIOD_MAX);
		unsigned n_noise = (unsigned)(slu_test_random(&seed) % 400);
		unsigned n_times = SLU_ITERATION_TIMES + SLU_ITERATION_REPEATED_MIN;
		uint64_t keys[SLU_ITERATION_PERIOD_MAX];
		struct slu_iteration it = { 0 };
		uint64_t now_ns = 0;

		for (unsigned i = 0; i < n_noise; i++)
			slu_iteration_meet(&it, now_ns += STEP_NS, slu_test_random(&seed), 1);
		assert_int_equal(it.period, 0);
		for (unsigned i = 0; i < period; i++)
			keys[i] = slu_test_random(&seed);
		for (unsigned i = 0; i < n_times * period; i++) {
			slu_iteration_meet(&it, now_ns += STEP_NS, keys[i % period], i % period);
			if (i + 1 < SLU_ITERATION_TIMES * period + SLU_ITERATION_REPEATED_MIN)
				continue;
			assert_int_equal(it.period, period);
			assert_int_equal(slu_iteration_is_at_boundary(&it), i % period == 0);
			assert_int_equal(slu_iteration_next_ns(&it) - now_ns,
					 STEP_NS * (period - i % period));
			assert_int_equal(slu_iteration_persistent_bytes(&it), 0);
		}
		slu_iteration_meet(&it, now_ns += STEP_NS, slu_test_random(&seed), 1);
		assert_int_equal(it.period, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods_are_found),
		cmocka_unit_test(the_boundary_is_where_least_lives),
		cmocka_unit_test(confidence_grows_with_each_iteration),
		cmocka_unit_test(a_program_that_tells_is_believed),
		cmocka_unit_test(random_iterations_are_found),
	};

	return cmocka_run_group_tests_name("iteration", tests, NULL, NULL);
}
