/* SPDX-License-Identifier: Apache-2.0 */

/* How long programs take in the simulated world, next to what follows from their sizes. */

#include "lib/test.h"

#include "base/util.h"
#include "simulate/simulate.h"

#define GIB(n) ((uint64_t)((n)*1024) * SLU_MIB)
#define S(n)   ((uint64_t)((n)*1e9))

struct table {
	struct slu_simulate_scenario scenario;
	struct slu_simulate_program programs[8];
	struct slu_simulate_result result;
};

static void table_begin(struct table *t, const char *policy)
{
	*t = (struct table){ 0 };
	slu_simulate_scenario_default(&t->scenario);
	t->scenario.programs = t->programs;
	t->scenario.core.policy = policy;
}

/* A job of @n iterations of 100 ms. */
static struct slu_simulate_program *table_add(struct table *t, double arrive_s, double gib,
					      uint64_t n)
{
	struct slu_simulate_program *p = &t->programs[t->scenario.n_programs++];

	*p = (struct slu_simulate_program){
		.name = "job",
		.arrive_ns = S(arrive_s),
		.bytes = GIB(gib),
		.written_percent = 100,
		.iteration_ns = S(0.1),
		.n_iterations = n,
		.n_requests = 1,
	};
	return p;
}

static void table_run(struct table *t)
{
	assert_int_equal(slu_simulate_run(&t->scenario, &t->result), 0);
}

static double end_s(const struct table *t, size_t program)
{
	assert_true(t->result.outcomes[program].end_ns != SLU_SIMULATE_NEVER);
	return (double)t->result.outcomes[program].end_ns / 1e9;
}

static void test_a_program_alone_takes_its_own_time(void **state)
{
	struct table t;

	(void)state;
	table_begin(&t, "fifo");
	table_add(&t, 5, 8, 100)->startup_ns = S(2);
	table_add(&t, 100, 8, 50)->pause_ns = S(0.05);
	table_run(&t);
	/* its data comes over the bus once: 0.72 s */
	assert_true(end_s(&t, 0) > 17.7 && end_s(&t, 0) < 17.8);
	/* no pause after the last iteration */
	assert_true(end_s(&t, 1) > 108.1 && end_s(&t, 1) < 108.3);
	assert_int_equal(t.result.outcomes[1].n_iterations, 50);
	slu_simulate_result_deinit(&t.result);
}

static void test_fifo_runs_one_after_the_other(void **state)
{
	struct table t;

	(void)state;
	table_begin(&t, "fifo");
	table_add(&t, 0, 10, 100);
	table_add(&t, 1, 10, 100);
	table_run(&t);
	/* 0.9 s for the data of each; a part of the second's came ahead */
	assert_true(end_s(&t, 0) < 11);
	assert_true(end_s(&t, 1) > 20.9 && end_s(&t, 1) < 21.9);
	assert_int_equal(t.result.outcomes[0].n_turns, 1);
	slu_simulate_result_deinit(&t.result);
}

/* Each turn lasts ten switches or more, so not more than an eleventh is lost. */
static void test_turns_cost_what_must_move(void **state)
{
	static const char *const policies[] = { "rr", "fair", "mlfq" };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies); i++) {
		struct table t;
		uint64_t turns;

		table_begin(&t, policies[i]);
		table_add(&t, 0, 10, 400);
		table_add(&t, 0, 10, 400);
		table_run(&t);
		turns = t.result.outcomes[0].n_turns + t.result.outcomes[1].n_turns;
		print_message("# %s: %.1f and %.1f s, %llu turns\n", policies[i], end_s(&t, 0),
			      end_s(&t, 1), (unsigned long long)turns);
		assert_true(turns >= 4);
		assert_true(SLU_MAX(end_s(&t, 0), end_s(&t, 1)) < 80 * 1.1);
		assert_true(SLU_MIN(end_s(&t, 0), end_s(&t, 1)) > 60);
		/* what does not fit moves at each switch, and hardly more */
		assert_true(t.result.outcomes[0].in_bytes <= turns * GIB(6));
		slu_simulate_result_deinit(&t.result);
	}
}

static void test_what_fits_runs_side_by_side(void **state)
{
	struct table t;

	(void)state;
	table_begin(&t, "fifo");
	table_add(&t, 0, 6, 100)->pause_ns = S(0.1);
	table_add(&t, 0, 6, 100)->pause_ns = S(0.1);
	table_run(&t);
	assert_true(end_s(&t, 0) < 21.4 && end_s(&t, 1) < 21.4);
	assert_true(t.result.busy_ns == S(20));
	slu_simulate_result_deinit(&t.result);
}

static void test_requests_wait_for_a_turn_of_an_endless_program(void **state)
{
	struct slu_simulate_program *p;
	struct table t;
	uint64_t worst = 0;

	(void)state;
	table_begin(&t, "mlfq");
	table_add(&t, 0, 10, 0); /* endless */
	p = table_add(&t, 20, 10, 2);
	p->n_requests = 50;
	p->period_ns = S(3);
	table_run(&t);
	assert_int_equal(t.result.outcomes[1].n_latencies, 50);
	for (size_t i = 0; i < 50; i++)
		worst = SLU_MAX(worst, t.result.outcomes[1].latencies_ns[i]);
	print_message("# the slowest request took %.2f s\n", (double)worst / 1e9);
	assert_true(worst < S(2));
	assert_true(t.result.outcomes[0].n_iterations > 800);
	slu_simulate_result_deinit(&t.result);
}

static void test_a_program_larger_than_the_device_ends_without_it(void **state)
{
	struct table t;

	(void)state;
	table_begin(&t, "rr");
	table_add(&t, 0, 20, 10);
	table_add(&t, 0, 10, 100);
	table_run(&t);
	assert_true(t.result.outcomes[0].end_ns == SLU_SIMULATE_NEVER);
	assert_true(end_s(&t, 1) < 30);
	slu_simulate_result_deinit(&t.result);
}

static void test_the_same_scenario_gives_the_same_times(void **state)
{
	uint64_t ends[2] = { 0 }, events[2] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct table t;

		table_begin(&t, "mlfq");
		for (unsigned k = 0; k < 6; k++)
			table_add(&t, k, 3 + k, 20 + 7 * k)->pause_ns = S(0.01 * k);
		table_run(&t);
		ends[i] = t.result.end_ns;
		events[i] = t.result.n_events;
		slu_simulate_result_deinit(&t.result);
	}
	assert_int_equal(ends[0], ends[1]);
	assert_int_equal(events[0], events[1]);
}

static void test_an_unknown_policy_is_refused(void **state)
{
	struct table t;

	(void)state;
	table_begin(&t, "best");
	assert_true(slu_simulate_run(&t.scenario, &t.result) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_alone_takes_its_own_time),
		cmocka_unit_test(test_fifo_runs_one_after_the_other),
		cmocka_unit_test(test_turns_cost_what_must_move),
		cmocka_unit_test(test_what_fits_runs_side_by_side),
		cmocka_unit_test(test_requests_wait_for_a_turn_of_an_endless_program),
		cmocka_unit_test(test_a_program_larger_than_the_device_ends_without_it),
		cmocka_unit_test(test_the_same_scenario_gives_the_same_times),
		cmocka_unit_test(test_an_unknown_policy_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
