/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test.h"

#include "base/util.h"
#include "client/speed.h"

static void nothing_is_known_at_first(void **state)
{
	struct slu_speed s = { 0 };

	assert_int_equal(slu_speed_guess_ns(&s, SLU_MIB), 0);
	slu_speed_begin(&s, 100);
	assert_int_equal(slu_speed_guess_ns(&s, SLU_MIB), 0);
}

static void pieces_that_were_under_way_together_share_the_time(void **state)
{
	struct slu_speed s = { 0 };

	slu_speed_begin(&s, 1000);
	slu_speed_begin(&s, 1010);
	slu_speed_end(&s, 2000, 1000);
	slu_speed_end(&s, 3000, 1000);
	assert_in_range(slu_speed_guess_ns(&s, 2000), 2000, 2001);
}

static void time_without_a_piece_does_not_count(void **state)
{
	struct slu_speed s = { 0 };

	for (uint64_t t = 0; t < 10; t++) {
		slu_speed_begin(&s, t * SLU_NS_PER_S);
		slu_speed_end(&s, t * SLU_NS_PER_S + 1000, 4096);
	}
	assert_in_range(slu_speed_guess_ns(&s, 4096), 1000, 1001);
}

static void old_values_count_less(void **state)
{
	struct slu_speed s = { 0 };
	uint64_t now_ns = 0;

	slu_speed_begin(&s, now_ns);
	slu_speed_end(&s, now_ns += SLU_NS_PER_S, SLU_MIB); /* a bad moment */
	for (unsigned i = 0; i < 2000; i++) {
		slu_speed_begin(&s, now_ns);
		slu_speed_end(&s, now_ns += 1000, SLU_MIB);
	}
	assert_in_range(slu_speed_guess_ns(&s, SLU_MIB), 1000, 200000);
}

/* The first digest, and others later, ran while other programs had the processors. */
static void a_bad_moment_is_forgotten_with_the_first_good_one(void **state)
{
	struct slu_speed s = { 0 };

	slu_speed_note(&s, 138000, 4096);
	slu_speed_note(&s, 2000, 4096);
	assert_in_range(slu_speed_guess_ns(&s, 4096), 2000, 2001);
	slu_speed_note(&s, 138000, 4096);
	assert_in_range(slu_speed_guess_ns(&s, 4096), 2000, 3010);
}

static void a_permanent_slowdown_is_learned(void **state)
{
	struct slu_speed s = { 0 };

	slu_speed_note(&s, 1000, 4096);
	for (unsigned i = 0; i < 20; i++)
		slu_speed_note(&s, 8000, 4096);
	assert_in_range(slu_speed_guess_ns(&s, 4096), 4000, 8001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_at_first),
		cmocka_unit_test(pieces_that_were_under_way_together_share_the_time),
		cmocka_unit_test(time_without_a_piece_does_not_count),
		cmocka_unit_test(old_values_count_less),
		cmocka_unit_test(a_bad_moment_is_forgotten_with_the_first_good_one),
		cmocka_unit_test(a_permanent_slowdown_is_learned),
	};

	return cmocka_run_group_tests_name("speed", tests, NULL, NULL);
}
