/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "daemon/timeline.h"

static int setup(void **state)
{
	return slu_timeline_new((struct slu_timeline **)state);
}

static int teardown(void **state)
{
	slu_timeline_free(*state);
	return 0;
}

static uint64_t grant(struct slu_timeline *timeline, uint64_t now_ns, uint64_t client)
{
	struct slu_timeline_who who = { .client = client, .name = "chat" };

	return slu_timeline_granted(timeline, now_ns, &who, 0, (struct slu_epoch){ 1, client });
}

static void test_a_turn_is_filled_in_as_its_answers_come(void **state)
{
	struct slu_timeline *timeline = *state;
	const struct slu_timeline_turn *turn;
	uint64_t number = grant(timeline, 10, 1);

	slu_timeline_ready(timeline, 20, number);
	slu_timeline_ready(timeline, 25, number);
	slu_timeline_closing(timeline, 30, number, "its time is over");
	slu_timeline_end(timeline, 40, number, "unused");
	slu_timeline_end(timeline, 50, number, "unused");
	assert_int_equal(slu_timeline_n_turns(timeline), 1);
	turn = slu_timeline_turn(timeline, 0);
	assert_int_equal(turn->granted_ns, 10);
	assert_int_equal(turn->ready_ns, 20);
	assert_int_equal(turn->closing_ns, 30);
	assert_int_equal(turn->end_ns, 40);
	assert_string_equal(turn->reason, "its time is over");
}

static void test_a_turn_without_a_close_has_the_reason_of_its_end(void **state)
{
	struct slu_timeline *timeline = *state;

	slu_timeline_end(timeline, 40, grant(timeline, 10, 1), "the program ended");
	assert_string_equal(slu_timeline_turn(timeline, 0)->reason, "the program ended");
}

static void test_joins_are_kept_and_the_oldest_forgotten(void **state)
{
	struct slu_timeline *timeline = *state;

	for (uint64_t i = 1; i <= SLU_TIMELINE_JOINS_MAX + 3; i++)
		slu_timeline_joined(timeline, 10 * i, &(struct slu_timeline_who){ .client = i });
	assert_int_equal(slu_timeline_n_joins(timeline), SLU_TIMELINE_JOINS_MAX);
	assert_int_equal(slu_timeline_join(timeline, 0)->who.client, 4);
	assert_int_equal(slu_timeline_join(timeline, SLU_TIMELINE_JOINS_MAX - 1)->at_ns,
			 10 * (SLU_TIMELINE_JOINS_MAX + 3));
}

static void test_numbers_that_are_no_turn_are_ignored(void **state)
{
	struct slu_timeline *timeline = *state;

	slu_timeline_ready(timeline, 1, 0);
	slu_timeline_end(timeline, 1, 5, "");
	assert_int_equal(slu_timeline_n_turns(timeline), 0);
}

static void test_the_oldest_is_forgotten_and_its_number_with_it(void **state)
{
	struct slu_timeline *timeline = *state;
	uint64_t first = grant(timeline, 1, 1);

	for (uint64_t i = 2; i <= SLU_TIMELINE_MAX + 1; i++)
		grant(timeline, i, i);
	assert_int_equal(slu_timeline_n_turns(timeline), SLU_TIMELINE_MAX);
	slu_timeline_end(timeline, 99999, first, "");
	for (size_t i = 0; i < SLU_TIMELINE_MAX; i++) {
		assert_int_equal(slu_timeline_turn(timeline, i)->granted_ns, i + 2);
		assert_int_equal(slu_timeline_turn(timeline, i)->end_ns, 0);
	}
}

static void test_moves_are_kept_in_order(void **state)
{
	struct slu_timeline *timeline = *state;
	struct slu_timeline_who who = { .client = 1 };

	for (uint64_t i = 0; i < SLU_TIMELINE_MAX + 10; i++)
		slu_timeline_moved(timeline, i, &who, 0, i, 0);
	assert_int_equal(slu_timeline_n_moves(timeline), SLU_TIMELINE_MAX);
	assert_int_equal(slu_timeline_move(timeline, 0)->at_ns, 10);
	assert_int_equal(slu_timeline_move(timeline, SLU_TIMELINE_MAX - 1)->at_ns,
			 SLU_TIMELINE_MAX + 9);
}

static void test_denials_are_kept_with_their_reasons(void **state)
{
	struct slu_timeline *timeline = *state;

	for (uint64_t i = 0; i < SLU_TIMELINE_DENIALS_MAX + 2; i++) {
		char reason[32];

		snprintf(reason, sizeof(reason), "needs %u", (unsigned)i);
		slu_timeline_denied(timeline, i, &(struct slu_timeline_who){ .client = i },
				    "memory", reason, "use less");
	}
	assert_int_equal(slu_timeline_n_denials(timeline), SLU_TIMELINE_DENIALS_MAX);
	assert_int_equal(slu_timeline_denial(timeline, 0)->who.client, 2);
	assert_string_equal(slu_timeline_denial(timeline, 0)->what, "memory");
	assert_string_equal(slu_timeline_denial(timeline, 0)->reason, "needs 2");
	assert_string_equal(slu_timeline_denial(timeline, 0)->hint, "use less");
}

static void test_refusals_are_kept_with_the_group_that_was_named(void **state)
{
	struct slu_timeline *timeline = *state;

	for (uint64_t i = 0; i < SLU_TIMELINE_REFUSALS_MAX + 2; i++)
		slu_timeline_refused(timeline, i, &(struct slu_timeline_who){ .group = i },
				     "too many programs");
	assert_int_equal(slu_timeline_n_refusals(timeline), SLU_TIMELINE_REFUSALS_MAX);
	assert_int_equal(slu_timeline_refusal(timeline, 0)->who.group, 2);
	assert_string_equal(slu_timeline_refusal(timeline, 0)->reason, "too many programs");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_a_turn_is_filled_in_as_its_answers_come),
		T(test_a_turn_without_a_close_has_the_reason_of_its_end),
		T(test_joins_are_kept_and_the_oldest_forgotten),
		T(test_numbers_that_are_no_turn_are_ignored),
		T(test_the_oldest_is_forgotten_and_its_number_with_it),
		T(test_moves_are_kept_in_order),
		T(test_denials_are_kept_with_their_reasons),
		T(test_refusals_are_kept_with_the_group_that_was_named),
	};
#undef T

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
